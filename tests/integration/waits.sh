#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Waits against the programs' own log of them: reason, place and guilty thread first, time within 3 %; each thread's time whole.
set -u
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. "$(dirname "$0")/../waits_possible.sh"
waiting=$BUILD/tests/programs/waiting
mkdir "$work/disk"
cases="sleeping-lock short-sleeps convoy pipe run-queue inversion slow-disk"
for case in $cases; do
    program=("$waiting" $case 2) first=()
    # Who had the CPU is to be a thread of the program: others leave it theirs.
    [ $case = inversion ] && first=(ahead)
    [ $case = slow-disk ] && program=("${waiting}_disk" 2 "$work/disk")
    "${first[@]}" "$CYCLESCOPE" record --waits --no-bursts -o "$work/$case" -- "${program[@]}" >"$work/$case.log" 2>"$work/$case.err"
    rc=$?
    [ $case = slow-disk ] && [ $rc = 77 ] && { cat "$work/$case.log"; rm "$work/$case.log"; continue; }
    [ $rc = 0 ] || { echo "not ok: record of $case: $(cat "$work/$case.err")"; exit 1; }
    "$CYCLESCOPE" waits --json --store "$work/$case" >"$work/$case.json" || { echo "not ok: waits of $case"; exit 1; }
    "$CYCLESCOPE" prof --wall --json --top 0 --store "$work/$case" >"$work/$case.wall" || { echo "not ok: prof --wall of $case"; exit 1; }
    "$CYCLESCOPE" tree --waits --store "$work/$case" >"$work/$case.tree" || { echo "not ok: tree --waits of $case"; exit 1; }
done
"$CYCLESCOPE" record --no-bursts -o "$work/none" -- sh -c 'i=0; while [ $i -lt 300000 ]; do i=$((i + 1)); done' >/dev/null 2>&1
"$CYCLESCOPE" prof --wall --store "$work/none" >/dev/null 2>"$work/said" && { echo "not ok: prof --wall of a recording without waits"; exit 1; }
grep -q "record --waits" "$work/said" || { echo "not ok: $(cat "$work/said")"; exit 1; }
"$CYCLESCOPE" waits --store "$work/none" >/dev/null 2>"$work/said" && { echo "not ok: waits of a recording without"; exit 1; }
grep -q "record --waits" "$work/said" || { echo "not ok: $(cat "$work/said")"; exit 1; }
# Threads that end give their rows back while the recording lasts: more than there are rows, one after the other. On a busy
# machine numbers of threads come round again: the program counts its own.
"$CYCLESCOPE" record --waits --no-bursts -o "$work/many" -- python3 -c '
import threading, time
tids = {threading.get_native_id()}
for _ in range(9000):
    t = threading.Thread(target=time.sleep, args=(0,))
    t.start()
    tids.add(t.native_id)
    t.join()
print(len(tids))' >"$work/tids" 2>"$work/said" || { echo "not ok: record of many threads"; exit 1; }
! grep -q 'threads at once' "$work/said" || { echo "not ok: $(cat "$work/said")"; exit 1; }
"$CYCLESCOPE" waits --json --store "$work/many" | python3 -c '
import json, sys
n, of = len(json.load(sys.stdin)["threads"]), int(sys.argv[1])
sys.exit(0 if n >= of - 10 else f"not ok: {n} of {of} threads have waits")' "$(tail -n 1 "$work/tids")" || exit 1
# Very many switches: each is of a microsecond or two, and belongs to the thread that comes, as in the kernel's own account, by which it is corrected: only too much could show.
taskset -c "$(taskset -pc $$ | sed 's/.*: *//; s/[-,].*//')" "$CYCLESCOPE" record --waits --no-bursts -o "$work/switches" -- "$waiting" switches 2 >"$work/switches.log" 2>/dev/null ||
    { echo "not ok: record of switches"; exit 1; }
