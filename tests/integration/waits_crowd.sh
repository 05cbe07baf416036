#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The daemon's waits of a crowd whose threads come and go on a full machine are what the crowd waited by its own clocks, and nobody waited
# for a CPU for longer than it lived, though the kernel may not tell of every switch (docs/lab/waits.md).
set -u
work=$(mktemp -d -p /dev/shm)
d() { local verb=$1; shift; "$CYCLESCOPE" daemon "$verb" --socket "$work/control" "$@"; }
trap 'd stop >/dev/null 2>&1; kill $(jobs -p) 2>/dev/null; rm -rf "$work"' EXIT
. "$(dirname "$0")/../waits_possible.sh"
d start --waits --memory 64M --label command -o "$work/store" --remarks "$work/log" || { echo "not ok: the daemon doesn't start: $(cat "$work/log")"; exit 1; }
for _ in 1 2 3; do while :; do :; done & done
cp "$BUILD/tests/programs/waiting_crowd" "$work/crowd-$$" # a name that nothing else has
"$work/crowd-$$" 8 2000 >"$work/truth" || exit 1
d flush >/dev/null || { echo "not ok: flush"; exit 1; }
d status --json >"$work/status"
d stop >/dev/null
"$CYCLESCOPE" waits --process "crowd-$$" --json --top 0 --store "$work/store" >"$work/waits" || exit 1
python3 - "$work" <<'PY'
import json, sys
waits, status = (json.load(open(f"{sys.argv[1]}/{name}")) for name in ("waits", "status"))
log = {w[0]: float(w[1]) for w in map(str.split, open(sys.argv[1] + "/truth"))}
time = {t["what"]: t["seconds"] for t in waits["time"]}
print(time, log, {k: v for k, v in status.items() if "wait" in k})
lived = sum(time.values())
bad = []
# A clock that is read before the wait and after it has what it then waits for a CPU, too.
asked, told = log["slept"] + log["locked"], sum(v for k, v in time.items() if k != "on-cpu")
if not 0.99 * asked < told < 1.01 * asked + 3 * 2000:
    bad.append(f"{told} s of waits, {asked} by its own clocks")
if not lived < 2000 * 20:
    bad.append(f"threads lived for {lived} s")
if not 0.97 * log["slept"] - time.get("run-queue", 0) < time.get("sleep", 0) < 1.001 * log["slept"]:
    bad.append(f"{time.get('sleep')} s of sleep, {log['slept']} by its own clocks")
print("\n".join("not ok: " + b for b in bad) or "ok")
sys.exit(bool(bad))
PY
