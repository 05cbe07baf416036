#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The daemon records waits of the whole machine: a program's sleeping lock holder is named, in the program's own label; many
# short threads are one row by name; status counts what was kept and lost.
set -u
work=$(mktemp -d -p /dev/shm)
d() { local verb=$1; shift; "$CYCLESCOPE" daemon "$verb" --socket "$work/control" "$@"; }
trap 'd stop >/dev/null 2>&1; rm -rf "$work"' EXIT
. "$(dirname "$0")/../waits_possible.sh"
d start --waits --budget 5% --memory 64M --label command -o "$work/store" --remarks "$work/log" || { echo "not ok: the daemon doesn't start: $(cat "$work/log")"; exit 1; }
"$BUILD/tests/programs/waiting" sleeping-lock 4 >"$work/truth" &
waiting=$!
python3 -c '
import threading
def work(): threading.Event().wait(0.001)
for _ in range(300):
    t = threading.Thread(target=work); t.start(); t.join()'
wait $waiting
d flush >/dev/null || { echo "not ok: flush"; exit 1; }
d status --json >"$work/status"
d stop >/dev/null
# SIGHUP: what the configuration says now.
kept() { d status --json | python3 -c 'import json, sys; d = json.load(sys.stdin); print(d["pid"], d.get("waits_kept") or 0)'; }
echo "waits = off" >"$work/settings"
d start --config "$work/settings" -o "$work/other" --remarks "$work/log" || { echo "not ok: the daemon doesn't start: $(cat "$work/log")"; exit 1; }
read -r pid n <<<"$(kept)"
[ "$n" = 0 ] || { echo "not ok: waits are off, $n are kept"; exit 1; }
echo "waits = on" >"$work/settings"
kill -HUP "$pid"
for _ in $(seq 20); do
    "$BUILD/tests/programs/waiting" sleeping-lock 1 >/dev/null
    d flush >/dev/null
    read -r pid n <<<"$(kept)"
    [ "$n" -gt 0 ] && break
done
d stop >/dev/null
[ "$n" -gt 0 ] || { echo "not ok: after SIGHUP no waits are kept: $(cat "$work/log")"; exit 1; }
"$CYCLESCOPE" waits --process waiting --json --top 0 --store "$work/store" >"$work/waits" || exit 1
"$CYCLESCOPE" waits --json --top 0 --store "$work/store" >"$work/all" || exit 1
"$CYCLESCOPE" waits --critical-path --of victim --json --top 0 --store "$work/store" >"$work/path" || exit 1
"$CYCLESCOPE" prof --wall --json --top 0 --store "$work/store" >"$work/wall" || exit 1
python3 - "$work" <<'PY'
import json, re, sys
work = sys.argv[1]
status, mine, everybody = (json.load(open(f"{work}/{name}")) for name in ("status", "waits", "all"))
truth = float(re.search(r"^waited \S+ ([\d.]+)", open(work + "/truth").read(), re.M)[1])
bad = []
row = next((r for r in mine["rows"] if r["kind"] == "mutex" and r["where"] == "take_lock"), None)
if not row or "guilty: sleep in " not in (row["meanwhile"] or ""):
    bad.append(f"the sleeping holder isn't named: {row}")
elif not 0.5 * truth < row["seconds"] < 1.05 * truth + 0.05:  # in its first moments a process has no chains
    bad.append(f"{row['seconds']} s of waits for the lock, the program says {truth}")
names = {t["thread"]: t for t in mine["threads"]}
if not {"guilty", "victim"} <= set(names) or len(mine["threads"]) > 4:
    bad.append(f"threads of the program: {sorted(names)}")
if any(t["tid"] for t in everybody["threads"]):
    bad.append("a thread's number is kept: a service has too many")
if not float(status.get("waits_kept", 0)) > 50 or float(status.get("wait_seconds", 0)) < truth:
    bad.append(f"status: {[(k, v) for k, v in status.items() if 'wait' in k]}")
path = json.load(open(work + "/path"))  # there threads have names alone
asleep = sum(r["percent"] for r in path["rows"] if r["what"] == "sleep" and r["thread"] == "guilty")
if asleep < 50:
    bad.append(f"on the victims' critical path the holder's sleep has {asleep} %: {path['rows'][:4]}")
wall = json.load(open(work + "/wall"))  # CPUs that idle have samples, and no share in threads' time
on = {r["procedure"]: r["on_cpu_seconds"] or 0 for r in wall["rows"]}
if on.get("[no code of its own]", 0) > 0.3 * wall["on_cpu_seconds"]:
    bad.append(f"prof --wall has {on['[no code of its own]']} of {wall['on_cpu_seconds']} s on a CPU in no code")
print("\n".join("not ok: " + b for b in bad) or "ok")
sys.exit(bool(bad))
PY