"$CYCLESCOPE" waits --json --store "$work/switches" | python3 -c '
import json, re, sys
log = open(sys.argv[1]).read()
time = {t["what"]: t["seconds"] for t in json.load(sys.stdin)["time"]}
ran, switches = float(re.search(r"^ran ([\d.]+)", log, re.M)[1]), int(re.search(r"^switches (\d+)", log, re.M)[1])
sys.exit(0 if abs(time["on-cpu"] - ran) < 0.01 * ran + 0.005 else f"not ok: ran {ran} s in {switches} rounds, on-cpu is {time}")' "$work/switches.log" || exit 1
# Another user of the same tracepoints, which the kernel then calls in another way, changes no chain.
"$CYCLESCOPE" record -a --waits --no-bursts --seconds 4 -o "$work/other" >/dev/null 2>&1 &
other=$!
sleep 1 # sleeps: nothing tells when another recording listens
"$CYCLESCOPE" record --waits --no-bursts -o "$work/two" -- sleep 1 >/dev/null 2>&1
wait $other
"$CYCLESCOPE" tree --waits --store "$work/two" >"$work/two.tree"
grep -qE '^ *[0-9.]+ +[0-9.]+ +__schedule ' "$work/two.tree" && ! grep -q '__traceiter\|bpf_trace' "$work/two.tree" ||
    { echo "not ok: chains of waits beside another user of the tracepoints"; cat "$work/two.tree"; exit 1; }
# One long wait is its own median, and of few waits the middle one is: never the middle of a bin.
"$CYCLESCOPE" record --waits --no-bursts -o "$work/sleeps" -- "$(python3 -c 'import sys; print(sys.executable)')" -c '
import time
for s in (0.21, 0.33, 0.33, 0.33, 0.9): time.sleep(s)' >/dev/null 2>&1 # sleeps: what is measured
"$CYCLESCOPE" waits --json --store "$work/sleeps" | python3 -c '
import json, sys
row = [r for r in json.load(sys.stdin)["rows"] if r["kind"] == "sleep"][0]
sys.exit(0 if row["waits"] == 5 and 330 <= row["median_ms"] < 345 else f"not ok: median {row}")' || exit 1
python3 - "$work" <<'PY'
import json, os, re, sys
work, bad = sys.argv[1], 0
def fail(*what):
    global bad
    print("not ok:", *what); bad = 1
first = {"sleeping-lock": ("mutex", "take_lock", "hold_and_sleep", "guilty: sleep in"),
         "short-sleeps": ("mutex", "take_lock", "hold_and_doze", " in hold_and_doze"), "convoy": ("mutex", "take_lock", "compute_under_lock", "waiting: "),
         "pipe": ("pipe", "consume", "produce_slowly", "guilty: "), "run-queue": ("run-queue", None, None, ": running"),
         "inversion": ("mutex", "take_lock", "low: hold_and_compute", "middle: running"),
         "slow-disk": ("file", "read_a_block", "slow-disk: answer", "slow-disk: sleep in turn_the_platter")}
if not os.path.exists(f"{work}/slow-disk.log"): # no FUSE here
    del first["slow-disk"]
