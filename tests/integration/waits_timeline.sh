#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Threads over time against a program's own log of its phases: what it did when, in each part of the time; and against the exact
# totals of all threads. The page has the same.
set -u
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. "$(dirname "$0")/../waits_possible.sh"
fail() { echo "not ok: $*"; exit 1; }
waiting=$BUILD/tests/programs/waiting
for case in phases convoy short-sleeps; do
    "$CYCLESCOPE" record --waits --no-bursts -o "$work/$case" -- "$waiting" $case 3.5 >"$work/$case.log" 2>"$work/$case.err" || fail "record: $(cat "$work/$case.err")"
    "$CYCLESCOPE" timeline --json --buckets 350 --store "$work/$case" >"$work/$case.json" || fail "timeline of $case"
    "$CYCLESCOPE" waits --by thread --json --store "$work/$case" >"$work/$case.waits" || fail "waits of $case"
done
COLUMNS=120 "$CYCLESCOPE" timeline --store "$work/phases" >"$work/text" || fail "timeline"
"$CYCLESCOPE" timeline --json --buckets 35 --time 1..1.5 --store "$work/phases" >"$work/part" || fail "timeline --time"
"$CYCLESCOPE" timeline --threads 1 --store "$work/phases" >"$work/one" || fail "timeline --threads"
[ "$(grep -c '^\(phases\|waiting\) ' "$work/one")" = 1 ] && grep -q '^3 threads over' "$work/one" && grep -q '^2 less busy threads are left out' "$work/one" || fail "--threads 1: $(cat "$work/one")"
"$CYCLESCOPE" timeline --csv --buckets 20 --store "$work/phases" >"$work/csv" || fail "timeline --csv"
"$CYCLESCOPE" report --html "$work/page.html" "$work/phases" >/dev/null || fail "report"
"$CYCLESCOPE" record --no-bursts -o "$work/none" -- sh -c 'i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done' >/dev/null 2>&1
"$CYCLESCOPE" timeline --store "$work/none" >/dev/null 2>"$work/said" && fail "a time line of a recording without waits"
grep -q "record --waits" "$work/said" || fail "$(cat "$work/said")"
"$CYCLESCOPE" report --html "$work/none.html" "$work/none" >/dev/null || fail "report without waits"
"$CYCLESCOPE" timeline --store "$work/phases" --log x >/dev/null 2>"$work/said" && fail "both a store and a log"
"$CYCLESCOPE" timeline --tag x --store "$work/phases" >/dev/null 2>"$work/said" && fail "a tag of threads"
python3 - "$work" <<'PY'
import json, re, sys
work, bad = sys.argv[1], 0
def fail(*what):
    global bad
    print("not ok:", *what); bad = 1
def shares(line, d, begin, end):
    """Percent by state, over the parts that lie wholly in [begin, end]."""
    width, sums, n = d["bucket_ms"] / 1e3, {}, 0
    for b, part in enumerate(line["buckets"]):
        if d["from_seconds"] + b * width >= begin and d["from_seconds"] + (b + 1) * width <= end:
            n += 1
            for state, percent in part.items():
                sums[state] = sums.get(state, 0) + percent
    return {s: p / n for s, p in sums.items()} if n else {}
def near(a, b, share, more):
    return abs(a - b) <= share * max(abs(a), abs(b)) + more
d = json.load(open(f"{work}/phases.json"))
phases = [(w, float(b), float(e), float(c)) for w, b, e, c in re.findall(r"^phase (\S+) (\S+) (\S+) (\S+)", open(f"{work}/phases.log").read(), re.M)]
assert len(phases) == 7
line = next(t for t in d["threads"] if t["thread"] == "phases")
at = line["from_seconds"]
# What the host took of a CPU is on a CPU by our clock, and not by the thread's.
stolen = next(t["time"].get("stolen", 0) for t in json.load(open(f"{work}/phases.waits"))["threads"] if t["thread"] == "phases")
for what, begin, end, cpu in phases:
    seen = shares(line, d, at + begin + 0.02, at + end - 0.02) # its start and ours differ by some ms
    for more in ([(json.load(open(f"{work}/part")))] if begin + at > 1 and end + at < 1.5 else []):
        other = shares(next(t for t in more["threads"] if t["thread"] == "phases"), more, at + begin + 0.02, at + end - 0.02)
        if any(not near(seen.get(s, 0), other.get(s, 0), 0.02, 2) for s in {*seen, *other}):
            fail("zoomed in it is", other, "else", seen)
    if what == "running": # on a busy machine it waits for a CPU meanwhile
        least, most = (100 * s / (end - begin) for s in (cpu, cpu + stolen))
        ok = 0.95 * least - 3 < seen.get("running", 0) < 1.05 * most + 3 and seen.get("running", 0) + seen.get("run-queue", 0) + seen.get("waiting", 0) > 97
    elif what == "short": # too short to be kept each: sleeping or not told
        ok = seen.get("waiting", 0) + seen.get("sleep", 0) + seen.get("run-queue", 0) + seen.get("running", 0) > 97 and near(seen.get("running", 0), 100 * cpu / (end - begin), 0.2, 5)
    else:
        ok = seen.get(what, 0) + seen.get("run-queue", 0) > 95 and seen.get(what, 0) > 70
    if not ok:
        fail(f"{what} from {begin} to {end} s, {cpu} s on a CPU: the time line has", seen)
