#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A program without a build-id that is built anew with its functions in another order: its profile gets no wrong names, but a
# sentence. With the old file back it has names. A binary that runs in a root of its own is found there.
# Beside others.
set -u
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bad=0
fails() { bad=1; echo "not ok: $*"; }
build() { # FILE FIRST SECOND
    {
        echo 'static volatile unsigned long x;'
        for f in "$2" "$3"; do
            n=400000000; [ "$f" = busy ] || n=40000000
            echo "__attribute__((noinline, noclone)) void $f(void) { for (unsigned long i = 0; i < ${n}UL; i++) x += i; }"
        done
        echo 'int main(void) { busy(); idle(); return 0; }'
    } >"$work/p.c"
    ${CC:-gcc} -O1 -fno-toplevel-reorder -static -Wl,--build-id=none -o "$1" "$work/p.c" || exit 77
}
build "$work/p" busy idle
cp -p "$work/p" "$work/old"
"$CYCLESCOPE" record --no-keep-code --no-bursts -F 1000 -o "$work/s" -- "$work/p" >"$work/said" 2>&1 || fails "record: $(cat "$work/said")"
"$CYCLESCOPE" prof --store "$work/s" >"$work/before" 2>&1
grep -q busy "$work/before" || fails "no names: $(cat "$work/before")"
build "$work/p" idle busy
touch -r "$work/old" "$work/p"
"$CYCLESCOPE" prof --store "$work/s" >"$work/after" 2>&1
grep -qE '\b(busy|idle)\b' "$work/after" && fails "names of another file: $(cat "$work/after")"
grep -q 'holds something else than what was profiled' "$work/after" || fails "no sentence: $(cat "$work/after")"
cp -p "$work/old" "$work/p"
"$CYCLESCOPE" prof --store "$work/s" 2>&1 | grep -q busy || fails "the old file back: no names"
if [ "$(id -u)" = 0 ]; then
    mkdir -p "$work/root/bin"
    cp "$work/old" "$work/root/bin/p"
    "$CYCLESCOPE" record --no-keep-code --no-bursts -F 1000 -o "$work/c" -- chroot "$work/root" /bin/p >"$work/said" 2>&1 || fails "record in a chroot: $(cat "$work/said")"
    "$CYCLESCOPE" prof --store "$work/c" >"$work/chroot" 2>&1
    grep -q busy "$work/chroot" || fails "in a chroot: $(cat "$work/chroot")"
fi
[ $bad -eq 0 ] && echo "ok: no wrong names"
exit $bad
