#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The critical path of programs whose bottleneck is known: its share is what the program was written for, what ran beside a longer
# thread isn't on it, and the rows add up to the thread's time.
set -u
[ "$(id -u)" = 0 ] || { echo "waits need root"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$CYCLESCOPE" record --waits --no-bursts -o "$work/try" -- sleep 0.1 >/dev/null 2>"$work/said"
grep -q "can't be recorded" "$work/said" && { echo "no waits here: $(grep "can't be" "$work/said")"; exit 77; }
for case in serial pool sleep-lock file hidden; do
    # Who waits for a CPU waits in a function as well: others leave the program theirs.
    setsid -w sh -c 'echo -19 >/proc/self/autogroup; exec nice -n -15 "$@"' sh "$CYCLESCOPE" record --waits --no-bursts -o "$work/$case" -- \
        "$BUILD/tests/programs/bottleneck" $case slow "$work/scratch" >"$work/log" 2>&1 || { echo "not ok: record: $(cat "$work/log")"; exit 1; }
    "$CYCLESCOPE" waits --critical-path --json --top 0 --store "$work/$case" >"$work/$case.json" || { echo "not ok: $case"; exit 1; }
done
"$CYCLESCOPE" waits --critical-path --of short --json --store "$work/pool" >"$work/short.json" || { echo "not ok: --of"; exit 1; }
python3 - "$work" <<'P' || exit 1
import json, sys
# of the path, at least and at most, in percent: by the functions' CPU time and sleeps alone
BOUNDS = {"serial": (40, 60), "pool": (63, 87), "sleep-lock": (55, 90), "file": (60, 101), "hidden": (0, 3)}
for case, (least, most) in BOUNDS.items():
    d = json.load(open(f"{sys.argv[1]}/{case}.json"))
    share = sum(r["percent"] for r in d["procedures"] if r["procedure"].startswith("bottleneck"))
    whole = sum(r["seconds"] for r in d["rows"])
    assert case == "file" or least <= share <= most, (case, share, d)
    assert abs(whole - d["seconds"]) < 0.01 * d["seconds"], (case, whole, d["seconds"])
    assert all(abs(r["half_saves_percent"] - r["percent"] / 2) < 1e-6 for r in d["procedures"])
    assert d["thread"] == "bottleneck" and d["n_threads"] == 1, (case, d["thread"])
    said = {r["thread"] for r in d["rows"] if r["percent"] > 5}
    assert said == {"pool": {"long"}, "sleep-lock": {"locker"}}.get(case, {"bottleneck"}), (case, said)
d = json.load(open(f"{sys.argv[1]}/sleep-lock.json"))
assert d["rows"][0]["what"] == "sleep" and d["rows"][0]["procedure"].startswith("bottleneck_asleep"), d["rows"][0]
d = json.load(open(f"{sys.argv[1]}/short.json"))
names = [r["procedure"] for r in d["procedures"] if r["percent"] > 50]
assert d["thread"] == "short" and "bottleneck" not in names and names, d
print("ok")
P
"$CYCLESCOPE" waits --critical-path --of nobody --store "$work/pool" >"$work/said" 2>&1
[ $? -eq 1 ] && grep -q "no thread is called nobody" "$work/said" || { echo "not ok: $(cat "$work/said")"; exit 1; }
"$CYCLESCOPE" waits --of long --store "$work/pool" >"$work/said" 2>&1
[ $? -eq 2 ] && grep -q "needs --critical-path" "$work/said" || { echo "not ok: $(cat "$work/said")"; exit 1; }
