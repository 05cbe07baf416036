#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# explain where the time isn't in code of the program's own functions: of inlined code it marks the inlined line.
set -u
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export XDG_CACHE_HOME=$work/cache
fail() { echo "not ok: $*"; exit 1; }
gcc -O2 -g -o "$work/calling" tests/programs/calling.c || fail "the program doesn't build"
for mode in inlined; do
    "$CYCLESCOPE" record -o "$work/$mode" -F 1000 --no-bursts -- "$work/calling" $mode 1.5 >"$work/out" 2>&1 || { cat "$work/out"; fail "record $mode"; }
    "$CYCLESCOPE" explain --store "$work/$mode" --json >"$work/$mode.json" || fail "explain $mode"
    "$CYCLESCOPE" explain --store "$work/$mode" >"$work/$mode.text" || fail "explain $mode as text"
done
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
sys.exit(bad > 0)
P
echo ok
