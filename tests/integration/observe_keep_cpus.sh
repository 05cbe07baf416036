#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# observe --keep-cpus: threads stay on their CPUs, and each one's rates are those of the program's own log. Exit 77 where threads
# can't be followed. On two CPUs the observer alternates: the thread on its CPU waits meanwhile.
set -u
. "$(dirname "$0")/../until.sh"
[ "$(nproc)" -ge 2 ] || { echo "one CPU: nothing can observe from another"; exit 77; }
work=$(mktemp -d) bad=0
trap 'kill $target 2>/dev/null; rm -rf "$work"' EXIT
target=
check() { # NAME COMMAND...
    local name=$1
    shift
    if "$@"; then echo "ok $name"; else echo "not ok $name"; bad=1; fi
}
refuses() { # WORDS ARGUMENT...
    local words=$1 out
    shift
    out=$(timeout 60 "$CYCLESCOPE" observe --keep-cpus "$@" 2>&1 >/dev/null) && return 1
    grep -q -- "$words" <<<"$out" && [ "$(wc -l <<<"$out")" -eq 1 ] || { echo "$out"; false; }
}
check "a CPU for the program is refused" refuses "give one of them" --target-cpu 0 -- true
check "so is not to know who runs" refuses "leave out --no-follow" --no-follow -- true
check "events are of one thread" refuses "add --thread TID" -e task-clock -- true
"$CYCLESCOPE" observe -s os:thread --wait 0 -- true 2>/dev/null | grep -q followed || { [ $bad = 0 ] && echo "threads can't be followed here" && exit 77; exit 1; }

read -r one two < <(python3 -c 'import os; print(*sorted(os.sched_getaffinity(0))[:2])')
concurrent=$BUILD/tests/programs/concurrent
# What was seen against the program's log. 2: it had too little of its CPUs.
cat >"$work/judge.py" <<'P'
import json, sys
seen, truth = json.load(open(sys.argv[1])), [line.split() for line in open(sys.argv[2])]
phases = {row[1]: [int(x) for x in row[2:]] for row in truth if row[0] == "phase"}
threads = [row for row in truth if row[0] == "thread"]
rows, by_thread = ({r["name"]: r for r in seen[table]} for table in ("tags", "tags2"))
assert len(threads) == 3 and all(row[2] == "kept" for row in threads), threads
if min(rows.get(tag, {"kept": 0})["kept"] for tag in phases) < 300:
    sys.exit(2)
assert {w["cpu"] for w in seen["cpus"]["watched"]} >= {int(x) for x in sys.argv[3:]}, seen["cpus"] # the first thread may wake elsewhere
for tag, (work, cpu_ns, visits) in phases.items():
    rate = rows[tag]["per_1000_cycles"]["work"] / 1000 * seen["cycles_per_second"]
    print(tag, "seen", round(rate), "true", round(work / cpu_ns * 1e9))
    assert abs(rate * cpu_ns / (work * 1e9) - 1) < 0.15, tag
# A thread has a row by its name, and its share is that of its CPU time.
ran = {row[1]: sum(phases[str(10 * (i + 1) + p)][1] for p in (0, 1)) for i, row in enumerate(threads)}
cycles = {tid: by_thread["concurrent " + tid]["cycles"] for tid in ran}
for tid in ran:
    true, share = ran[tid] / sum(ran.values()), cycles[tid] / sum(cycles.values())
    print(tid, "share", round(share, 3), "true", round(true, 3))
    assert abs(share - true) < 0.15, (ran, cycles)
P
for _ in 1 2 3; do
    timeout 60 "$CYCLESCOPE" observe --keep-cpus --period 20000 --json --top 0 -- "$concurrent" 4 "$work/truth" "$one" "$two" "$two" >"$work/seen" || bad=1
    python3 "$work/judge.py" "$work/seen" "$work/truth" "$one" "$two" >"$work/out" 2>&1; rc=$?
    [ $rc = 2 ] || break
done
cat "$work/out"
[ $rc = 2 ] || check "rates by tag and shares by thread, on two CPUs" test $rc = 0

# A running process; a log; one thread with an event of its own.
"$concurrent" 20 "$work/truth" "$one" "$two" "$two" & target=$!
until_true has_run $target
timeout 60 "$CYCLESCOPE" observe --keep-cpus -p $target -t 1 --period 20000 --log "$work/log" >/dev/null || bad=1
check "a log has the threads by name" test "$("$CYCLESCOPE" tags --log "$work/log" --tag os:thread | grep -cE '^concurrent [0-9]+ ')" -ge 1
timeout 60 "$CYCLESCOPE" observe --keep-cpus -p $target -t 1 --period 20000 -o "$work/store" >/dev/null || bad=1
timeout 60 "$CYCLESCOPE" report --html "$work/page" --store "$work/store" >/dev/null || bad=1
check "so has the page" grep -qE '"concurrent [0-9]+"' "$work/page"
thread=$(find /proc/$target/task -mindepth 1 -maxdepth 1 -printf '%f\n' | sort -n | sed -n 2p)
timeout 60 "$CYCLESCOPE" observe --keep-cpus -p $target --thread "$thread" -e task-clock -t 2 --period 500k --json --top 0 >"$work/seen" || bad=1
kill $target; wait $target 2>/dev/null
check "no thread was moved" test "$(grep -c 'thread .* kept' "$work/truth")" = 3
python3 - "$work/seen" "$one" <<'P'
import json, sys
seen = json.load(open(sys.argv[1]))
assert [w["cpu"] for w in seen["cpus"]["watched"]] == [int(sys.argv[2])], seen["cpus"]
kept = [r for r in seen["tags"] if r["kept"] >= 30]
assert {r["name"] for r in seen["tags"]} <= {"0", "10", "11", "(target not running)"}, seen["tags"]
if not kept:
    sys.exit(2)
for row in kept:
    clock = row["per_1000_cycles"]["task-clock"] * seen["cycles_per_second"] / 1e12
    assert abs(clock - 1) < 0.05, (row["name"], clock)  # a second of CPU time in a second that it runs
P
one_thread=$?
[ $one_thread = 2 ] || check "one thread, on its own CPU, with its CPU time" test $one_thread = 0
[ $bad = 0 ] && [ $rc = 2 ] && echo "the program had too little of its CPUs for rates" && exit 77
exit $bad