# Sums by the log: each wait of at least 4 ms is there singly.
for what in ("pipe", "mutex"):
    truth = sum(e - b for w, b, e, _ in phases if w == what)
    queued = line["time"].get("run-queue", 0)
    if not truth * 0.97 - 0.02 - queued < line["time"].get(what, 0) < truth * 1.03 + 0.02:
        fail(what, "took", truth, "s, the time line has", line["time"])
# By the exact totals: of each thread how long it was there and how long it ran (stolen time is on a CPU by the clock).
for case in ("phases", "convoy", "short-sleeps"):
    lines, waits = json.load(open(f"{work}/{case}.json")), json.load(open(f"{work}/{case}.waits"))
    exact = {t["tid"]: t for t in waits["threads"]}
    if {t["tid"] for t in lines["threads"]} != set(exact):
        fail(case, "has threads", exact.keys(), "and lines of", [t["tid"] for t in lines["threads"]])
    for t in lines["threads"]:
        of = exact.get(t["tid"])
        if not of:
            continue
        on = of["time"].get("on-cpu", 0) + of["time"].get("stolen", 0)
        if not near(t["to_seconds"] - t["from_seconds"], of["seconds"], 0.002, 0.002) or not near(t["time"].get("running", 0), on, 0.002, 0.002):
            fail(case, "exact", of["seconds"], on, "its line", t["to_seconds"] - t["from_seconds"], t["time"])
        if not near(sum(t["time"].values()), t["to_seconds"] - t["from_seconds"], 1e-6, 1e-6):
            fail(case, "a line doesn't add up", t["time"])
        in_parts = sum(sum(b.values()) for b in t["buckets"]) / 100 * lines["bucket_ms"] / 1e3
        if not near(in_parts, sum(t["time"].values()), 1e-4, 1e-4) or any(sum(b.values()) > 100.01 for b in t["buckets"]):
            fail(case, "parts of a line don't add up", in_parts, t["time"])
# The guilty thread of many short sleeps isn't said to sleep when nobody knows it: but nearly all of it is waiting.
guilty = next(t for t in json.load(open(f"{work}/short-sleeps.json"))["threads"] if t["thread"] == "guilty")
if guilty["time"].get("waiting", 0) < guilty["time"].get("mutex", 0):
    fail("short sleeps", guilty["time"])
# The text: one row has the letters in order.
text = open(f"{work}/text").read()
row = next((l for l in text.splitlines() if l.startswith("phases")), "")
letters = re.sub(r"[R~#]+", "", row.split()[-1] if row else "") # on a busy machine it waits for a CPU
if not re.fullmatch(r"z+p+z*m+z+", letters):
    fail("the text has", row)
for word in ("# running", "z sleep", "p pipe", "m mutex"):
    if word not in text:
        fail("no legend of", word)
if not any(l.startswith("phases,") for l in open(f"{work}/csv")):
    fail("csv", open(f"{work}/csv").read()[:300])
# The page: the same states and seconds.
def page(name):
    return json.loads(re.search(r'<script type="application/json" id="profile">(.*?)</script>', open(f"{work}/{name}").read(), re.S)[1])
if page("none.html").get("thread_lines") is not None:
    fail("a page without waits has threads over time")
p = page("page.html")["thread_lines"]
mine = next(l for l in p["lines"] if l[0] == "phases")
if {s: v for s, v in zip(p["states"], mine[4]) if v > 0}.keys() != line["time"].keys() or any(not near(v, line["time"].get(s, 0), 1e-6, 1e-6) for s, v in zip(p["states"], mine[4])):
    fail("the page has", dict(zip(p["states"], mine[4])), "timeline has", line["time"])
cells, part = mine[5], p["seconds"] / p["buckets"]
for s, state in enumerate(p["states"]):
    drawn = sum(cells[i + 1] * cells[i + 3] / 100 * part for i in range(0, len(cells), 4) if cells[i + 2] == s)
    if not near(drawn, mine[4][s], 0.01, 0.01):
        fail("the page draws", drawn, "s of", state, "of", mine[4][s])
print("ok" if not bad else "")
sys.exit(bad)
PY
