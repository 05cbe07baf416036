#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# explain's list of what stands out, against what a program counted itself: the place, its kind, turns of its loop, bytes of a
# copy, how often it ran. Ordinary work has no claim and no place.
set -u
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export XDG_CACHE_HOME=$work/cache
fail() { echo "not ok: $*"; exit 1; }
modes="search walk table grid bits copies clocks ordinary"
. "$(dirname "$0")/../waits_possible.sh"
gcc -O2 -g -o "$work/standing_out" tests/programs/standing_out.c || fail "the program doesn't build"
for mode in $modes naps; do
    "$CYCLESCOPE" record --waits -o "$work/$mode" -F 1000 --burst-rate 30 -- "$work/standing_out" $mode 3 >"$work/$mode.counted" 2>"$work/err" || { cat "$work/err"; fail "record $mode"; }
    "$CYCLESCOPE" explain --store "$work/$mode" --json >"$work/$mode.json" || fail "explain $mode"
    "$CYCLESCOPE" explain --store "$work/$mode" >"$work/$mode.text" || fail "explain $mode as text"
done
# Without the program's source nothing of its code can be listed: that isn't ordinary work.
cp -r tests/programs/standing_out.c "$work/gone.c"
(cd "$work" && gcc -O2 -g -o gone gone.c && ./gone search 0 >/dev/null && "$CYCLESCOPE" record --waits -o goes -F 1000 --burst-rate 30 -- ./gone search 2 >/dev/null 2>&1 && rm gone.c)
"$CYCLESCOPE" explain --store "$work/goes" >"$work/gone.text" || fail "explain without source"
grep -q "aren.t listed: none of the hot" "$work/gone.text" && ! grep -qE "what stands out|Ordinary work" "$work/gone.text" || { cat "$work/gone.text"; fail "without source"; }
grep -q bursts "$work/err" && ! grep -q ' 0 bursts' "$work/err" || { cat "$work/err"; echo "skipped: no bursts here"; exit 77; }
python3 - "$work" <<'P' || exit 1
import json, re, sys
work = sys.argv[1]
source = open("tests/programs/standing_out.c").read().split("\n")
line_of = lambda mode: next(i for i, l in enumerate(source, 1) if l.rstrip().endswith(f"/* {mode} */"))
bad = 0

def check(what, ok):
    global bad
    bad += not ok
    print("ok" if ok else "not ok:", what)

for mode, kinds in (("search", ("search",)), ("walk", ("search",)), ("table", ("search",)), ("grid", ("search",)), ("bits", ("bits",)), ("copies", ("call",)), ("clocks", ("call", "system-call")), ("naps", ("wait",))):
    d = json.load(open(f"{work}/{mode}.json"))
    text = " ".join(open(f"{work}/{mode}.text").read().split())
    entries, turns = map(int, re.match(r"(\d+) entries, (\d+) turns", open(f"{work}/{mode}.counted").read()).groups())
    rows = d["stands_out"]
    places = [r for r in rows if r["kind"] in kinds and r["function"] == mode]
    check(f"{mode}: the place is listed: {[(r['kind'], r['function'], r['line']) for r in rows]}", len(places) >= 1)
    if not places:
        continue
    p = places[0]
    check(f"{mode}: its line: {p['line']}", p["file"].endswith("standing_out.c") and abs(p["line"] - line_of(mode)) <= 2)
    check(f"{mode}: it is first", rows[0]["function"] == mode)
    check(f"{mode}: the document is about it: {d['claim']}", d["claim"] and d["function"] == mode)
    check(f"{mode}: text and JSON agree", all(" ".join(r["text"].split()) in text for r in rows) and text.startswith(" ".join(d["claim"].split())))
    check(f"{mode}: in order", [r["saves_percent"] for r in rows] == sorted((r["saves_percent"] for r in rows), reverse=True))
    check(f"{mode}: bounded", len(rows) <= 6 and all(len(r["text"]) < 1000 and 0 <= r["saves_percent"] <= r["percent"] + 0.01 <= 100.02 for r in rows))
    if turns:
        check(f"{mode}: {p['turns']} turns, counted {turns / entries:.1f}", abs(p["turns"] / (turns / entries) - 1) < 0.15)
    if mode == "grid":
        check("grid: the loop around it isn't listed", [r["kind"] for r in rows if r["function"] == mode] == ["search"])
    if mode == "copies":
        check(f"copies: {p['bytes']} bytes a call", p["bytes"] and abs(p["bytes"] / 65536 - 1) < 0.1)
    # A second of CPU time; of a nap, elapsed. Bursts estimate it, and only within a factor.
    if mode == "naps":
        check(f"naps: {p['per_second']} a second, counted {entries / 3:.0f}", abs(p["per_second"] / (entries / 3) - 1) < 0.2)
    elif p["per_second"]:
        check(f"{mode}: {p['per_second']:.0f} a second, counted {entries / 3:.0f}", 1 / 4 < p["per_second"] / (entries / 3) < 4)
    if p["kind"] == "search":
        check(f"{mode}: a chain or not: {p['what']}", ("chain" in p["what"]) == (mode == "walk"))
    # Of one process the waits say it all.
    check(f"{mode}: no path through other processes", not any(r["what"] == "critical path" for r in d["evidence"]))
d = json.load(open(f"{work}/ordinary.json"))
check(f"ordinary: no place: {d['stands_out']}", d["stands_out"] == [])
check(f"ordinary: no claim: {d['claim']} {d['missing']}", d["claim"] is None and d["about"] == "nothing")
sys.exit(bad > 0)
P
echo ok
