#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Where the budget makes the rate fall (here from some hundred to a few samples a second, because bursts at a fixed rate overspend
# it), the time that the samples stand for stays the program's own CPU time.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export CYCLESCOPE_CACHE=$work/cache
"$CYCLESCOPE" record --bursts --budget 1% --burst-rate 100 -o "$work/s" -- "$BUILD/tests/programs/procedures" 1000 1000 1000 1000 1000 1000 1000 >"$work/said" 2>&1 ||
    { cat "$work/said"; exit 1; }
cat "$work/said"
"$CYCLESCOPE" prof --json --store "$work/s" >"$work/prof"
python3 - "$work/prof" <<'P'
import json, sys
event = next(e for e in json.load(open(sys.argv[1]))["events"] if e["name"] == "cpu-clock")
seconds = event["period_sum"] / 1e9
print(f"{seconds:.2f} s by the samples; the program ran for 7 s of CPU time")
assert 5 < seconds < 9.5, seconds  # a sample stands for up to a second at the end
P
