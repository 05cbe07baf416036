#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Reads in no order of data on huge pages: the DTLB isn't blamed for what are cache misses. The program knows by its argument
# what it has, and asks the kernel whether it got it.
set -u
[ "$(uname -m)" = x86_64 ] || { echo "bursts are x86-64 code"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
P=$BUILD/tests/programs/table_reads
try() { # huge|small
    rm -rf "$work/s"
    "$CYCLESCOPE" record -o "$work/s" --burst-rate 30 -- "$P" 4 "$1" >"$work/out" 2>&1
    case $? in 0) ;; 77) echo "the kernel gives no huge pages"; exit 77 ;; *) cat "$work/out"; echo "not ok: record"; exit 1 ;; esac
    "$CYCLESCOPE" calc --store "$work/s" --json add_up >"$work/calc" || { echo "not ok: calc of $1"; exit 1; }
    python3 - "$work/calc" "$1" <<'Q'
import json, sys
calc, huge = json.load(open(sys.argv[1])), sys.argv[2] == "huge"
if calc["evidence"]["bursts"] < 10:
    print(f"{calc['evidence']['bursts']:.0f} bursts")
    sys.exit(77)
dtlb, sentence = calc["summary"]["dynamic"]["dtlb"]["share"], calc["sentence"]
print(sys.argv[2], f"DTLB {dtlb:.0f} %:", sentence)
sys.exit(not (dtlb < 5 and "on huge pages" in sentence if huge else dtlb > 10 and "on huge pages" not in sentence))
Q
    case $? in 0) echo "ok $1" ;; 77) few=1 ;; *) echo "not ok $1"; bad=1 ;; esac
}
bad=0 few=0
try huge
try small
[ $bad = 0 ] && [ $few = 1 ] && echo "too few bursts on this machine" && exit 77
exit $bad
