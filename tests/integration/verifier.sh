#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A recording begins when the kernel has verified our programs: by its own count of the instructions that it looked at, twice what
# they need at most (half a second; a loop written carelessly takes ten times that).
set -u
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. "$(dirname "$0")/../waits_possible.sh"
fail() { echo "not ok: $*"; exit 1; }
mkfifo "$work/runs" "$work/go"
"$CYCLESCOPE" record --waits --no-bursts -o "$work/store" -- sh -c "echo >'$work/runs'; read line <'$work/go'" >/dev/null 2>"$work/err" &
read -r line <"$work/runs" # it runs: all is loaded
counts=$(grep -h verified_insns /proc/$!/fdinfo/* 2>/dev/null | cut -f 2 | sort -n)
echo >"$work/go"
wait $! || fail "record: $(cat "$work/err")"
[ -n "$counts" ] || { echo "this kernel doesn't tell how much it verified"; exit 77; }
echo "verified: $counts" | tr '\n' ' '
[ "$(wc -w <<<"$counts")" -ge 6 ] || fail "fewer programs than a recording of waits has"
for n in $counts; do
    [ "$n" -lt 110000 ] || fail "a program of $n instructions for the verifier"
done
