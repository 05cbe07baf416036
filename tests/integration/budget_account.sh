#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A budget counts what the profiler itself takes, too: of a program that computes, the CPU time of all processes of ours, as /proc
# tells it to the program, is no more than the budget. And a thread is stopped for no longer than is documented.
set -u
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bad=0
not_ok() { echo "not ok: $*"; bad=1; }
cat >"$work/program.py" <<'PY'
import os, sys, time
ticks = os.sysconf("SC_CLK_TCK")
def seconds_below(root): # of all that it started, and itself, but for us
    all = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            f = open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()
            all[int(pid)] = int(f[1]), sum(map(int, f[11:15])) / ticks
        except OSError:
            pass
    def is_below(pid):
        while pid in all and pid != root and pid != os.getpid():
            pid = all[pid][0]
        return pid == root
    return sum(s for pid, (_, s) in all.items() if is_below(pid))
ours, before = os.getppid(), None
before, began = seconds_below(ours), time.process_time()
while time.process_time() - began < float(sys.argv[1]):
    sorted(str(i * i % 9973) for i in range(3000))
print(time.process_time() - began, seconds_below(ours) - before)
PY
seconds=$([ -n "${CS_QUICK-}" ] && echo 3 || echo 6)
"$CYCLESCOPE" record -v --bursts --budget 5% -o "$work/store" -- /usr/bin/python3 "$work/program.py" $seconds >"$work/out" 2>"$work/err" || {
    cat "$work/err"
    grep -q 'no bursts\|x86-64' "$work/err" && exit 77
    exit 1
}
read -r its ours <"$work/out"
echo "$(grep -m 1 ' bursts*, ' "$work/err"); the program took $its s, we $ours"
grep -q '^0 bursts' "$work/err" && not_ok "no burst at all: $(cat "$work/err")"
# 5 %, and what may be owed at the end: one attempt (20 ms), and ticks of 10 ms that four processes' times are cut to.
awk -v its="$its" -v ours="$ours" 'BEGIN { exit !(ours <= 0.05 * its + 0.06) }' || not_ok "we took more than 5 %"
longest=$(sed -n 's/.* \([0-9.]*\) ms at most.*/\1/p' "$work/err")
[ -z "$longest" ] || awk -v ms="$longest" 'BEGIN { exit !(ms < 24) }' || not_ok "a stop of $longest ms" # 4 ms, and STUCK_MS

# No burst is never without a cause.
"$CYCLESCOPE" record -v --bursts --budget 1% -o "$work/none" -- sleep 0.3 2>"$work/err"
grep -q '^0 bursts' "$work/err" && ! grep -q '  the program spent too little time\|bursts* skipped: ' "$work/err" && not_ok "no cause: $(cat "$work/err")"
[ $bad = 0 ] && echo ok
exit $bad
