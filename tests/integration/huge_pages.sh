#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Reads in no order of data on huge pages, and of data on small ones: the DTLB is blamed for less of them, and calc says what the
# data lie on. The program knows by its argument what it has, and asks the kernel whether it got it.
set -u
[ "$(uname -m)" = x86_64 ] || { echo "bursts are x86-64 code"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
P=$BUILD/tests/programs/table_reads
read_table() { # huge|small
    rm -rf "$work/s"
    "$CYCLESCOPE" record -o "$work/s" --burst-rate 30 -- "$P" 4 "$1" >"$work/out" 2>&1
    case $? in 0) ;; 77) echo "the kernel gives no huge pages"; exit 77 ;; *) cat "$work/out"; echo "not ok: record"; exit 1 ;; esac
    "$CYCLESCOPE" calc --store "$work/s" --json add_up >"$work/$1" || { echo "not ok: calc of $1"; exit 1; }
}
read_table huge
read_table small
python3 - "$work" <<'Q'
import json, sys
huge, small = (json.load(open(f"{sys.argv[1]}/{n}")) for n in ("huge", "small"))
if min(c["evidence"]["bursts"] for c in (huge, small)) < 10:
    print("too few bursts on this machine")
    sys.exit(77)
dtlb = [c["summary"]["dynamic"]["dtlb"]["share"] for c in (huge, small)]
for c, name, share in zip((huge, small), ("huge", "small"), dtlb):
    print(f"{name}: DTLB {share:.0f} %. {c['sentence']}")
assert huge["worst"]["cause"] == "d-cache", huge["worst"]
assert "on huge pages" in huge["sentence"] and "huge pages" not in small["sentence"]
assert dtlb[1] > 5 and dtlb[0] < dtlb[1], dtlb # by how much less, the hypervisor decides
print("ok")
Q
