#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A command or a process with all that it starts: processes shorter than a period are sampled for what they take, children that
# were there before are, nobody else is; through both drivers. Where events of CPUs can be had, that is: as root.
set -u
. "$(dirname "$0")/../until.sh"
[ "$(id -u)" = 0 ] || { echo "events of CPUs need root"; exit 77; }
work=$(mktemp -d)
trap 'kill $(jobs -pr) 2>/dev/null; rm -rf "$work"' EXIT
programs=$(realpath "$BUILD/tests/programs")
"$CYCLESCOPE" record --driver bpf --no-bursts -o "$work/try" -- true >/dev/null 2>&1 || { echo "no BPF here"; exit 77; }
bad=0
fail() { echo "not ok: $*"; bad=1; }
field() { python3 -c 'import json,sys; print(json.load(open(sys.argv[1]))[sys.argv[2]])' "$1" "$2"; }
samples() { # STORE IMAGE
    "$CYCLESCOPE" prof --store "$1" --top 0 --json | python3 -c '
import json, sys
rows = json.load(sys.stdin)["rows"]
print(sum(sum(r["samples"].values()) if isinstance(r["samples"], dict) else r["samples"] for r in rows if r["image"].endswith(sys.argv[1])))' "$2"
}
cp "$programs/sampler_target" "$work/neighbour"

for driver in bpf ring; do
    # 1,500 processes of 0.7 ms at a period of 1 ms. Some 1,200 samples: chance is 3 %. Within 20 % of their time: 6 of those (the
    # rest is what starting and ending a process takes and nobody's account shows).
    "$work/neighbour" spin 60 & neighbour=$!
    "$CYCLESCOPE" record --driver $driver -F 1000 --no-bursts --json -o "$work/storm-$driver" -- "$programs/fork_storm" 1500 700 \
        >"$work/out" 2>"$work/err" || fail "$driver: $(cat "$work/err")"
    { kill $neighbour; wait $neighbour; } 2>/dev/null
    took=$(sed -n 's/^\([0-9.]*\) 1500$/\1/p' "$work/out")
    sed '/^[0-9]/d' "$work/out" >"$work/storm.json"
    python3 - "$took" "$(field "$work/storm.json" delivered)" <<'PY' || fail "$driver: processes shorter than a period"
import sys
took, seen = float(sys.argv[1]), float(sys.argv[2])
print(f"# {seen:.0f} samples of 1 ms for {took:.0f} ms of CPU time")
sys.exit(not 0.8 * took <= seen <= 1.2 * took)
PY
    n=$(samples "$work/storm-$driver" neighbour)
    [ "$n" = 0 ] || fail "$driver: $n samples of another program"

    # A shell's child that was there before.
    bash -c '"$0" spin 60; :' "$programs/sampler_target" & shell=$!
    child_runs() { child=$(pgrep -P $shell -x sampler_target) && has_run "$child"; }
    until_true child_runs
    "$CYCLESCOPE" record --driver $driver -F 1000 --no-bursts --seconds 1 -o "$work/child-$driver" -p $shell >/dev/null 2>"$work/err" ||
        fail "$driver: $(cat "$work/err")"
    { pkill -P $shell; wait $shell; } 2>/dev/null
    n=$(samples "$work/child-$driver" sampler_target)
    [ "${n:-0}" -ge 200 ] || fail "$driver: ${n:-no} samples of a child that was there before, not some 1,000"
done
[ $bad = 0 ] && echo ok
exit $bad
