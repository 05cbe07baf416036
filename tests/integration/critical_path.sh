#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The critical path of programs whose bottleneck is known: its share is what the program was written for, what ran beside a longer
# thread isn't on it, and the rows add up to the thread's time.
set -u
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. "$(dirname "$0")/../waits_possible.sh"
for case in serial pool sleep-lock file hidden; do
    # Who waits for a CPU waits in a function as well: others leave the program theirs.
    ahead "$CYCLESCOPE" record --waits --no-bursts -o "$work/$case" -- \
        "$BUILD/tests/programs/bottleneck" $case slow "$work/scratch" >"$work/log" 2>&1 || { echo "not ok: record: $(cat "$work/log")"; exit 1; }
    "$CYCLESCOPE" waits --critical-path --json --top 0 --store "$work/$case" >"$work/$case.json" || { echo "not ok: $case"; exit 1; }
done
# A process that another waits for: what it ran has its functions.
ahead "$CYCLESCOPE" record --waits --no-bursts -o "$work/child" -- sh -c '"$@"; :' sh \
    "$BUILD/tests/programs/bottleneck" serial slow "$work/scratch" >"$work/log" 2>&1 || { echo "not ok: record: $(cat "$work/log")"; exit 1; }
"$CYCLESCOPE" waits --critical-path --json --top 0 --store "$work/child" >"$work/child.json" || { echo "not ok: child"; exit 1; }
grep -q '^Critical path: sh.s .*bottleneck' "$work/log" || { echo "not ok: no critical path in: $(cat "$work/log")"; exit 1; }
"$CYCLESCOPE" explain --store "$work/child" --json | grep -q 'sh.s .*bottleneck' || { echo "not ok: no critical path in explain"; exit 1; }
# Processes that were forked have their parent's name, and begin in the same function. What they wait for isn't the parent's.
cat >"$work/forks.c" <<'C'
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#define RESTS(name, n) __attribute__((noinline)) void name(void) { for (int i = 0; i < n; i++) nanosleep(&(struct timespec){0, 100000000}, NULL); __asm__(""); }
RESTS(workers_rest, 20)
RESTS(parents_rest, 8)
int main(void)
{
    for (int i = 0; i < 3; i++)
        if (!fork()) {
            workers_rest();
            _exit(0);
        }
    parents_rest();
    while (wait(NULL) > 0)
        ;
}
C
gcc -O1 -g -o "$work/forks" "$work/forks.c" || { echo "not ok: no compiler"; exit 1; }
ahead "$CYCLESCOPE" record --waits --no-bursts -o "$work/forked" -- "$work/forks" >"$work/log" 2>&1 || { echo "not ok: record: $(cat "$work/log")"; exit 1; }
"$CYCLESCOPE" waits --critical-path --json --top 0 --store "$work/forked" >"$work/forked.json" || { echo "not ok: forked"; exit 1; }
# A wait for a program that isn't recorded stays the waiter's.
mkfifo "$work/fifo"
python3 -c 'import time; [print(time.sleep(0.01), flush=True) for _ in range(100)]' >"$work/fifo" & # sleeps: the writer's pace
ahead "$CYCLESCOPE" record --waits --no-bursts -o "$work/outside" -- cat "$work/fifo" >"$work/log" 2>&1 || { echo "not ok: record: $(cat "$work/log")"; exit 1; }
wait
"$CYCLESCOPE" waits --critical-path --json --top 0 --store "$work/outside" >"$work/outside.json" || { echo "not ok: outside"; exit 1; }
"$CYCLESCOPE" waits --critical-path --of short --json --store "$work/pool" >"$work/short.json" || { echo "not ok: --of"; exit 1; }
python3 - "$work" <<'P' || exit 1
import json, sys
# of the path, at least and at most, in percent: by the functions' CPU time and sleeps alone
BOUNDS = {"serial": (40, 60), "pool": (63, 87), "sleep-lock": (55, 90), "file": None, "hidden": (0, 3)} # the disk decides a file's
for case, bounds in BOUNDS.items():
    d = json.load(open(f"{sys.argv[1]}/{case}.json"))
    share = sum(r["percent"] for r in d["procedures"] if r["procedure"].startswith("bottleneck"))
    whole = sum(r["seconds"] for r in d["rows"])
    assert bounds is None or bounds[0] <= share <= bounds[1], (case, share, d)
    assert abs(whole - d["seconds"]) < 0.01 * d["seconds"], (case, whole, d["seconds"])
    one = case in ("serial", "file", "hidden")  # nothing beside it
    assert all(abs(r["half_saves_percent"] - r["percent"] / 2) < 0.5 if one else 0 <= r["half_saves_percent"] <= r["percent"]
               for r in d["procedures"]), (case, d["procedures"])
    assert d["thread"] == "bottleneck" and d["n_threads"] == 1, (case, d["thread"])
    said = {r["thread"] for r in d["rows"] if r["percent"] > 5}
    assert said == {"pool": {"long"}, "sleep-lock": {"locker"}}.get(case, {"bottleneck"}), (case, said)
d = json.load(open(f"{sys.argv[1]}/sleep-lock.json"))
assert d["rows"][0]["what"] == "sleep" and d["rows"][0]["procedure"].startswith("bottleneck_asleep"), d["rows"][0]
d = json.load(open(f"{sys.argv[1]}/child.json"))
share = sum(r["percent"] for r in d["procedures"] if r["procedure"].startswith("bottleneck"))
assert d["thread"] == "sh" and BOUNDS["serial"][0] <= share <= BOUNDS["serial"][1], (share, d)
d = json.load(open(f"{sys.argv[1]}/forked.json"))
share = {r["procedure"]: r["percent"] for r in d["procedures"]}
assert 37 < share.get("parents_rest", 0) < 43 and 55 < share.get("workers_rest", 0) < 63, (share, d)
d = json.load(open(f"{sys.argv[1]}/outside.json"))
first = d["rows"][0]
assert (first["what"], first["thread"]) == ("pipe", "cat") and first["percent"] > 50, d["rows"]
assert {r["thread"] for r in d["rows"]} == {"cat"}, d["rows"]
d = json.load(open(f"{sys.argv[1]}/short.json"))
names = [r["procedure"] for r in d["procedures"] if r["percent"] > 50]
assert d["thread"] == "short" and "bottleneck" not in names and names, d
print("ok")
P
"$CYCLESCOPE" waits --critical-path --of nobody --store "$work/pool" >"$work/said" 2>&1
[ $? -eq 1 ] && grep -q "no thread is called nobody" "$work/said" || { echo "not ok: $(cat "$work/said")"; exit 1; }
"$CYCLESCOPE" waits --of long --store "$work/pool" >"$work/said" 2>&1
[ $? -eq 2 ] && grep -q "needs --critical-path" "$work/said" || { echo "not ok: $(cat "$work/said")"; exit 1; }
