#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Waits of a Python program are its functions', not the interpreter's, and the critical path's times are those of the program's own
# clock. A pool's workers without work are idle, of threads as of processes; who waits for their result waits.
set -eu
python=$(python3 -c 'import sys; print(sys.executable)')
[ "$(uname -m)" = x86_64 ] && "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "needs CPython 3.11 on x86-64"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. "$(dirname "$0")/../waits_possible.sh"
cat >"$work/run.py" <<'END'
import json, multiprocessing, sys, threading, time
from concurrent.futures import ThreadPoolExecutor
spent = {}
def spin(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end: sum(range(500))
def prepare(): spin(1.0)
def crunch(): spin(0.8)
def reader(): time.sleep(0.7) # sleeps: what is measured
def ask(pool): return pool.submit(crunch).result()
def end_of(thread): thread.join()
def far(n): spin(0.8)
def timed(function, *arguments):
    begin = time.monotonic()
    function(*arguments)
    spent[function.__name__] = time.monotonic() - begin
def threads():
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(time.sleep, [0.1] * 3))
        timed(prepare)
        timed(ask, pool)
        thread = threading.Thread(target=reader)
        thread.start()
        timed(end_of, thread)
def processes():
    with multiprocessing.get_context("fork").Pool(3) as pool:
        pool.map(time.sleep, [0.2] * 3, 1)
        timed(pool.map, far, [1])
        timed(prepare)
if __name__ == "__main__":
    spin(0.5) # until the recorder has found the interpreter
    begin = time.monotonic()
    {"threads": threads, "processes": processes}[sys.argv[1]]()
    json.dump(spent, open(sys.argv[2], "w"))
    spin(0.5) # functions' names are read while the process lives
END
cat >"$work/check.py" <<'P'
import json, sys
def read(name): return json.load(open(f"{sys.argv[1]}/{name}"))
def of(rows, key, name): return [r for r in rows if (r[key] or "").split(" (")[0] == name]
for case in ("threads", "processes"):
    truth, path, rows = read(case + ".truth"), read(case + ".path"), read(case + ".waits")["rows"]
    told = {r["procedure"].split(" (")[0]: r["seconds"] for r in path["procedures"]}
    # the function, and of the clock the time that it was waited for
    for function, timed in {"threads": (("prepare", "prepare"), ("crunch", "ask")), "processes": (("prepare", "prepare"), ("far", "map"))}[case]:
        assert abs(told.get(function, 0) - truth[timed]) < 0.25 * truth[timed], (case, function, told.get(function), truth, list(told.items())[:30])
    assert abs(sum(r["seconds"] for r in path["rows"]) - path["seconds"]) < 0.01 * path["seconds"], case
    interpreter = [r for r in path["procedures"] if r["percent"] > 5 and "python" in (r["image"] or "").rpartition("/")[2]]
    assert not interpreter, (case, interpreter)
    worker = [r for r in of(rows, "where", "_worker" if case == "threads" else "worker") if r["kind"] in ("lock", "semaphore", "pipe")]
    killed = [r for r in rows if case == "processes" and r["where"] == "[unknown]" and r["reading"] == "idle"]
    assert worker and sum(r["seconds"] for r in worker + killed) > 2 * truth["prepare"], (case, worker, rows[:9])
    assert all(r["reading"] == "idle" for r in worker), (case, worker)
    order = [r["reading"] == "idle" for r in rows]
    assert order == sorted(order), (case, [(r["where"], r["reading"]) for r in rows])
rows, truth = read("threads.waits")["rows"], read("threads.truth")
nameless = [r for r in rows if r["kind"] == "semaphore" and r["seconds"] > 0.5 and r["image"] != "[CPython]"]
assert not nameless, nameless
# Python's locks are semaphores of the C library, where that has the function's name.
for where, kinds, name in (("ask", ("lock", "semaphore"), "ask"), ("end_of", ("join",), "end_of"), ("reader", ("sleep",), "end_of")):
    r = [r for r in of(rows, "where", where) if r["kind"] in kinds]
    assert len(r) == 1 and r[0]["reading"] == "wait" and abs(r[0]["seconds"] - truth[name]) < 0.2 * truth[name], (where, r, truth)
print("ok")
P
once() {
    # As on a machine's first day: no image's unwind table was made before. Its modules' are made before a wait in one of them ends.
    export CYCLESCOPE_CACHE=$work/cache
    rm -rf "$work/cache"
    for case in threads processes; do
        rm -rf "${work:?}/$case"
        ahead "$CYCLESCOPE" record --waits --no-bursts -o "$work/$case" -- "$python" "$work/run.py" $case "$work/$case.truth" >"$work/log" 2>&1 ||
            { echo "not ok: record: $(cat "$work/log")"; exit 1; }
        "$CYCLESCOPE" waits --json --top 0 --store "$work/$case" >"$work/$case.waits"
        "$CYCLESCOPE" waits --critical-path --json --top 0 --store "$work/$case" >"$work/$case.path"
    done
    python3 "$work/check.py" "$work"
}
# A recorder that has no CPU for 0.3 s may miss a worker's functions: 2 of 20 runs in which it was stopped for so long.
once || { echo "once more:"; once; } || exit 1
