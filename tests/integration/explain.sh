#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# explain against programs of known cause: the claim names function, line and cause; text and JSON agree; a program that waited is
# explained by its wait; without evidence nothing is claimed.
set -u
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export XDG_CACHE_HOME=$work/cache
fail() { echo "not ok: $*"; exit 1; }

gcc -O2 -g -fno-omit-frame-pointer -o "$work/k" bench/kernels/forward_fail.c || fail "the kernel doesn't build"
# Arguments that a shell would read in another way come back as they were given; the program reads only the first two.
odd=("a b" '$(touch ran)' "it's" -q)
# As in calc.sh: moments of bursts are random. With thirty of them there is no excuse.
for _ in 1 2 3; do
    rm -rf "$work/s"
    "$CYCLESCOPE" record -v -o "$work/s" -F 1000 --burst-rate 30 -- "$work/k" 2 0 "${odd[@]}" >"$work/out" 2>&1 || { cat "$work/out"; fail "record"; }
    "$CYCLESCOPE" explain --store "$work/s" --json >"$work/json" || fail "explain"
    python3 -c 'import json, sys; sys.exit(json.load(open(sys.argv[1]))["claim"] is None)' "$work/json" && break
    bursts=$(sed -n 's/,//g; s/^\([0-9]*\) bursts.*/\1/p' "$work/out")
    [ "${bursts:-0}" -lt 30 ] || break
done
"$CYCLESCOPE" explain --store "$work/s" >"$work/text" || fail "explain as text"
"$CYCLESCOPE" explain --store "$work/s" --json pack >"$work/named" || fail "explain FUNCTION"
"$CYCLESCOPE" calc --store "$work/s" --json pack >"$work/calc" || fail "calc"
"$CYCLESCOPE" record -o "$work/few" -F 100 --no-bursts --no-paths -- "$work/k" 0.2 >/dev/null 2>&1
"$CYCLESCOPE" explain --store "$work/few" --json >"$work/few.json" || fail "explain with few samples"
"$CYCLESCOPE" record -o "$work/none" -F 1000 --no-bursts --no-paths -- "$work/k" 1 >/dev/null 2>&1
"$CYCLESCOPE" explain --store "$work/none" --json >"$work/none.json" || fail "explain without bursts"
"$CYCLESCOPE" record -o "$work/slept" --no-bursts --no-paths -- sh -c "$work/k 0.3; sleep 2" >/dev/null 2>&1
"$CYCLESCOPE" explain --store "$work/slept" --json >"$work/slept.json" || fail "explain of a sleeping program without waits"
"$CYCLESCOPE" explain --store "$work/s" no_such_function >/dev/null 2>"$work/err" && fail "an unknown function was explained"
[ "$(wc -l <"$work/err")" -eq 1 ] || fail "not one sentence: $(cat "$work/err")"
"$CYCLESCOPE" explain a b >/dev/null 2>&1
[ $? -eq 2 ] || fail "two operands are a usage error"
"$CYCLESCOPE" explain --store "$work/nowhere" >/dev/null 2>"$work/err" && fail "a store that isn't there was explained"
python3 - "$work" "$CYCLESCOPE" <<'P' || exit 1
import json, re, shlex, sys
work, program = sys.argv[1:]
load = lambda name: json.load(open(f"{work}/{name}"))
d, named, calc, text = load("json"), load("named"), load("calc"), open(work + "/text").read()
flat = " ".join(text.split())
source = open("bench/kernels/forward_fail.c").read().split("\n")
begin = next(i for i, l in enumerate(source, 1) if re.search(r"\bpack\(", l))
end = next(i for i, l in enumerate(source, 1) if i > begin and l.startswith("}"))
bad = 0

def check(what, ok):
    global bad
    bad += not ok
    print("ok" if ok else "not ok:", what)

check("version", d["version"] == 1)
check("it is about code", d["about"] == "code" and d["claim"] and d["missing"] is None)
check("the function: %s" % d["function"], d["function"] == "pack")
check("the cause: %s" % d["cause"], d["cause"] == "store-forward")
check("the line: %s" % d["place"], d["place"]["file"].endswith("forward_fail.c") and begin <= d["place"]["line"] <= end)
here = [l for l in d["source"] if l["here"]]
check("the source is the file's", len(here) == 1 and all(source[l["line"] - 1].expandtabs() == l["text"] for l in d["source"]))
check("seven lines round it", len(d["source"]) == 7 and here[0]["line"] == d["place"]["line"])
check("the claim is calc's sentence", calc["sentence"] in d["claim"] and calc["advice"] == d["advice"])
cause = next(e for e in d["evidence"] if e["what"] == d["cause_words"])
check("with calc's bounds", abs(cause["value"] - min(calc["worst"]["share"], 100)) < 0.01 and cause["low"] <= cause["value"] <= cause["high"])
out = {r["cause"]: r["most_percent"] for r in d["ruled_out"]}
# Nothing is ruled out where too much of the code has no known execution count, which a recording of two seconds may leave.
check("what is ruled out is near zero: %s" % out, all(most < 2 for most in out.values()) and d["cause"] not in out)
check("ruled out by calc, too", all(calc["summary"]["dynamic"][c]["high"] <= most + 0.01 for c, most in out.items()))
g = d["gain"]["function"]
check("the gain has a range: %s" % g, 0 <= g["low"] <= g["likely"] <= g["high"] <= 100)
check("the gain is calc's", abs(g["likely"] - calc["worst"]["saves"]) < 0.01)
check("the named function is the hottest one", named["claim"] == d["claim"])
check("the command: %s" % d["verify"], shlex.split(d["verify"]) == ["cyclescope", "record", "--store", work + "/s", "--", work + "/k", "2", "0",
      "a b", "$(touch ran)", "it's", "-q", "&&", "cyclescope", "diff", "--store", work + "/s"])
