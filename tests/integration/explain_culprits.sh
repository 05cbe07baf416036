#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# explain against problems that look like another one: lines that share a set of the cache, a lock that is tried over and over, code
# inlined from a header, a thread that is joined, and functions of an interpreter.
set -u
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export XDG_CACHE_HOME=$work/cache
fail() { echo "not ok: $*"; exit 1; }
gcc -O2 -g -pthread -o "$work/crowded" tests/programs/crowded.c || fail "crowded doesn't build"
g++ -O2 -g -pthread -o "$work/distinct" tests/programs/distinct.cpp || fail "distinct doesn't build"
cat >"$work/members.py" <<'P'
import sys, time
def known(customers, orders):
    total = 0
    for o in orders:
        if o in customers:
            total += o
    return total
def main():
    customers, total = [(i * 7919) % 100003 for i in range(3000)], 0
    until = time.monotonic() + float(sys.argv[1])
    while time.monotonic() < until:
        total += known(customers, range(300))
    print(total)
main()
P
# Moments of bursts are random: without a claim the recording is repeated.
explained() { # NAME COMMAND...
    local name=$1
    shift
    for _ in 1 2 3; do
        rm -rf "$work/$name"
        "$CYCLESCOPE" record -o "$work/$name" -F 1000 --burst-rate 60 -- "$@" >"$work/out" 2>&1 || { cat "$work/out"; fail "record $name"; }
        "$CYCLESCOPE" explain --store "$work/$name" --json >"$work/$name.json" || fail "explain $name"
        sed -n 's/,//g; s/.*[ (]\([0-9][0-9]*\) bursts.*/\1/p' "$work/out" | head -n 1 >"$work/$name.bursts"
        python3 -c 'import json, sys; sys.exit(json.load(open(sys.argv[1]))["claim"] is None)' "$work/$name.json" && return
    done
}
explained sets "$work/crowded" sets 3
"$CYCLESCOPE" record -o "$work/once" -F 1000 --burst-rate 60 -- "$work/crowded" once 3 >"$work/out" 2>&1 &&
    "$CYCLESCOPE" calc --store "$work/once" --json touch >"$work/once.json" || { cat "$work/out"; fail "once"; }
explained spin "$work/crowded" spin 3
explained copies "$work/crowded" copies 1.5
explained header "$work/distinct" 3
explained python python3 "$work/members.py" 2
"$CYCLESCOPE" record --waits -o "$work/joined" -F 1000 --burst-rate 60 -- "$work/distinct" 2 >"$work/out" 2>&1 &&
    "$CYCLESCOPE" explain --store "$work/joined" --json >"$work/joined.json"
python3 - "$work" <<'P' || exit
import json, os, sys
work = sys.argv[1]
load = lambda name: json.load(open(f"{work}/{name}.json"))
bad, few = 0, []
ENOUGH = 100 # of 180 that three seconds have where nobody else wants a CPU

def check(what, ok):
    global bad
    bad += not ok
    print("ok" if ok else "not ok:", what)

def claimed(name, d, *parts):
    """Too few bursts make no claim, or one without its detail; a claim of something else is wrong."""
    if d["claim"] is not None and all(part in d["claim"] for part in parts):
        return True
    bursts = int(open(f"{work}/{name}.bursts").read() or 0)
    if bursts >= ENOUGH:
        check(f"{name} has a claim by {bursts} bursts: {d['claim'] or d['missing']}", False)
        return False
    few.append(f"{name}: {d['claim'] or d['missing']}")
    return False

def line_of(file, text):
    return next(i for i, l in enumerate(open(file), 1) if text in l)

d = load("sets")
if claimed("sets", d):
    check(f"its cause: {d['claim']}", d["cause"] == "d-cache" and d["function"] == "round_the_ring")
    if claimed("sets", d, "64 sets"):
        check(f"what helps: {d['advice']}", "multiple of 4 KB" in d["advice"])
sentence = load("once")["sentence"]
check(f"lines of one set that don't come back: {sentence}", "64 sets" not in sentence)
d = load("spin")
if "Lock or fence" in (d["missing"] or ""): # whose line the threads take from each other: both are so
    print(f"ok: a lock that spins: {d['missing']}")
elif claimed("spin", d):
    check(f"a lock that spins: {d['claim']}", d["cause"] in ("lock", "true-sharing")) # its line is what the threads take
    if claimed("spin", d, "most tries"):
        check(f"what helps: {d['advice']}", "sleep" in d["advice"])
    check(f"its line: {d['place']}", abs(d["place"]["line"] - line_of("tests/programs/crowded.c", "/* spin */")) <= 1)
d = load("copies")
if claimed("copies", d) and d["function"] == "copies": # where the compiler makes a call of memcpy of it, that is the claim
    check(f"copies: {d['claim']}", d["cause"] in ("copy", "call") and ("copy" in d["claim"] or "memcpy" in d["claim"]))
    check(f"its line: {d['place']}", abs(d["place"]["line"] - line_of("tests/programs/crowded.c", "/* by value */")) <= 1)
d, line = load("header"), line_of("tests/programs/distinct.cpp", "// inlined")
if d["place"] or claimed("header", d):
    check(f"the own line of a header's code: {d['claim']} {d['missing']} {d['place']}",
          d["place"]["file"].endswith("distinct.cpp") and d["place"]["line"] == line)
check(f"the header's own place stays in the claim", d["claim"] is None or f"inlined at distinct.cpp:{line}" in d["claim"])
d = load("python")
if "known" not in d["function"] and "[CPython]" not in os.popen(f"$CYCLESCOPE prof --store {work}/python --json --top 1000").read() and not d["claim"]:
    print("skip: no frames of this interpreter")
elif claimed("python", d):
    check(f"the interpreter's function that calls: {d['claim']}", d["about"] == "call" and d["function"].startswith("known") and "which begins at members.py:2" in d["claim"])
    check(f"what it calls, and what helps: {d['advice']}", "list_contains" not in d["claim"] or "set" in d["advice"])
if os.path.exists(work + "/joined.json"):
    d = load("joined")
    check(f"a join is no claim: {d['claim']} {d['missing']}", d["about"] != "wait" or d["cause"] != "join")
if few and not bad:
    print("too few bursts for a claim: " + "; ".join(few))
sys.exit(1 if bad else 77 if few else 0)
P
echo "ok: problems that look like another one"