joins = []
for case, (kind, where, ender, meanwhile) in first.items():
    d = json.load(open(f"{work}/{case}.json"))
    log = open(f"{work}/{case}.log").read()
    truth, row = float(re.search(r"^waited \S+ ([\d.]+)", log, re.M)[1]), d["rows"][0]
    if row["kind"] == "run-queue" != kind: # on a busy machine, and of the inversion's threads, more wait for a CPU
        row = next((r for r in d["rows"] if r["kind"] != "run-queue"), row)
    lived = float(re.search(r"^lived ([\d.]+)", log, re.M)[1])
    if row["kind"] != kind or (where and row["where"] != where):
        fail(case, "first is", row["kind"], "in", row["where"])
    if ender and ender not in (row["ended_by"] or ""):
        fail(case, "was ended by", row["ended_by"])
    if meanwhile and meanwhile not in (row["meanwhile"] or ""):
        fail(case, "meanwhile:", row["meanwhile"])
    if case == "short-sleeps" and "running" in (row["meanwhile"] or ""): # on a busy machine it waits for a CPU, too
        fail(case, "meanwhile:", row["meanwhile"])
    # The program's clock runs until it is on a CPU again, and sees what it does in between.
    mine = sum(r["seconds"] for r in d["rows"] if r["kind"] in (kind, "run-queue") and not (r["thread"] or "").startswith("guilty") and (where is None or r["where"] in (where, "", r["via"])))
    exact = {t["what"]: t["seconds"] for t in d["time"]}
    if kind == "run-queue":
        mine = exact["run-queue"]
    # A CPU that the host takes when it has just been given to the thread is waited for by the program's clock, and stolen by the kernel's.
    stolen = exact.get("stolen", 0)
    near = 0.03 * truth + 0.02
    if not truth - near - stolen <= mine <= truth + near:
        fail(case, "waited", truth, "and is said to have waited", mine, exact, [(r["kind"], r["where"], r["via"], r["thread"], r["seconds"]) for r in d["rows"][:9]])
    # Estimated and exact agree: all waits together.
    estimated, whole = sum(r["seconds"] for r in d["rows"]), sum(s for w, s in exact.items() if w not in ("on-cpu", "stolen"))
    if abs(estimated - whole) > 0.03 * whole + 0.02:
        fail(case, "waits add up to", estimated, "exactly they are", whole)
    # On and off the CPU in one table: it adds up to all threads' time, and has the same place first as the program says.
    wall = json.load(open(f"{work}/{case}.wall"))
    sums = {k: sum(r[k] or 0 for r in wall["rows"]) for k in ("on_cpu_seconds", "waiting_seconds", "idle_seconds")}
    if abs(sum(sums.values()) + wall["stolen_seconds"] - wall["seconds"]) > 0.01 * wall["seconds"]:
        fail(case, "prof --wall has", sums, "and", wall["stolen_seconds"], "s stolen of", wall["seconds"])
    if abs(sums["on_cpu_seconds"] - exact["on-cpu"]) > 0.01 * exact["on-cpu"] + 0.001:
        fail(case, "prof --wall has", sums["on_cpu_seconds"], "s on a CPU,", exact["on-cpu"], "are exact")
    # Of a pipe one side computes as long as the other waits: either may be first. The disk sleeps all but a few hundredths of the time
    # that its reader waits. On a busy machine all wait for a CPU.
    rows = [r for r in wall["rows"] if r["mostly"] != "run-queue" or r["procedure"] == where]
    rank = next((i for i, r in enumerate(rows) if r["procedure"] == where and r["mostly"] in (kind, "run-queue")), None)
    if case == "slow-disk" and rank == 1 and rows[0]["procedure"] == "turn_the_platter":
        rank = 0 if rows[0]["waiting_seconds"] < 1.03 * rows[1]["waiting_seconds"] + 0.02 else 1
    if where and (rank is None or rank > (2 if case in ("pipe", "inversion") else 0)):
        fail(case, "prof --wall has", where, "for", kind, "at", rank, [(r["procedure"], r["mostly"]) for r in wall["rows"][:3]])
    joins.append(next((t["times"] for t in d["time"] if t["what"] == "join"), 0))
    main = [t for t in d["threads"] if t["pid"] == t["tid"]]
    for t in d["threads"]:
        if abs(sum(t["time"].values()) - t["seconds"]) > 1e-6:
            fail(case, "parts of a thread don't add up", t)
        if not 2 - 0.15 < t["seconds"] < lived + 0.15: # they work for 2 s, and on a busy machine end later
            fail(case, f"a thread that ran for {lived} s is said to have lived for", t["seconds"])
    if not re.search(r"^ *\d+\.\d.* (take_lock|consume|now_ns|compute_ms|read_a_block)", open(f"{work}/{case}.tree").read(), re.M):
        fail(case, "tree --waits shows none of its functions")
    if not re.search(r"^ *\d+\.\d +\d+\.\d +__schedule ", open(f"{work}/{case}.tree").read(), re.M):
        fail(case, "no wait's chain ends in the scheduler, but in what took it")
# Six threads are joined at most. How often is divided by how often, as estimated, not by how long: a wait of 0.2 ms that was kept with a
# probability of 0.05 counts twenty times. In four of seven programs: 0.0001.
if sorted(joins)[len(joins) // 2] > 12:
    fail("programs wait for threads to end", joins)
print("ok" if not bad else "")
sys.exit(bad)
PY
