#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# tags --lengths: how long requests took as the observer saw it, against the program's own log; phases against their truth. Exit 77 where
# one CPU alone may be used.
set -eu
. "$(dirname "$0")/../ahead.sh"
[ "$(nproc)" -ge 2 ] || { echo "one CPU: an observer needs one of its own"; exit 77; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$(dirname "$0")/../.."
"$CYCLESCOPE" observe -s request --period 1000 --log "$dir/log" -- "$BUILD/tests/programs/requests" 20000 "$dir/truth" >/dev/null
"$CYCLESCOPE" tags --log "$dir/log" --tag request --lengths >"$dir/text"
"$CYCLESCOPE" tags --log "$dir/log" --tag request --lengths --json >"$dir/seen"
"$CYCLESCOPE" observe -s phase --period 2000 --log "$dir/phases" -- "$BUILD/signals/examples/phases" --seconds 1 --truth "$dir/changes" >/dev/null
"$CYCLESCOPE" tags --log "$dir/phases" --lengths --json >"$dir/phased"
python3 - "$dir" <<'P'
import collections, json, sys
dir = sys.argv[1]
load = lambda name: json.load(open(f"{dir}/{name}"))
at = lambda all, q: all[min(len(all) - 1, int(q * len(all)))]
truth, said = sorted(int(l) / 1000 for l in open(dir + "/truth")), load("seen")
row, = said["lengths"]
assert said["numbered"] and said["least_number"] >= 1 and said["most_number"] <= 20000, said
assert row["name"] == "(all but 0)" and row["value"] is None, row
# A request is lost only where the observer was away, and takes its time there; the program's pauses are 5 us.
under_way, looked_away = said["most_number"] - said["least_number"] + 1, said["seconds"] * said["not_looked_percent"] / 100
lost, each = under_way - said["numbers_seen"], sum(truth) / len(truth) * 1e-6 + 5e-6
assert row["lengths"] + row["cut"] <= 20000 and lost * each <= 1.25 * looked_away + 0.002, (lost * each, looked_away, said)
assert under_way > 2000, said
# Where many are lost, the rest are drawn (4.5 sigma); those cut short, by a pause of the machine too, may be any.
off = {}
for key, q, most in ("p50_us", 0.5, 0.05), ("p90_us", 0.9, 0.05), ("p99_us", 0.99, 0.08):
    unsure = 4.5 * (q * (1 - q) * (1 - row["lengths"] / 20000) / row["lengths"]) ** 0.5 + row["cut"] / row["lengths"]
    off[key] = row[key] / at(truth, q) - 1
    assert at(truth, max(q - unsure, 0)) * (1 - most) <= row[key] <= at(truth, q + unsure) * (1 + most), (key, row[key], at(truth, q), unsure, said)
assert row["longest_us"] <= truth[-1] * 1.02 + 2, (row, truth[-1])
print("ok", row["lengths"], "requests, quantiles off by", {k: f"{100 * v:.1f} %" for k, v in off.items()}, "not looked", said["not_looked_percent"])

# The program's own changes: "thread tid tsc phase work"
lines = [l.split() for l in open(dir + "/changes")]
per_us, changes = float(lines[0][1]), [(int(w[2]), w[3]) for w in lines[1:]]
spans = collections.defaultdict(list)
for (begin, phase), (end, _) in zip(changes, changes[1:]):
    spans[phase].append((end - begin) / per_us)
rows = {r["name"]: r for r in load("phased")["lengths"]}
assert not load("phased")["numbered"]
for name in "hash", "divide", "chase", "stream":
    all = sorted(spans[name])
    assert abs(rows[name]["p50_us"] / at(all, 0.5) - 1) < 0.08, (name, rows[name], at(all, 0.5))
    assert abs(rows[name]["p90_us"] / at(all, 0.9) - 1) < 0.08, (name, rows[name], at(all, 0.9))
print("ok", {name: rows[name]["p50_us"] for name in spans if name in rows})
P
grep -q "Its numbers only grow" "$dir/text"
refused() { # words...: exit 2, and a sentence
    rc=0
    "$CYCLESCOPE" tags "$@" >/dev/null 2>"$dir/why" || rc=$?
    [ $rc = 2 ] && [ -s "$dir/why" ] || { echo "not ok: $* ended with $rc"; exit 1; }
}
refused --lengths
refused --lengths --log "$dir/log" --subsample 2
"$CYCLESCOPE" tags --log "$dir/log" --tag requests --lengths >/dev/null 2>"$dir/why" && exit 1
grep -q "request" "$dir/why"
