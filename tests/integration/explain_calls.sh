#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# explain where the time isn't in code of the program's own functions: of inlined code it marks the inlined line; of libraries
# and the kernel it names the program's line that calls them, and how much of the time that is.
set -u
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export XDG_CACHE_HOME=$work/cache
fail() { echo "not ok: $*"; exit 1; }
gcc -O2 -g -o "$work/calling" tests/programs/calling.c || fail "the program doesn't build"
for mode in inlined strings allocations faults reads; do
    "$CYCLESCOPE" record -o "$work/$mode" -F 1000 --no-bursts -- "$work/calling" $mode 1.5 >"$work/out" 2>&1 || { cat "$work/out"; fail "record $mode"; }
    "$CYCLESCOPE" explain --store "$work/$mode" --json >"$work/$mode.json" || fail "explain $mode"
    "$CYCLESCOPE" explain --store "$work/$mode" >"$work/$mode.text" || fail "explain $mode as text"
done
# A function of the kernel has no code that can be read: its callers are named.
entry=$("$CYCLESCOPE" prof --store "$work/faults" --json --top 1000 | python3 -c 'import json, sys
names = [r["procedure"] for r in json.load(sys.stdin)["rows"] if r["image"] == "[kernel]" and "page_fault" in (r["procedure"] or "")]
print(names[0] if names else "")')
[ -n "$entry" ] || fail "no function of the kernel has page_fault in its name"
"$CYCLESCOPE" explain --store "$work/faults" --json "$entry" >"$work/kernel.json" || fail "explain $entry"
# Without source of its own, nobody can be named: but no change of the library's code is proposed either.
gcc -O2 -o "$work/nameless" tests/programs/calling.c || fail "the program doesn't build without debug information"
"$CYCLESCOPE" record -o "$work/nameless.store" -F 1000 --burst-rate 30 -- "$work/nameless" strings 3 >"$work/out" 2>&1 || { cat "$work/out"; fail "record"; }
"$CYCLESCOPE" explain --store "$work/nameless.store" --json >"$work/nameless.json" || fail "explain without debug information"
python3 - "$work" <<'P' || exit 1
import json, sys
work = sys.argv[1]
load = lambda name: json.load(open(f"{work}/{name}.json"))
source = open("tests/programs/calling.c").read().split("\n")
line_of = lambda mode: next(i for i, l in enumerate(source, 1) if l.endswith(f"/* {mode} */"))
bad = 0

def check(what, ok):
    global bad
    bad += not ok
    print("ok" if ok else "not ok:", what)

d, line = load("inlined"), line_of("inlined")
check(f"no cause without bursts: {d['claim']}", d["claim"] is None)
check(f"the inlined line, not its call's: {d['place']}", abs(d["place"]["line"] - line) <= 1)
for mode, called, cause, advice in (("strings", "strlen", "call", "lengths"), ("faults", "page faults", "page-fault", "populated"),
                                    ("reads", "read", "system-call", "larger calls")):
    d, line, text = load(mode), line_of(mode), " ".join(open(f"{work}/{mode}.text").read().split())
    check(f"{mode}: {d['claim']}", d["about"] == "call" and called in d["claim"] and f"calling.c:{line}" in d["claim"])
    check(f"{mode}: the place: {d['place']}", d["function"] == mode and abs(d["place"]["line"] - line) <= 1)
    check(f"{mode}: the cause: {d['cause']}", d["cause"] == cause and advice in d["advice"])
    share = next(e for e in d["evidence"] if e["what"] == "in these calls")
    # Nearly all of the program's time is there, but for what the loop itself takes.
    check(f"{mode}: its share: {share}", 50 < share["value"] <= 100 and share["low"] <= share["value"] <= share["high"])
    g = d["gain"]["program"]
    check(f"{mode}: the gain is at most that: {g}", g["low"] == 0 and share["value"] <= g["high"] <= 100 and g["likely"] is None
          and d["gain"]["function"]["likely"] is None and "up to about" in text)
    check(f"{mode}: a caller is named", any(e["what"] == "called from" and "(main)" in e["text"] for e in d["evidence"]))
    check(f"{mode}: the command", d["verify"].startswith("cyclescope record") and "diff" in d["verify"])
d = load("allocations")
check(f"allocations: {d['claim']}", d["function"] == "allocations" and "malloc" in d["claim"] and "free" in d["claim"] and "kept" in d["advice"])
lines = [e["text"] for e in d["evidence"] if e["what"] == "call"]
check(f"both are evidence: {lines}", any("malloc" in l for l in lines) and any("free" in l for l in lines))
d = load("kernel")
check(f"a function of the kernel: {d['claim']}", d["about"] == "call" and d["function"] == "faults" and "page_fault" in d["claim"])
d = load("nameless")
check(f"without debug information: {d['claim'] or d['missing']}", d["about"] != "call" and (d["claim"] is None or "fewer calls" in d["advice"]))
sys.exit(bad > 0)
P
echo ok
