#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Which code a procedure is in programs without symbols: a label of hand-written code ends where a compiler's function
# begins, and stripped programs of Go have the names of Go's own table.
set -u
work=$(mktemp -d) bad=0
trap 'rm -rf "$work"' EXIT
fails() { echo "not ok: $*"; bad=1; }
share() { awk -v name="$2" 'index($0, name) { print int($2); exit }' "$1"; }

cat >"$work/label.S" <<'END'
.text
.globl label
label: ret
.section .note.GNU-stack,"",@progbits
END
cat >"$work/code.c" <<'END'
void label(void);
static __attribute__((noinline)) void compiled(long n) { volatile long x = 0; for (long i = 0; i < n; i++) x += i; }
int entry(void) { for (int i = 0; i < 40; i++) { label(); compiled(4000000); } return 0; }
END
echo 'int entry(void); int main(void) { return entry(); }' >"$work/main.c"
gcc -O1 -shared -fPIC -o "$work/libcode.so" "$work/label.S" "$work/code.c" && strip "$work/libcode.so" &&
    gcc -o "$work/main" "$work/main.c" "$work/libcode.so" || exit 1
"$CYCLESCOPE" record --no-bursts -o "$work/s" -- "$work/main" >"$work/said" 2>&1 || fails "record: $(cat "$work/said")"
"$CYCLESCOPE" prof -o "$work/s" >"$work/prof"
[ "$(share "$work/prof" sub_)" -ge 50 ] 2>/dev/null || fails "compiled code behind a label: $(cat "$work/prof")"

if command -v go >/dev/null; then
    cat >"$work/g.go" <<'END'
package main

type T struct{ n int }

//go:noinline
func (t *T) spin(k int) int {
	s := 0
	for i := 1; i < k; i++ {
		s += k % i
	}
	return s
}
func main() {
	t := &T{3}
	for j := 0; j < 400; j++ {
		t.n += t.spin(300000)
	}
}
END
    (cd "$work" && GOCACHE=$work/cache go build -ldflags "-s -w" -o g g.go) >"$work/said" 2>&1 || { echo "go: $(cat "$work/said")"; exit 1; }
    "$CYCLESCOPE" record --no-bursts -o "$work/g.store" -- "$work/g" >"$work/said" 2>&1 || fails "record of Go: $(cat "$work/said")"
    "$CYCLESCOPE" prof -o "$work/g.store" >"$work/prof"
    [ "$(share "$work/prof" 'main.(*T).spin')" -ge 80 ] 2>/dev/null || fails "a stripped program of Go: $(cat "$work/prof")"
fi
exit $bad
