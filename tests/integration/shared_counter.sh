#!/bin/bash
# An event that shared its counter with others: `prof` tells by what its samples are to be multiplied.
set -eu
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
"$BUILD/tests/programs/store_filler" "$place/a" shared 25
"$BUILD/tests/programs/store_filler" "$place/b" shared 100
"$CYCLESCOPE" prof --store "$place/a" | tee "$place/said" | head -3
grep -q "had a counter 25 % of the time: its samples stand for 4 times as many" "$place/said"
! "$CYCLESCOPE" prof --store "$place/b" | grep "had a counter"
"$CYCLESCOPE" prof --store "$place/a" --json | python3 -c '
import json, sys
e = json.load(sys.stdin)["events"][0]
assert e["samples"] == 200 and e["enabled_ns"] == 4 * e["running_ns"], e'
