#!/bin/bash
# AArch64 code read on any machine: blocks, branches, tables, cycle equivalence against binutils and the compiler's own
# text, on a program of ours and (statically linked) on all of the C library.
set -u
cd "$(dirname "$0")/../.."
for tool in aarch64-linux-gnu-gcc aarch64-linux-gnu-objdump aarch64-linux-gnu-nm; do
    command -v "$tool" >/dev/null || { echo "no $tool; run: scripts/deps gcc-aarch64-linux-gnu"; exit 77; }
done
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
failed=0
compare() { # name, then what arm64_code.py needs besides
    "$BUILD/tests/programs/code_listing" "$work/$1" >"$work/$1.listing" || failed=1
    aarch64-linux-gnu-objdump -d "$work/$1" >"$work/$1.objdump"
    echo "$1: $(stat -c %s "$work/$1") bytes"
    python3 tests/arm64/code.py "$work/$1.listing" "$work/$1.objdump" "${@:2}" || failed=1
}
for flags in "-O2 --param case-values-threshold=4" "-O2 -fPIC -mbranch-protection=standard --param case-values-threshold=4" -Os "-O0 --param case-values-threshold=4"; do
    # shellcheck disable=SC2086
    aarch64-linux-gnu-gcc $flags -Wa,--keep-locals -Wl,--discard-none -save-temps=obj -o "$work/own" tests/arm64/code.c || exit 1
    aarch64-linux-gnu-nm "$work/own" >"$work/labels"
    compare own "$work/labels" "$work"/own-code.s
done
if aarch64-linux-gnu-gcc -O2 -static -o "$work/whole" tests/arm64/code.c 2>/dev/null; then
    compare whole
fi
exit "$failed"
