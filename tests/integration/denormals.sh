#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Denormal numbers, which the processor's own flags tell of the copy that a burst replays: where a program computes with them, no
# busy port is named for it; where it doesn't, they are ruled out. The program knows by its argument, and by -ffast-math.
set -u
[ "$(uname -m)" = x86_64 ] || { echo "bursts are x86-64 code"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bad=0 few=0
gcc -O2 -g -o "$work/kept" tests/programs/denormals.c && gcc -O2 -g -ffast-math -o "$work/flushed" tests/programs/denormals.c || { echo "not ok: gcc"; exit 1; }
cat >"$work/judge.py" <<'P'
import json, sys
calc, explain = (json.load(open(f"{sys.argv[1]}/{n}")) for n in ("calc", "explain"))
evidence, met = calc["evidence"], sys.argv[2] == "met"
if evidence["bursts"] < evidence["needed"]:
    print(f"{evidence['bursts']:.0f} bursts")
    sys.exit(77)
out = "denormal" in (r["cause"] for r in explain["ruled_out"])
ok = calc["unseen"] is None and evidence["denormal"] == met and not (met and (out or evidence["enough"]))
ok &= met or out or not evidence["enough"] # only a verdict rules others out
print("ok" if ok else "not ok", sys.argv[2], calc["sentence"], "; ruled out" if out else "")
sys.exit(not ok)
P
try() { # PROGRAM SIZE met|none
    rm -rf "$work/s"
    "$CYCLESCOPE" record -o "$work/s" --burst-rate 30 -- "$work/$1" 4 "$2" >"$work/out" 2>&1 || { cat "$work/out"; echo "not ok: record"; exit 1; }
    "$CYCLESCOPE" calc --store "$work/s" --json fade >"$work/calc" && "$CYCLESCOPE" explain --store "$work/s" --json fade >"$work/explain" ||
        { echo "not ok: calc or explain of $1 $2"; exit 1; }
    python3 "$work/judge.py" "$work" "$3"
    case $? in 0) ;; 77) few=1 ;; *) bad=1 ;; esac
}
try kept 1e-39 met
try kept 1 none
try flushed 1e-39 none
[ $bad = 0 ] && [ $few = 1 ] && echo "too few bursts on this machine" && exit 77
exit $bad
