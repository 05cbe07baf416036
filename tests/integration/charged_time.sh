#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The CPU time that the kernel charged stands beside that of samples, and where they are too far apart, reports print both. A server
# that sleeps between requests knows its time by its own clock; how much of it has samples depends on the machine.
set -u
. "$(dirname "$0")/../until.sh"
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
woken=$(realpath "$BUILD/tests/programs/woken") target=$(realpath "$BUILD/tests/programs/sampler_target")
bad=0
fail() { echo "not ok: $*"; bad=1; }

# told NAME JSON LEAST MOST: the figures of a recording, and what record and prof say of them. LEAST and MOST bound the time
# charged: the program's own log.
told() {
    "$CYCLESCOPE" prof --json --store "$work/$1" >"$work/$1.prof" || fail "$1: prof"
    python3 - "$work/$1.json" "$work/$1.prof" "$work/$1.err" "$2" "$3" <<'CHECK' || fail "$1"
import json, math, sys
r, p = json.load(open(sys.argv[1])), json.load(open(sys.argv[2]))
said = " ".join(open(sys.argv[3]).read().split())
least, most = float(sys.argv[4]), float(sys.argv[5])
charged, sampled = r["charged_seconds"], r["sampled_seconds"]
if charged is None or not least <= charged <= most:
    sys.exit(f"charged {charged}, by its own clock {least} to {most}")
if r["events"] != ["cpu-clock"] or r["lost"] or r["throttled"]:
    sys.exit(0 if sampled is None else f"{r['events']}, {r['lost']} lost: sampled {sampled} can't be compared")
if sampled is None or not 0.2 * charged < sampled < 1.5 * charged:
    sys.exit(f"charged {charged}, sampled {sampled}")
more = charged - sampled > max(0.05 * charged, 4 * sampled / math.sqrt(r["delivered"]))
if more != (p["charged_seconds"] is not None):
    sys.exit(f"charged {charged}, sampled {sampled}, prof says {p['charged_seconds']}")
if more != ("The kernel charged" in said):
    sys.exit(f"charged {charged}, sampled {sampled}, record says {said}")
print("charged", round(charged, 3), "sampled", round(sampled, 3), "told" if more else "not told")
CHECK
}

# A command, with the child that it waited for.
"$CYCLESCOPE" record --json-to "$work/command.json" --no-bursts -o "$work/command" -- \
    "$woken" 2 20 100 "$work/pid" >"$work/command.log" 2>"$work/command.err" || fail "record: $(cat "$work/command.err")"
ran=$(sed -n 's/^requests .* server \([0-9.]*\) client \([0-9.]*\)$/\1+\2/p' "$work/command.log")
[ -n "$ran" ] || { echo "not ok: woken said $(cat "$work/command.log")"; exit 1; }
told command "$(python3 -c "print(0.9*($ran))")" "$(python3 -c "print(1.1*($ran)+0.1)")"

# A process that runs already: within its whole time.
"$woken" 6 20 100 "$work/pid2" >"$work/woken.log" &
until_true -t 50 test -s "$work/pid2" || fail "woken doesn't run"
"$CYCLESCOPE" record --json-to "$work/process.json" -t 2 -p "$(cat "$work/pid2")" -o "$work/process" 2>"$work/process.err" ||
    fail "record -p: $(cat "$work/process.err")"
wait
told process 0.02 "$(sed -n 's/.* server \([0-9.]*\) .*/\1/p' "$work/woken.log")"

# One that computes all the time, for a second, of which others of the machine may have the most.
"$CYCLESCOPE" record --json-to "$work/spin.json" --no-bursts -o "$work/spin" -- "$target" spin 1 >"$work/spin.log" 2>"$work/spin.err" ||
    fail "record: $(cat "$work/spin.err")"
told spin 0.1 1.5
exit $bad
