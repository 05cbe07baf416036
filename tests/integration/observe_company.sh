#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Beside others.
# observe says why a program waited for its CPU: its own affinity, its children, its threads, its cgroup's quota. It
# counts children, and it says that the program became another one. Exit 77 where threads can't be followed.
set -u
. "$(dirname "$0")/../until.sh"
[ "$(nproc)" -ge 2 ] || { echo "one CPU: nothing can observe from another"; exit 77; }
work=$(mktemp -d) bad=0 group=
trap 'rm -rf "$work"; [ -z "$group" ] || rmdir "$group"' EXIT
top=$(realpath "$(dirname "$0")/../..")
cd "$work" || exit 1
observe() { "$CYCLESCOPE" observe "$@" 2>&1 | tr '\n' ' '; }
says() { # WHAT WORDS COMMAND...
    local what=$1 words=$2 said
    shift 2
    said=$("$@")
    grep -q "$words" <<<"$said" && echo "ok $what" && return
    echo "not ok $what: ${said:0:600}"
    bad=1
}
phases=$BUILD/signals/examples/phases
observe -s os:thread --wait 0 -- true | grep -q samples || { echo "threads can't be followed here"; exit 77; }
mapfile -t cpus < <(python3 -c 'import os; print(*sorted(os.sched_getaffinity(0)), sep="\n")')
on="--target-cpu ${cpus[1]} --observer-cpu ${cpus[0]}"

# shellcheck disable=SC2086
says "own affinity" "its own affinity keeps it from that CPU" observe -s os:thread $on --wait 0 -- taskset -c "${cpus[0]}" "$phases" --seconds 1
says "children" "children of the program ran for 0*[0-9.]* s and were not observed" observe -s os:thread --wait 0 -- sh -c "$phases --seconds 0.5; true"
# On a busy machine other programs really have that CPU.
read -r load _ </proc/loadavg
if [ "${load%.*}" -gt $(($(nproc) + 1)) ]; then
    echo "load $load: not judged whether children are named"
else
    says "children on its CPU" "its own children, which have that CPU too" observe -s os:thread --wait 0 -- \
        sh -c "$phases --seconds 1 & $phases --seconds 1 & $phases --seconds 1 & i=0; while [ \$i -lt 60000 ]; do i=\$((i+1)); done; wait"
fi
cat >becomes.c <<'C'
#include "signals/cyclescope.h"
#include <time.h>
#include <unistd.h>
int main(void)
{
    cs_signal tag = cs_define(CS_ANY_WORD, "part", CS_TAG);
    for (clock_t end = clock() + CLOCKS_PER_SEC / 4; clock() < end;)
        cs_set(tag, 1);
    execlp("sleep", "sleep", "1.5", (char *)0);
    return 1;
}
C
gcc -O1 -I"$top" -o becomes becomes.c "$BUILD/libcyclescope.a" -lpthread &&
    says "exec" "the program became .*sleep by an exec" observe -s part -- ./becomes

# ---- a quota, where this machine lets us make a cgroup ----
if grep -qw cpu /sys/fs/cgroup/cgroup.subtree_control 2>/dev/null && mkdir "/sys/fs/cgroup/cs-$$" 2>/dev/null; then
    group=/sys/fs/cgroup/cs-$$
    echo "10000 100000" >"$group/cpu.max"
    # shellcheck disable=SC2016,SC2086
    says "quota" "the CPU quota of its cgroup (cpu.max) stopped it" observe -s os:thread $on --wait 0 -t 2 -- \
        sh -c 'echo $$ >"$0/cgroup.procs" && exec "$1" --seconds 2' "$group" "$phases"
    is_empty() { [ -z "$(cat "$group/cgroup.procs")" ]; }
    until_true is_empty
fi
[ $bad = 0 ]
