#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# record -p without perf_event_open: a process that runs is sampled by ptrace, by an unprivileged user under docker's default
# system-call filter. Shares are those that the program was told to have; chains reach its beginning; its threads and children
# are seen; its signals, stops and its life aren't touched, also when the recorder is killed.
set -eu
. "$(dirname "$0")/../until.sh"
work=$(mktemp -d)
chmod 755 "$work"
pids=
trap 'kill -KILL $pids 2>/dev/null || true; rm -rf "$work"' EXIT
mkdir -m 1777 "$work/free"
export HOME=$work/free TMPDIR=$work/free CYCLESCOPE_CACHE=$work/free/cache
cp "$CYCLESCOPE" "$BUILD/tests/programs/procedures" "$BUILD/tests/programs/sampler_target" "$BUILD/tests/programs/without_rights" "$work/"
chmod -R a+rX "$work"
user=()
[ "$(id -u)" -ne 0 ] || user=(setpriv --reuid=65534 --regid=65534 --clear-groups --no-new-privs)
denied() { "${user[@]}" "$work/without_rights" docker "$@"; }
scope=$(cat /proc/sys/kernel/yama/ptrace_scope 2>/dev/null || echo 0)
[ "$scope" = 0 ] || { echo "yama/ptrace_scope is $scope: a process may not be traced here but by its parent"; exit 77; }
cs=$work/cyclescope
becomes() { has_become $pid "$(basename "$1")" || has_become $pid "$(basename "$(realpath "$(command -v "$1")")")"; }
start() { "${user[@]}" "$@" >"$work/free/out" 2>&1 & pid=$!; pids="$pids $pid"; until_true becomes "$1"; }

# 1. Shares and chains: seven procedures of equal shares but two.
start "$work/procedures" 500 500 500 1000 1000 500 500
denied "$cs" record -v -F 250 -o "$work/free/s" -p $pid --seconds 40 2>"$work/said" || { cat "$work/said"; exit 1; }
cat "$work/said"
wait $pid
grep -qE '^call chains: (9[5-9]|100)[.0-9]* % complete' "$work/said"
grep -q 'stopping a running thread for a moment (ptrace), user code only.*perf_event_open is refused' "$work/said"
python3 - "$cs" "$work/free/s" <<'PY'
import json, subprocess, sys
rows = json.loads(subprocess.run([sys.argv[1], "prof", "--json", "--store", sys.argv[2]], capture_output=True, text=True, check=True).stdout)["rows"]
n = {r["procedure"]: r["samples"]["cpu-clock"] for r in rows}
told = {"alpha": 500, "beta": 500, "gamma_ray": 500, "delta": 1000, "epsilon": 1000, "wobbly": 500, "zeta": 500}
total = sum(n.get(k, 0) for k in told)
print(total, "samples")
assert total > 300, n
for name, t in told.items():
    t /= sum(told.values())
    share = n.get(name, 0) / total
    print(f"{name:10} told {t:.3f} seen {share:.3f}")
    assert abs(share - t) < 4 * (t * (1 - t) / total) ** 0.5 + 0.015, name # one in 2,000 by chance; it ran for a moment before
PY
"$cs" export -f folded --store "$work/free/s" > "$work/folded"
awk '{ n += $NF; if (/^[^ ]*_start;.*main[; ]/) m += $NF } END { print m / n " of the samples are in chains from the start through main"; exit !(m > 0.95 * n) }' "$work/folded"

# 2. A process with four threads, and one that starts many: all are seen.
start "$work/sampler_target" threads 4
denied "$cs" record -F 250 -o "$work/free/t" -p $pid --seconds 30 2>"$work/said"
wait $pid
"$cs" prof --store "$work/free/t" | tee "$work/table"
grep -q 'spin_here.* sampler_target' "$work/table"
start sh -c "sleep 0.3; for i in 1 2 3 4 5 6 7 8; do \"$work/procedures\" 30 30 30 30 30 30 30; done"
denied "$cs" record -F 250 -o "$work/free/f" -p $pid --seconds 30 2>"$work/said" || { cat "$work/said"; exit 1; }
wait $pid
"$cs" prof --store "$work/free/f" --by image | tee "$work/table"
grep -q procedures "$work/table"

# 3. It keeps its signals, is stopped and goes on as others want, and outlives who records it, however that ends.
cat > "$work/signals.py" <<'PY'
import signal
ended = [0]
def handler(n, f): print("got", flush=True)
def end(n, f): ended[0] = 1
signal.signal(signal.SIGUSR1, handler)
signal.signal(signal.SIGUSR2, end)
print("ready", flush=True)
while not ended[0]: sum(range(1000))
print("ended", flush=True)
PY
chmod a+r "$work/signals.py"
start /usr/bin/python3 "$work/signals.py"
until_true has_line ready "$work/free/out"
denied "$cs" record -F 250 -o "$work/free/k" -p $pid --seconds 30 2>"$work/said" &
recorder=$!
until_true has_line '^TracerPid:.*[1-9]' /proc/$pid/status
got() { [ "$(grep -c got "$work/free/out")" -ge "$1" ]; }
for n in $(seq 40); do
    kill -USR1 $pid
    until_true -t 5 got "$n" || true
done
goes_on() { ! grep -q '^State:.*[tT] (stopped)' /proc/$pid/status; }
kill -STOP $pid
until_true -t 2 has_line '^State:.*[tT] \(' /proc/$pid/status # "tracing stop" of one that is traced
kill -CONT $pid
until_true -t 2 goes_on || { echo "it doesn't go on"; exit 1; }
tracer=$(awk '/^TracerPid/ { print $2 }' /proc/$pid/status)
[ "$tracer" -gt 0 ]
awk '/^PPid/ { print $2 }' "/proc/$tracer/status" | xargs kill -KILL # the recorder itself
wait $recorder || true
until_true -t 2 has_line '^TracerPid:[[:space:]]*0$' /proc/$pid/status
until_true -t 2 has_ended "$tracer" || { echo "who stopped it is still there"; exit 1; }
kill -USR2 $pid
wait $pid
[ "$(grep -c got "$work/free/out")" = 40 ]
grep -q ended "$work/free/out"

# 4. Another's process: one sentence.
if [ "$(id -u)" -eq 0 ]; then
    sleep 30 & pids="$pids $!"
    if denied "$cs" record -o "$work/free/x" -p $! --seconds 1 2>"$work/err"; then exit 1; fi
    cat "$work/err"
    grep -q "can't be sampled by stopping it (Operation not permitted)" "$work/err"
fi
