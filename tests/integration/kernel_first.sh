#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# calc of a function whose lines cause most of the program's time in the kernel says so first, with the line. The truth is the
# program's getrusage: nearly all of its time is in one function and in what that causes.
set -u
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export XDG_CACHE_HOME=$work/cache
fail() { echo "not ok: $*"; exit 1; }
gcc -O2 -g -D_GNU_SOURCE -o "$work/share" tests/programs/kernel_share.c || fail "the program doesn't build"
gcc -O2 -D_GNU_SOURCE -o "$work/nameless" tests/programs/kernel_share.c || fail "the program doesn't build without debug information"

# program mode turns function first(yes, no, any) cause line: what calc says of it
judge() {
    rm -rf "$work/s"
    "$CYCLESCOPE" record -o "$work/s" -F 1000 --no-bursts -- "$work/$1" "$2" 1.5 "$3" >"$work/out" 2>&1 || { cat "$work/out"; fail "record $2"; }
    "$CYCLESCOPE" calc --store "$work/s" --json "$4" >"$work/json" || fail "calc $4"
    "$CYCLESCOPE" calc --store "$work/s" "$4" >"$work/text" || fail "calc $4 as text"
    python3 - "$work" "$@" <<'P' || exit 1
import json, re, sys
callee = {"write": "pwrite"}
work, program, mode, turns, function, first, cause, line = sys.argv[1:]
d = json.load(open(f"{work}/json"))
text = open(f"{work}/text").read().split("\n")
user, system = map(float, re.search(r"user=(\S+) system=(\S+)", open(f"{work}/out").read()).groups())
truth = 100 * system / (user + system)
k, kernel = d["kernel"], d["kernel_share"]
source = open("tests/programs/kernel_share.c").read().split("\n")
wanted = next((i for i, l in enumerate(source, 1) if l.endswith(f"/* {line} */")), 0)
good = abs(kernel - truth) < 12 and k["share"] <= kernel + 1
if cause == "none":
    good &= not k["first"] and k["cause"] is None and k["share"] < 1
else:
    # mode two and the mapping's return cause other time in the kernel
    good &= k["first"] == (first == "yes") and k["cause"] == cause and k["share"] > 0.7 * kernel
    good &= k["sentence"] in text[2] and f"{k['share']:.1f} % of all samples" in text[2]
    good &= callee.get(mode, "page faults") in k["sentence"]
    good &= k["line"] == wanted and (not wanted or "kernel_share.c" in k["file"])
    good &= text[3].startswith("What usually helps") == k["first"]
print("ok" if good else "not ok", f"{program} {mode} {turns} {function}: {truth:.0f} % by getrusage, {kernel:.0f} % sampled: {k}")
sys.exit(not good)
P
}
judge share touch 0 touching yes page-fault touch
judge share touch 3000 touching no page-fault touch
judge share write 0 writing yes system-call write
judge share write 1500 writing no system-call write
judge share two 400 touching yes page-fault touch
judge share two 400 computing no none none
judge nameless write 0 writing yes system-call none
# explain of that function by its name is about the same calls.
"$CYCLESCOPE" explain --store "$work/s" --json writing >"$work/json" || fail "explain"
python3 -c 'import json, sys
d = json.load(sys.stdin)
sys.exit(not (d["about"] == "call" and d["cause"] == "system-call" and "pwrite" in d["claim"]))' <"$work/json" || fail "explain: $(head -c 400 "$work/json")"
echo ok
