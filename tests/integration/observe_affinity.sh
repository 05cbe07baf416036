#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Threads of an observed process may run where they could before, however the observer ends: threads that had one CPU of
# their own and threads that had all.
set -u
. "$(dirname "$0")/../until.sh"
[ "$(nproc)" -ge 2 ] || { echo "one CPU: nothing can observe from another"; exit 77; }
work=$(mktemp -d)
trap 'kill $(jobs -pr) 2>/dev/null; rm -rf "$work"' EXIT
bad=0
moved() { [ "$(grep -h Cpus_allowed_list "/proc/$1/task/"*/status | sort -u | wc -l)" = 1 ]; }
masks() { # PID: each thread and where it may run, as the kernel has it
    local task
    for task in "/proc/$1/task/"*; do echo "${task##*/} $(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' "$task/status")"; done
}
placed() { [ "$(masks $target | grep -v "^$target " | cut -d' ' -f2 | sort | xargs)" = "0 0-1 0-1 1" ]; } # as they place themselves
as_before() { [ "$(masks $target)" = "$before" ]; }
is_told() { grep -q 'all [0-9]* threads of .* run only on CPU [0-9]* until the observer ends' "$work/err"; }
for end in INT HUP TERM KILL guardian unread none; do
    "$BUILD/tests/hostile/affinity" 250 >"$work/out" &
    target=$!
    until_true placed && until_true has_run $target 5
    before=$(masks $target)
    : >"$work/err"
    to=$work/seen
    if [ $end = unread ]; then # a report that nobody reads: a pipe that is full
        rm -f "$work/pipe"
        mkfifo "$work/pipe"
        exec 7<>"$work/pipe"
        dd if=/dev/zero bs=4096 count=1000 oflag=nonblock >&7 2>/dev/null
        to=$work/pipe
    fi
    if [ $end = none ]; then
        "$CYCLESCOPE" observe -s os:thread -t 1 -p $target >"$work/err" 2>&1
    else
        "$CYCLESCOPE" observe -s os:thread -t 250 -p $target >"$to" 2>"$work/err" &
        observer=$!
        until_true is_told
        moved $target || { echo "not ok: the threads were not moved: $(cat "$work/err")"; bad=1; }
        sleep 0.5 # sleeps: it is observed for a while
        case $end in
        guardian) # killed alone, as for want of memory
            inner=$(pgrep -P $observer -x cyclescope) # where the scheduler groups by session, the observer has a process of its own
            pkill -KILL -P "${inner:-$observer}" -x cyclescope-aff || { echo "not ok: there is no guardian"; bad=1; }
            kill -s INT $observer
            ;;
        unread)
            kill -s INT $observer
            back() { ! moved $target; }
            until_true back || { echo "not ok: threads stay moved while a report is written"; bad=1; }
            kill -0 $observer 2>/dev/null || { echo "not ok: the report was written to nobody"; bad=1; }
            kill -s KILL $(pgrep -P $observer -x cyclescope) $observer
            exec 7<&-
            ;;
        *) kill -s $end $observer ;;
        esac
        wait $observer 2>/dev/null
    fi
    until_true as_before || { echo "not ok: ended by $end: where its threads may run: $(masks $target | xargs), before: $(xargs <<<"$before")"; bad=1; }
    is_told || { echo "not ok: it doesn't say that it moves threads: $(cat "$work/err")"; bad=1; }
    kill -s TERM $target
    wait $target || { echo "not ok: ended by $end: $(cat "$work/out")"; bad=1; }
done
# One that still waits for signals ends, too, instead of after its ten minutes.
"$BUILD/tests/hostile/affinity" 250 >"$work/out" &
target=$!
until_true placed
before=$(masks $target)
: >"$work/err"
timeout -s KILL 200 "$CYCLESCOPE" observe -s app:none --wait 600 -p $target >"$work/err" 2>&1 &
observer=$!
until_true is_told || { echo "not ok: not attached: $(cat "$work/err")"; bad=1; }
pkill -INT -P $observer -x cyclescope
wait $observer
grep -q 'published no signals before the observer was asked to end' "$work/err" ||
    { echo "not ok: an interrupt while it waits for signals is lost: $(cat "$work/err")"; bad=1; }
until_true as_before || { echo "not ok: ended while it starts: where its threads may run: $(masks $target | xargs), before: $(xargs <<<"$before")"; bad=1; }
kill -s TERM $target
wait $target || { echo "not ok: ended while it starts: $(cat "$work/out")"; bad=1; }
none_left() { ! pgrep -x cyclescope-aff >/dev/null; }
if ! until_true none_left; then
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
    "$CYCLESCOPE" observe --wait 0 -t 200 -- sleep 250 >"$work/out" 2>&1 &
    observer=$!
    observes() { # it computes all along, in a process of its own where sessions are grouped
        local one
        for one in $observer $(pgrep -P $observer -x cyclescope); do has_run "$one" 50 && return; done
        return 1
    }
    until_true observes || { echo "not ok: not begun: $(cat "$work/out")"; bad=1; }
    kill -INT $observer
    wait $observer
    grep -qE 'samples? in' "$work/out" || { echo "not ok: an interrupt isn't handed on: $(cat "$work/out")"; bad=1; }
    kill "$(sed -n 's/.*(process \([0-9]*\)) on CPU.*/\1/p' "$work/out")" 2>/dev/null # the program runs on
fi
[ $bad -eq 0 ] && echo "ok: affinities are as before after INT, HUP, TERM, KILL, a guardian's death and the ordinary end"
exit $bad
