#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# prof --brief-calls makes a list of functions that are over soon, and the plugins' brief=@FILE leaves them to their callers: no point in them,
# none after calls to them, in whatever file they are.
set -u
. "$(dirname "$0")/../ahead.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$(dirname "$0")/../.."
cat >"$work/other.c" <<'C'
static volatile unsigned long sum;
__attribute__((noinline)) unsigned long soon(unsigned long n) {
    unsigned long a = n * 3, b = n ^ 5;
    for (int i = 0; i < 3; i++) { a += b * i; b ^= a >> 3; a = a * 7 + sum; }
    return a + b;
}
__attribute__((noinline)) void later(unsigned long n) { for (unsigned long i = 0; i < n; i++) sum = sum * 5 + i; }
/* As short as a call of it is most times, it calls what isn't. */
__attribute__((noinline)) unsigned long leads(unsigned long n) { if (n % 100000 == 7) later(400000); return soon(n) + 1; }
C
cat >"$work/main.c" <<'C'
unsigned long soon(unsigned long n), leads(unsigned long n); void later(unsigned long n);
static volatile unsigned long out;
__attribute__((noinline)) void drive(unsigned long rounds) {
    for (unsigned long i = 0; i < rounds; i++) { out += soon(i); out += i; out ^= soon(i + 1) + leads(i); }
}
int main(void) { for (int i = 0; i < 1000; i++) { drive(300000); later(1000000); } return 0; }
C
gcc -O2 -g -fno-omit-frame-pointer -o "$work/plain" "$work/main.c" "$work/other.c" || exit 1
"$CYCLESCOPE" record -g --budget 10% --burst-rate 100 -o "$work/store" -- "$work/plain" >/dev/null 2>"$work/err" || { cat "$work/err"; exit 77; }
if ! "$CYCLESCOPE" prof --store "$work/store" --brief-calls 1000 >"$work/brief" 2>"$work/said"; then
    cat "$work/said"
    grep -q "no timed bursts" "$work/said" || exit 1
    echo soon >"$work/brief" # a busy machine times no burst: the plugins alone then
else
cat "$work/brief" "$work/said"
"$CYCLESCOPE" prof --store "$work/store" --brief-calls 1000 --json >"$work/json" || exit 1
grep -qx soon "$work/brief" || { echo "not ok: soon is not in the list"; exit 1; }
# leads is over soon most times, but chains saw it lead to what isn't
for f in later drive main leads; do grep -qx $f "$work/brief" && { echo "not ok: $f is in the list"; exit 1; }; done
"$CYCLESCOPE" prof --store "$work/store" --brief-calls 0.01 2>/dev/null | grep -q . && { echo "not ok: something takes 0.01 ns"; exit 1; }
"$CYCLESCOPE" prof --store "$work/store" --brief-calls 5 --wall >/dev/null 2>&1; [ $? = 2 ] || { echo "not ok: --wall"; exit 1; }
fi
build() { # compiler out option...
    local cc=$1 out=$2 flags=() o
    shift 2
    for o in methods min-body=1 "$@"; do
        if [ $cc = gcc ]; then flags+=("-fplugin-arg-cyclescope-$o"); else flags+=(-mllvm "-cyclescope=$o"); fi
    done
    if [ $cc = gcc ]; then flags=("-fplugin=$BUILD/plugin/cyclescope.so" "${flags[@]}")
    else flags=("-fplugin=$BUILD/plugin/cyclescope-clang.so" "-fpass-plugin=$BUILD/plugin/cyclescope-clang.so" "${flags[@]}"); fi
    $cc -O2 -g "${flags[@]}" -o "$out" "$work/main.c" "$work/other.c" "$BUILD/libcyclescope.a"
}
for cc in gcc clang-14; do
    plugin=$BUILD/plugin/cyclescope.so
    [ $cc = gcc ] || plugin=$BUILD/plugin/cyclescope-clang.so
    command -v $cc >/dev/null && [ -e "$plugin" ] || { echo "$cc isn't tried: no plugin here"; continue; }
    build $cc "$work/full.$cc" && build $cc "$work/few.$cc" "brief=@$work/brief" && build $cc "$work/none.$cc" "brief=@/dev/null" || exit 1
    python3 - "$work" $cc <<'P' || exit 1
import collections, sys
sys.path.insert(0, "bench")
from lib_plugin_cost import tag_table
work, cc = sys.argv[1:]
def points(exe):
    rows, text = tag_table(exe)
    found = collections.Counter()
    for _, _, function, _, _, _, kind in rows:
        found[text[function:text.index(b"\0", function)].decode(), kind] += 1
    return found
full, few, none = (points(f"{work}/{which}.{cc}") for which in ("full", "few", "none"))
assert none == full, (none, full) # a profile that knows none
print(cc, dict(full), dict(few))
assert full["soon", 1] == 1 and not any(f == "soon" for f, _ in few), (full, few)
assert few["later", 1] == full["later", 1] == 1, (full, few)
assert 0 < few["drive", 3] < full["drive", 3], "no points after calls of soon, but after those of leads"
P
done
echo ok
