#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Plain variables of a program that publishes nothing, read by name and by address: shares of its phases and what its counter did
# against its own log.
set -u
. "$(dirname "$0")/../until.sh"
[ "$(nproc)" -ge 2 ] || { echo "one CPU: an observer needs one of its own"; exit 77; }
dir=$(mktemp -d)
trap 'kill $(jobs -pr) 2>/dev/null; rm -rf "$dir"' EXIT
program=$BUILD/tests/programs/plain_variables
bad=0
"$CYCLESCOPE" observe --variable phase --variable work_done:counter --period 5000 --json -- "$program" 3 >"$dir/all" 2>"$dir/err" ||
    { echo "not ok: $(cat "$dir/err")"; exit 1; }
grep -E '^[123] ' "$dir/all" >"$dir/truth"
sed -n '/^{/,$p' "$dir/all" >"$dir/seen.json"
python3 - "$dir" <<'P' || bad=1
import json, sys
truth = {int(l.split()[0]): (float(l.split()[1]), int(l.split()[2])) for l in open(sys.argv[1] + "/truth")}
seen = json.load(open(sys.argv[1] + "/seen.json"))
rows = {r["value"]: r for r in seen["tags"] if r["value"] in truth}
assert len(rows) == 3, seen["tags"]
total = sum(t for t, _ in truth.values())
ran = sum(r["cycles"] for r in rows.values())
off = {}
for phase, (took, work) in truth.items():
    share, said = took / total, rows[phase]["cycles"] / ran
    rate, told = work / took, rows[phase]["per_1000_cycles"]["work_done"] / 1000 * seen["cycles_per_second"]
    assert abs(share - said) < 0.02, (phase, share, said)
    off[phase] = told / rate
# Time that the host takes from the program's CPU is in our cycles and not in its CPU time: that of all phases alike.
common = sorted(off.values())[1]
assert 0.75 < common < 1.1 and all(abs(o / common - 1) < 0.05 for o in off.values()), off
print("ok", {p: (round(t / total, 3), round(rows[p]["cycles"] / ran, 3)) for p, (t, _) in truth.items()}, seen["samples"], "samples")
P
# by address, of a running process: the bump pointer stays in its arena
"$program" 20 >/dev/null &
target=$!
until_true has_run $target
address=$(python3 - $target "$program" <<'P'
import subprocess, sys
offset = next(int(l.split()[0], 16) for l in subprocess.check_output(["nm", sys.argv[2]], text=True).splitlines() if l.endswith(" bump"))
base = next(int(l.split("-")[0], 16) for l in open(f"/proc/{sys.argv[1]}/maps") if "plain_variables" in l)
print(hex(base + offset))
P
)
"$CYCLESCOPE" observe --variable "$address/8" -t 1 --period 20k --json -p $target >"$dir/bump.json" 2>"$dir/err" || { echo "not ok: $(cat "$dir/err")"; bad=1; }
python3 - "$dir" <<'P' || bad=1
import json, sys
values = [r["value"] for r in json.load(open(sys.argv[1] + "/bump.json"))["tags"] if 0 < r["value"] < 1 << 63]
assert len(values) > 100 and max(values) - min(values) <= 1 << 16 and all(v % 16 == min(values) % 16 for v in values), (len(values), min(values), max(values))
print("ok", len(values), "places of a bump pointer")
P
"$CYCLESCOPE" observe --variable no_such_variable --wait 0 -t 1 -p $target >/dev/null 2>"$dir/err" && { echo "not ok: an unknown variable was taken"; bad=1; }
grep -q 'no global or static variable no_such_variable' "$dir/err" || { echo "not ok: $(cat "$dir/err")"; bad=1; }
"$CYCLESCOPE" observe --variable 0x10 -t 1 -p $target >/dev/null 2>"$dir/err" && { echo "not ok: an address without memory was taken"; bad=1; }
grep -q 'has no readable variable at 0x10' "$dir/err" || { echo "not ok: $(cat "$dir/err")"; bad=1; }
kill $target
exit $bad
