#!/bin/bash
# A program that changes between two kinds of work, sampled in intervals by the daemon: `phases` finds the changes.
# The same when the intervals were made coarser for want of space.
set -eu
. "$(dirname "$0")/../until.sh"
[ "$(id -u)" -eq 0 ] || { echo "needs root to sample the whole machine"; exit 77; }
place=$(mktemp -d -p /dev/shm)
trap '"$CYCLESCOPE" daemon stop --socket "$place/run/control" >/dev/null 2>&1 || true; rm -rf "$place"' EXIT

for try in 1 2 3; do
    "$CYCLESCOPE" daemon start --socket "$place/run/control" -o "$place/s$try" -F 1000 --merge-interval 1h --intervals 100ms >/dev/null
    "$BUILD/tests/programs/phased" 1.5 1 3 >/dev/null
    "$CYCLESCOPE" daemon stop --socket "$place/run/control" >/dev/null
    "$CYCLESCOPE" store verify "$place/s$try" >/dev/null
    mv "$place/s$try" "$place/s"
    samples=$("$CYCLESCOPE" store ls "$place/s" --json | python3 -c '
import json, sys
print(sum(p["sum"] for p in json.load(sys.stdin)["profiles"] if p["kind"] == "points" and p["path"].endswith("/phased")))')
    [ "$samples" -lt 7000 ] || break
    rm -r "$place/s" # the machine was stopped for a while: the daemon could not see what ran meanwhile
done
[ -e "$place/s" ] || { echo "the machine was too busy: $samples of 7500 samples of the program"; exit 77; }
"$CYCLESCOPE" phases --store "$place/s" --image phased --json >"$place/json"
python3 - "$place/json" <<'P'
import json, sys
d = json.load(open(sys.argv[1]))
print([(p["phase"], p["from_s"], p["length_s"], p["mostly"]) for p in d["phases"]])
# A busy machine cuts phases by times without the CPU, and a late sampler blurs a change: what counts is the
# order of the longer ones and their CPU time.
work = []
for p in d["phases"]:
    if p["phase"] == "-" or p["samples"] < 250 and (not work or work[-1][0] != p["phase"]):
        continue
    if work and work[-1][0] == p["phase"]:
        work[-1][2] += p["samples"]
    else:
        work.append([p["phase"], p["mostly"].split()[0], p["samples"]])
print(work)
assert [w[1] for w in work] == ["press_grapes", "taste_wine"] * 3, work
assert len({w[0] for w in work}) == 2, "the phases that come back were not recognised"
for w, true in zip(work, [1500, 1000] * 3):
    assert abs(w[2] - true) < 0.2 * true, (w, true)
top = {p["procedure"]: p["percent"] for p in d["procedures"]}
assert abs(top["press_grapes"] - 60) < 8 and abs(top["taste_wine"] - 40) < 8, top
P
"$CYCLESCOPE" phases --store "$place/s" --image phased | head -8

# A bound of 5 KB: intervals get longer, no sample is lost.
"$CYCLESCOPE" daemon start --socket "$place/run/control" -o "$place/t" -F 1000 --merge-interval 300ms --intervals 20ms --intervals-size 5k >/dev/null
"$BUILD/tests/programs/phased" 1 1 2 >/dev/null
bounded() { # a merge has met the bound
    length=$("$CYCLESCOPE" daemon status --socket "$place/run/control" --json | python3 -c 'import json,sys; print(json.load(sys.stdin)["interval_ms"])')
    [ "$length" -gt 20 ]
}
until_true -t 10 bounded || true
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
