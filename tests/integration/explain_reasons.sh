#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# explain where the program's text or its waits prove a reason: totals in memory, a loop that only another thread can end,
# processes that are waited for, a sleep before a signal, and what a library of Python does. Each has a counterpart without it.
set -u
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export CYCLESCOPE_CACHE=$work/cache
fail() { echo "not ok: $*"; exit 1; }
gcc -O2 -g -pthread -o "$work/reasons" tests/programs/reasons.c || fail "the program doesn't build"
for mode in total local flag search clock; do
    [ "$mode" = clock ] && [ "$(uname -m)" != x86_64 ] && continue
    "$CYCLESCOPE" record -o "$work/$mode" -F 1000 --burst-rate 60 -- "$work/reasons" $mode 2 >"$work/out" 2>&1 || { cat "$work/out"; fail "record $mode"; }
    "$CYCLESCOPE" explain --store "$work/$mode" --json >"$work/$mode.json" || fail "explain $mode"
done
cat >"$work/routes.py" <<'P'
import re, sys, time
def matches(n, text):
    return re.search("order-(%d|x)" % n, text)
def searches(patterns, text):
    return sum(p.search(text) is not None for p in patterns)
def main(mode):
    patterns = [re.compile("order-(%d|x)" % n) for n in range(200)]
    until, n = time.monotonic() + 2, 0
    while time.monotonic() < until:
        for n in range(700):
            matches(n, "late order-5") if mode == "compiled" else searches(patterns, "late order-5" * 20)
main(sys.argv[1])
P
for mode in compiled kept; do
    "$CYCLESCOPE" record -o "$work/$mode" -F 1000 --no-bursts -- python3 "$work/routes.py" $mode >"$work/out" 2>&1 || { cat "$work/out"; fail "record $mode"; }
    "$CYCLESCOPE" explain --store "$work/$mode" --json >"$work/$mode.json" || fail "explain $mode"
done
if (. "$(dirname "$0")/../waits_possible.sh") >/dev/null 2>&1; then
    for mode in "children 100" "asleep 200"; do
        name=${mode% *}
        "$CYCLESCOPE" record --waits --no-bursts -o "$work/$name" -- "$work/reasons" $mode >"$work/out" 2>&1 || { cat "$work/out"; fail "record $mode"; }
        "$CYCLESCOPE" explain --store "$work/$name" --json >"$work/$name.json" || fail "explain $mode"
    done
fi
python3 - "$work" <<'P' || exit 1
import json, os, sys
work = sys.argv[1]
load = lambda name: json.load(open(f"{work}/{name}.json"))
bad = 0

def check(what, ok):
    global bad
    bad += not ok
    print("ok" if ok else "not ok:", what)

def line_of(text):
    return next(i for i, l in enumerate(open("tests/programs/reasons.c"), 1) if text in l)

machine = json.load(open(f"{work}/cache/machine.json"))["machine"]
d = load("total")
if os.uname().machine != "x86_64" or machine["update_cycles"] < 4:
    print("skip: an addition in memory costs this machine no more than one in a register")
elif d["claim"]:
    check(f"a total in memory: {d['claim']}", d["cause"] == "dependency" and "through memory" in d["claim"])
    check(f"what helps: {d['advice']}", "local variable" in d["advice"])
    check(f"its line: {d['place']}", abs(d["place"]["line"] - line_of("/* total */")) <= 1)
d = load("local")
check(f"a total in a register: {d['claim']}", "through memory" not in (d["claim"] or ""))
d = load("flag")
check(f"a loop that waits for another thread: {d['claim']}", d["cause"] == "spin" and d["function"] == "wait_for_flag")
check(f"what helps: {d['advice']}", "sleep" in d["advice"])
check(f"its line: {d['place']}", abs(d["place"]["line"] - line_of("/* flag */")) <= 1)
for name in "search", "clock":
    if os.path.exists(f"{work}/{name}.json"):
        check(f"{name} isn't one: {load(name)['claim']}", load(name)["cause"] != "spin" and "find the lock" not in (load(name)["claim"] or ""))
d = load("compiled")
if "matches" in (d["function"] or ""):
    check(f"patterns that are compiled: {d['claim']}", "/re/_" in d["claim"] or "/sre_" in d["claim"])
    check(f"what helps: {d['advice']}", "compiled once" in d["advice"])
    d = load("kept")
    check(f"patterns that are kept: {d['claim']} {d['advice']}", "compiled once" not in (d["advice"] or ""))
else:
    print("skip: no frames of this interpreter")
if os.path.exists(f"{work}/asleep.json"):
    d = load("children")
    check(f"processes: {d['claim']}", d["cause"] in ("pipe", "child") and "101 processes" in d["claim"] and "fewer processes" in d["advice"])
    d = load("asleep")
    # Both threads wait as long, so chance has one first: the sleep itself, or the semaphore, for which one sleeps.
    check(f"a sleep before the signal: {d['claim']}",
          "for sleep in signal_late" in d["claim"] if d["cause"] == "sleep" else
          ": sleep in " in d["claim"] and (d["cause"] != "semaphore" or "in place of the sleep" in d["advice"]))
sys.exit(bad > 0)
P
echo "ok: reasons that are proven"
