#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Threads of an observed process may run where they could before, however the observer ends: threads that had one CPU of
# their own and threads that had all.
set -u
[ "$(nproc)" -ge 2 ] || { echo "one CPU: nothing can observe from another"; exit 77; }
work=$(mktemp -d)
trap 'kill $(jobs -pr) 2>/dev/null; rm -rf "$work"' EXIT
bad=0
for end in INT HUP TERM KILL guardian none; do
    "$BUILD/tests/hostile/affinity" 3 >"$work/out" &
    target=$!
    sleep 0.5
    if [ $end = none ]; then
        "$CYCLESCOPE" observe -s os:thread -t 1 -p $target >"$work/err" 2>&1
    else
        "$CYCLESCOPE" observe -s os:thread -t 10 -p $target >"$work/err" 2>&1 &
        observer=$!
        sleep 1
        masks=$(grep -h Cpus_allowed_list "/proc/$target/task/"*/status | sort -u | wc -l)
        [ "$masks" = 1 ] || { echo "not ok: the threads were not moved: $(cat "$work/err")"; bad=1; }
        if [ $end = guardian ]; then # killed alone, as for want of memory
            inner=$(pgrep -P $observer -x cyclescope) # where the scheduler groups by session, the observer has a process of its own
            pkill -KILL -P "${inner:-$observer}" -x cyclescope-aff || { echo "not ok: there is no guardian"; bad=1; }
            kill -s INT $observer
        else
            kill -s $end $observer
        fi
        wait $observer 2>/dev/null
    fi
    grep -q 'all [0-9]* threads of .* run on CPU [0-9]* alone until the observer ends' "$work/err" ||
        { echo "not ok: it doesn't say that it moves threads: $(cat "$work/err")"; bad=1; }
    wait $target || { echo "not ok: ended by $end: $(cat "$work/out")"; bad=1; }
done
sleep 0.2
if pgrep -x cyclescope-aff >/dev/null; then
    echo "not ok: a guardian is left"
    bad=1
fi
# The scheduler's weight of a session is shared by all that runs in it: the observer leaves the program's.
if [ "$(cat /proc/sys/kernel/sched_autogroup_enabled 2>/dev/null)" = 1 ] && [ "$(ps -o cgroup= -p $$ | grep -cE 'cpu[^s:]*:/[^,]')" = 0 ]; then
    "$CYCLESCOPE" observe --wait 0 -- sh -c 'ps -o sid= -p $$; ps -eo sid=,args= | grep "[o]bserve --wait 0 -- sh"' >"$work/out" 2>&1
    program=$(head -n 1 "$work/out" | tr -d ' ')
    [ "$program" = "$(ps -o sid= -p $$ | tr -d ' ')" ] || { echo "not ok: the program left its session: $(cat "$work/out")"; bad=1; }
    awk -v s="$program" '/observe --wait/ && $1 != s { found = 1 } END { exit !found }' "$work/out" ||
        { echo "not ok: no observer in a session of its own: $(cat "$work/out")"; bad=1; }
    "$CYCLESCOPE" observe --wait 0 -t 20 -- sleep 30 >"$work/out" 2>&1 &
    observer=$!
    sleep 1
    kill -INT $observer
    wait $observer
    grep -q 'samples in' "$work/out" || { echo "not ok: an interrupt isn't handed on: $(cat "$work/out")"; bad=1; }
    pkill -P $$ sleep 2>/dev/null
fi
[ $bad -eq 0 ] && echo "ok: affinities are as before after INT, HUP, TERM, KILL, a guardian's death and the ordinary end"
exit $bad
