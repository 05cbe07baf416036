#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Runners of bursts are bounded: they end with their programs, so many live at once and no more, status tells what they take, and
# a thread of a real-time policy is left alone.
set -u
. "$(dirname "$0")/../until.sh"
work=$(mktemp -d)
socket=$work/control daemon=
trap '[ -z "$daemon" ] || kill "$daemon" 2>/dev/null; kill $(jobs -pr) 2>/dev/null; rm -rf "$work"' EXIT
bad=0
not_ok() {
    echo "not ok: $*"
    bad=1
}
most=8 # CS_MODEL_RUNNERS_MAX
spin='local function f(n) if n < 2 then return n end return f(n-1) + f(n-2) end local t = os.clock() + arg[1] repeat f(15) until os.clock() > t'
echo "$spin" >"$work/spin.lua"
status() { "$CYCLESCOPE" daemon status --json --socket "$socket" | tr ',{}' '\n\n\n' | sed -n "s/^ *\"$1\": *\"*\([0-9.]*\).*/\1/p"; }
runners() { pgrep -P "$daemon" -x cyclescope-burs; }
live() { runners | while read -r pid; do grep -q '^State:.*Z' "/proc/$pid/status" 2>/dev/null || echo "$pid"; done | grep -c .; }
none() { [ "$(live)" = 0 ]; }
# Of programs that have ended. Whose a runner is is told by the map that it has open.
left() {
    local n=0 pid target
    for pid in $(runners); do
        target=$(readlink /proc/"$pid"/fd/* 2>/dev/null | sed -n 's,^/proc/\([0-9]*\)/maps$,\1,p' | head -n 1)
        [ -z "$target" ] || [ -d "/proc/$target" ] || n=$((n + 1))
    done
    echo $n
}
none_left() { [ "$(left)" = 0 ]; }

if ! "$CYCLESCOPE" daemon start --socket "$socket" -o "$work/store" --bursts on --budget 20% >"$work/out" 2>&1; then
    echo "skipped: no daemon here: $(tail -n 1 "$work/out")"
    exit 77
fi
daemon=$(status pid)
[ -n "$daemon" ] || { echo "not ok: no status"; exit 1; }

# 1. One after the other: each takes its runner with it.
programs=$([ -n "${CS_QUICK-}" ] && echo 12 || echo 50)
seen=0 highest=0
for ((i = 0; i < programs; i++)); do
    lua5.4 "$work/spin.lua" 0.25 &
    wait $!
    n=$(live)
    [ "$n" -le $highest ] || highest=$n
    seen=$((seen + n))
done
none_left() { [ "$(left)" = 0 ]; }
until_true -t 2 none_left || not_ok "$(left) runners are left of programs that have ended"
[ $highest -le $most ] || not_ok "$highest runners at once of programs one after the other"

# 2. Thirty at once: no more than may be, and what they take is what status says.
spinning=()
for ((i = 0; i < 30; i++)); do
    lua5.4 "$work/spin.lua" 60 &
    spinning+=($!)
done
some() { [ "$(live)" -ge 3 ]; }
until_true -t 10 some || not_ok "only $(live) runners for 30 busy programs"
highest=0
for ((i = 0; i < 40; i++)); do
    n=$(live)
    [ "$n" -le $highest ] || highest=$n
    sleep 0.1 # sleeps: between two looks
done
[ $highest -le $most ] || not_ok "$highest runners at once"
figures=$(python3 - "$CYCLESCOPE" "$socket" "$daemon" 2>&1 <<'PY'
import json, os, subprocess, sys, time
tool, socket, daemon = sys.argv[1], sys.argv[2], int(sys.argv[3])
def read(path):
    try:
        return open(path).read()
    except OSError: # it has ended
        return ""
def memory(): # of the daemon's runners: each has a process that holds threads and one that repeats their code
    parents, holders = {}, set()
    for pid in (d for d in os.listdir("/proc") if d.isdigit()):
        stat = read(f"/proc/{pid}/stat")
        if stat:
            parents[int(pid)] = int(stat.rsplit(")", 1)[1].split()[1])
        if "(cyclescope-burs)" in stat:
            holders.add(int(pid))
    holders = {p for p in holders if parents[p] == daemon}
    return 1024 * sum(int(l.split()[1]) for p, parent in parents.items() if p in holders or parent in holders
                      for l in read(f"/proc/{p}/smaps_rollup").split("\n") if l.startswith("Pss:"))
end, had, said = time.time() + 20, 0, 0
while time.time() < end: # status is at most 0.25 s old, runners come and go: it is asked until both say the same
    had = memory()
    said = json.loads(subprocess.run([tool, "daemon", "status", "--json", "--socket", socket], capture_output=True, text=True).stdout or "{}").get("burst_memory_bytes") or 0
    if 0 < said <= 100000000 and 0.8 * had <= said <= 1.2 * had:
        break
else:
    print("not ok:", end=" ")
print(f"status says {said}, /proc {had}")
PY
)
case $figures in "status says"*) ;; *) not_ok "what runners take: $figures" ;; esac
echo "at most $highest runners at once; $figures"
kill "${spinning[@]}"
wait "${spinning[@]}" 2>/dev/null
until_true -t 10 none_left || not_ok "$(left) runners are left of 30 programs"
counts() { [ "$(status burst_runners)" = "$(live)" ]; }
until_true -t 10 counts || not_ok "status counts $(status burst_runners) runners, there are $(live)"

# 3. Who has a real-time policy is left alone.
if command -v chrt >/dev/null && chrt -r 1 true 2>/dev/null; then
    "$CYCLESCOPE" record -v --burst-rate 200 -o "$work/real" -- chrt -r 1 lua5.4 "$work/spin.lua" 1 2>"$work/err"
    grep -q '^0 bursts' "$work/err" && grep -q 'real-time policy' "$work/err" || not_ok "a real-time thread: $(cat "$work/err")"
    for _ in 1 2 3; do # two seconds have 350 bursts; a recorder on the CPU that the thread takes may have none
        "$CYCLESCOPE" record -v --burst-rate 200 --burst-real-time -o "$work/asked" -- chrt -r 1 lua5.4 "$work/spin.lua" 2 2>"$work/err"
        grep -q '^[1-9][0-9,]* bursts*.*at most' "$work/err" && break
    done
    grep -q '^[1-9][0-9,]* bursts*.*at most' "$work/err" || not_ok "a real-time thread, asked for: $(cat "$work/err")"
else
    echo "no real-time policy is allowed here"
fi
"$CYCLESCOPE" daemon stop --socket "$socket" >/dev/null 2>&1
until_true -t 10 none || not_ok "$(live) runners are left of the daemon"
[ $bad = 0 ] && echo ok
exit $bad
