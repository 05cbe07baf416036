#!/bin/bash
# Code of another architecture read on any machine: blocks, branches, tables, cycle equivalence against binutils and the
# compiler's own text, on a program of ours and (statically linked) on all of the C library. Usage: code.sh TRIPLET PACKAGE
# "FLAGS"...     each FLAGS a build of the program
set -u
cd "$(dirname "$0")/../.."
triplet=$1 package=$2; shift 2
for tool in gcc objdump nm; do
    command -v "$triplet-$tool" >/dev/null || { echo "no $triplet-$tool; run: scripts/deps $package"; exit 77; }
done
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
failed=0
compare() { # name, then what code.py needs besides
    "$BUILD/tests/programs/code_listing" "$work/$1" >"$work/$1.listing" || failed=1
    "$triplet-objdump" -d "$work/$1" >"$work/$1.objdump"
    echo "$1: $(stat -c %s "$work/$1") bytes"
    python3 tests/cross/code.py "${triplet%%-*}" "$work/$1.listing" "$work/$1.objdump" "${@:2}" || failed=1
}
for flags in "$@"; do
    # shellcheck disable=SC2086
    "$triplet-gcc" $flags -Wa,--keep-locals -Wl,--discard-none -save-temps=obj -o "$work/own" tests/cross/code.c || exit 1
    "$triplet-nm" --special-syms "$work/own" >"$work/labels"
    compare own "$work/labels" "$work"/own-code.s
done
if "$triplet-gcc" -O2 -static -o "$work/whole" tests/cross/code.c 2>/dev/null; then
    compare whole
fi
exit "$failed"
