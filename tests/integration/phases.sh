#!/bin/bash
# A program that changes between two kinds of work, sampled in intervals by the daemon: `phases` finds the changes.
# The same when the intervals were made coarser for want of space.
set -eu
[ "$(id -u)" -eq 0 ] || { echo "needs root to sample the whole machine"; exit 77; }
place=$(mktemp -d -p /dev/shm)
trap '"$CYCLESCOPE" daemon stop --socket "$place/run/control" >/dev/null 2>&1; rm -rf "$place"' EXIT

"$CYCLESCOPE" daemon start --socket "$place/run/control" -o "$place/s" -F 1000 --merge-interval 1s --intervals 100ms >/dev/null
"$BUILD/tests/programs/phased" 1.5 1 3 >/dev/null
"$CYCLESCOPE" daemon stop --socket "$place/run/control" >/dev/null
"$CYCLESCOPE" store verify "$place/s" >/dev/null
"$CYCLESCOPE" phases --store "$place/s" --image phased --json >"$place/json"
python3 - "$place/json" <<'P'
import json, sys
d = json.load(open(sys.argv[1]))
print([(p["phase"], p["from_s"], p["length_s"], p["mostly"]) for p in d["phases"]])
work = [p for p in d["phases"] if p["phase"] != "-" and p["length_s"] >= 0.5]
kinds = [p["mostly"].split()[0] for p in work]
assert kinds == ["press_grapes", "taste_wine"] * 3, kinds
assert len({p["phase"] for p in work}) == 2, "the phases that come back were not recognised"
for p, true in zip(work, [1.5, 1] * 3):
    assert abs(p["length_s"] - true) <= 0.35, (p, true)
top = {p["procedure"]: p["percent"] for p in d["procedures"]}
assert abs(top["press_grapes"] - 60) < 8 and abs(top["taste_wine"] - 40) < 8, top
P
"$CYCLESCOPE" phases --store "$place/s" --image phased | head -8

# A bound of 4 KB: intervals get longer, no sample is lost.
"$CYCLESCOPE" daemon start --socket "$place/run/control" -o "$place/t" -F 1000 --merge-interval 300ms --intervals 20ms --intervals-size 4k >/dev/null
"$BUILD/tests/programs/phased" 1 1 2 >/dev/null
length=$("$CYCLESCOPE" daemon status --socket "$place/run/control" --json | python3 -c 'import json,sys; print(json.load(sys.stdin)["interval_ms"])')
"$CYCLESCOPE" daemon stop --socket "$place/run/control" >/dev/null
[ "$length" -gt 20 ] || { echo "intervals of $length ms: not bounded"; exit 1; }
"$CYCLESCOPE" store ls "$place/t" --json | python3 -c '
import json, sys
profiles = json.load(sys.stdin)["profiles"]
by = {kind: sum(p["sum"] for p in profiles if p["kind"] == kind) for kind in ("points", "intervals")}
size = sum(p["bytes"] for p in profiles if p["kind"] == "intervals")
print("bounded:", by, size, "bytes")
assert by["points"] == by["intervals"] > 500, by
'