# The text has what JSON has.
check("the text's claim", flat.startswith(d["claim"]))
check("the text's evidence", all(e["what"] in flat for e in d["evidence"]))
check("the text's source", all(l["text"].strip() in text for l in d["source"]))
check("the text's rest", d["advice"] in flat and d["verify"] in flat and all(r["words"] in flat for r in d["ruled_out"]))
for name, says in ("few", "samples"), ("none", "--burst-rate"), ("slept", "--burst-rate"):
    n = load(name + ".json")
    check(f"{name}: nothing is claimed", n["claim"] is None and n["about"] == "nothing" and not n["ruled_out"] and n["advice"] is None
          and n["cause"] is None and n["verify"] is None and n["gain"]["program"]["likely"] is None)
    check(f"{name}: what is missing: {n['missing']}", says in n["missing"])
check("time without samples is told", any("--waits" in n for n in load("slept.json")["notes"]))
sys.exit(bad > 0)
P
. "$(dirname "$0")/../waits_possible.sh"
"$CYCLESCOPE" record --waits --no-bursts -o "$work/w" -- "$BUILD/tests/programs/waiting" sleeping-lock 2 >/dev/null 2>&1 || fail "record --waits"
"$CYCLESCOPE" explain --store "$work/w" --json >"$work/w.json" || fail "explain of waits"
"$CYCLESCOPE" explain --store "$work/w" >"$work/w.text" || fail "explain of waits as text"
"$CYCLESCOPE" explain --store "$work/w" --json sleep_ms >"$work/sleep.json" || fail "explain of a function that sleeps"
"$CYCLESCOPE" waits --store "$work/w" --json >"$work/w.rows" || fail "waits"
# Threads run longer than they wait: the document is about code, and a note has the wait.
cat >"$work/rest.c" <<'C'
#include <time.h>
#include <unistd.h>
__attribute__((noinline)) void rest(void) { usleep(30000); __asm__(""); } // sleeps: what is measured
int main(void)
{
    for (int i = 0; i < 20; i++, rest())
        for (clock_t end = clock() + CLOCKS_PER_SEC / 15; clock() < end;)
            ;
}
C
gcc -O1 -g -o "$work/rest" "$work/rest.c" && "$CYCLESCOPE" record --waits --no-bursts -o "$work/rested" -- "$work/rest" >/dev/null 2>&1 || fail "record of a rest"
"$CYCLESCOPE" explain --store "$work/rested" --json >"$work/rested.json" || fail "explain of a rest"
python3 - "$work" <<'P' || exit 1
import json, re, sys
work = sys.argv[1]
load = lambda name: json.load(open(f"{work}/{name}"))
d, rows, sleep = load("w.json"), load("w.rows")["rows"], load("sleep.json")
flat = " ".join(open(work + "/w.text").read().split())
source = open("tests/programs/waiting.c").read().split("\n")
bad = 0

def check(what, ok):
    global bad
    bad += not ok
    print("ok" if ok else "not ok:", what)

def function_of(line):
    """The function that a line of the program is in."""
    return next(m[1] for l in reversed(source[:line]) if (m := re.match(r"\S.*\b(\w+)\(.*\)$", l)))

facts = {e["what"]: e["value"] if e["text"] is None else e["text"] for e in d["evidence"]}
check("it is about the wait: %s" % d["claim"], d["about"] == "wait" and d["claim"].startswith("threads waited longer"))
check("the first row's: %s" % rows[0], (d["cause"], d["function"]) == (rows[0]["kind"], rows[0]["where"]) == ("mutex", "take_lock"))
check("its figures", abs(facts["this wait"] - rows[0]["seconds"]) < 1e-3 and facts["waits"] == rows[0]["waits"])
check("who held it: %s" % facts["who meanwhile was"], "guilty" in facts["who meanwhile was"])
check("the list says it, too: %s" % d["stands_out"], any(r["kind"] == "wait" and r["what"].endswith("who meanwhile was: " + facts["who meanwhile was"]) for r in d["stands_out"]))
check("the line: %s" % d["place"], d["place"]["line"] and "pthread_mutex_lock" in source[d["place"]["line"] - 1]
      and function_of(d["place"]["line"]) == "take_lock")
check("what to try: %s" % d["advice"], "lock" in d["advice"])
check("the command", "record --waits" in d["verify"] and "diff --waits" in d["verify"])
check("the gain has a range", 0 == d["gain"]["program"]["low"] < d["gain"]["program"]["high"] <= 100)
check("the text agrees", flat.startswith(d["claim"]) and all(e["what"] in flat for e in d["evidence"]) and d["verify"] in flat)
notes = load("rested.json")["notes"]
check("a wait below half: %s" % notes, any("for sleep in rest," in n and n.endswith("(cyclescope waits --store %s/rested)." % work) for n in notes))
check("a function that only sleeps: %s" % sleep["claim"], sleep["cause"] == "sleep" and sleep["function"] == "sleep_ms"
      and "nanosleep" in source[sleep["place"]["line"] - 1])
sys.exit(bad > 0)
P
echo ok
