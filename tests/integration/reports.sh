#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Beside others.
# Reports against a program whose profile is known: tests/programs/procedures spends the CPU time that it is told to.
set -eu
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
P=$BUILD/tests/programs/procedures
run() { local store=$1; shift; "$CYCLESCOPE" record -F 2000 -o "$store" -- "$P" "$@" >/dev/null 2>&1; sleep 0.01; } # sleeps: epochs have milliseconds
fail() { echo "not ok: $*"; exit 1; }

# prof: shares as asked, within four standard deviations of counting; all rows together are the total.
run "$tmp/one" 200 100 100 300 50 50 200
"$CYCLESCOPE" prof --store "$tmp/one" --json >"$tmp/json"
python3 - "$tmp/json" <<'PY' || fail "prof's shares"
import json, math, sys
d = json.load(open(sys.argv[1]))
asked = dict(alpha=200, beta=100, gamma_ray=100, delta=300, epsilon=50, wobbly=50, zeta=200)
event = d["event"]
rows = {r["procedure"]: r["samples"][event] for r in d["rows"] if r["image_name"] == "procedures"}
program = sum(rows.get(p, 0) for p in asked)
assert sum(r["samples"][event] for r in d["rows"]) == d["total"], "rows don't add up to the total"
assert d["unknown"] <= 0.01 * d["total"]
for p, ms in asked.items():
    share = ms / 1000
    sigma = math.sqrt(share * (1 - share) / program)
    got = rows.get(p, 0) / program
    assert abs(got - share) < 4 * sigma + 0.01, f"{p}: {got:.3f}, asked for {share}"
assert abs(sum(r["percent"] for r in d["rows"]) - 100) < 0.01
PY
"$CYCLESCOPE" prof --store "$tmp/one" --by image --json | python3 -c 'import json,sys
d=json.load(sys.stdin); r=d["rows"][0]; assert r["image_name"]=="procedures" and r["build_id"], r; assert any("[kernel]" in x["image"] for x in d["rows"]) or d["total"] < 2000'

# What to look at first: a line of the reader's own source. The hottest procedure's; where that is a library's, the line that
# calls it, told by returns that bursts or paths followed; without them, the first procedure with source.
python3 -c 'import json,sys
l=json.load(open(sys.argv[1]))["hottest_line"]; assert l["how"] == "own" and l["file"].endswith("procedures.c") and l["line"] == int(sys.argv[2]), l' \
    "$tmp/json" "$(grep -n 'PROCEDURE(delta' tests/programs/procedures.c | cut -d: -f1)" || fail "look: own source"
cat >"$tmp/words.c" <<'C'
#include <stdlib.h>
#include <string.h>
static char words[4000][32];
__attribute__((noinline)) static int find(const char *text)
{
    for (int i = 0; i < 4000; i++)
        if (strcmp(words[i], text) == 0) /* HERE */
            return i;
    return -1;
}
int main(void)
{
    for (int i = 0; i < 4000; i++)
        memset(words[i], 'a', 30);
    int n = 0;
    for (int i = 0; i < 150000; i++) {
        n += find("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab");
        __asm__ volatile("" ::: "memory"); /* nothing is hoisted */
    }
    return n == 1;
}
C
gcc -O1 -g -fno-builtin-strcmp -o "$tmp/words" "$tmp/words.c"
here=$(grep -n HERE "$tmp/words.c" | cut -d: -f1)
"$CYCLESCOPE" record --no-chains --no-bursts --no-paths -o "$tmp/plain.store" -- "$tmp/words" >/dev/null 2>&1
look='import json,sys
d=json.load(sys.stdin); l=d["hottest_line"]; assert d["rows"][0]["image_name"] != "words", d["rows"][0]
assert l["how"] == sys.argv[1] and l["function"] == "find" and abs(l["line"] - int(sys.argv[2])) <= 1 and l["samples"] <= l["of"], l'
# Some 300 bursts in a second, each some 20 calls long: that none sees a return, hasn't been met in 60 recordings.
"$CYCLESCOPE" record --no-chains --burst-rate 300 -o "$tmp/words.store" -- "$tmp/words" >/dev/null 2>&1
"$CYCLESCOPE" prof --store "$tmp/words.store" --json | python3 -c "$look" caller "$here" || fail "look: the caller of a library's procedure"
"$CYCLESCOPE" prof --store "$tmp/plain.store" --json | python3 -c "$look" later "$here" || fail "look: without bursts"
"$CYCLESCOPE" prof --store "$tmp/words.store" | grep -q "next: cyclescope list words.c" || fail "look: what to type next"

# list: the samples of the lines are those of the procedure, and stand at its line.
line=$(grep -n 'PROCEDURE(delta' tests/programs/procedures.c | cut -d: -f1)
"$CYCLESCOPE" list delta --store "$tmp/one" --json | python3 -c 'import json,sys
d=json.load(sys.stdin); line=int(sys.argv[1])
n=sum(l["samples"] or 0 for l in d["lines"]); assert n == d["summary"]["samples"] > 0, n
assert d["top_lines"][0]["line"] == line, d["top_lines"]
assert sum(i["samples"] for i in d["instructions"]) == n
assert "delta" in d["top_lines"][0]["source"]' "$line" || fail list
# Executions: known where bursts saw control going, each with its confidence.
"$CYCLESCOPE" list delta --store "$tmp/one" --json | python3 -c 'import json,sys
d=json.load(sys.stdin)
known=[l for l in d["lines"] if l["executions"] is not None]
assert all(l["confidence"] in ("low", "medium", "high") for l in known)
# A call makes 801 transfers, and a burst may see a part of one: its loop, but never its beginning.
assert d["edges_seen"] < 5000 or max(l["executions"] for l in known) > 0, d["summary"]
assert d["summary"]["executions"] >= 0 and d["summary"]["lines_that_ran"] <= d["summary"]["lines_with_code"]' || fail "list: executions"
"$CYCLESCOPE" list -d alpha --store "$tmp/one" | grep -q 'add ' || fail "list -d shows no instructions"
rc=0; "$CYCLESCOPE" list nothing_of_that_name --store "$tmp/one" 2>"$tmp/err" || rc=$?
[ $rc = 1 ] && [ "$(wc -l <"$tmp/err")" = 1 ] || fail "list of nothing"

# stats: of eight runs, the procedure that was made to vary comes first, the steady ones are noise or later.
for ms in 40 90 55 120 40 100 70 60; do run "$tmp/eight" 100 80 80 100 60 $ms 50; done
"$CYCLESCOPE" stats "$tmp/eight" --json | python3 -c 'import json,sys
d=json.load(sys.stdin); assert len(d["runs"]) == 8
r=d["rows"][0]; assert r["procedure"] == "wobbly" and r["varies"] == "yes", d["rows"][:3]' || fail stats

# diff: identical runs show nothing; a procedure that takes twice as long is found, and alone.
for i in 1 2 3 4 5; do run "$tmp/a" 100 80 80 100 60 60 50; run "$tmp/b" 100 80 80 100 60 60 50; run "$tmp/c" 100 80 80 100 60 120 50; done
"$CYCLESCOPE" diff "$tmp/a" "$tmp/b" --json | python3 -c 'import json,sys
d=json.load(sys.stdin); assert d["significant"] == 0, d' || fail "diff of identical runs"
"$CYCLESCOPE" diff "$tmp/a" "$tmp/c" --json | python3 -c 'import json,sys
d=json.load(sys.stdin); s=[r for r in d["rows"] if r["significant"] == "yes"]
assert [r["procedure"] for r in s] == ["wobbly"] and 1.6 < s[0]["ratio"] < 2.5, s' || fail "diff of changed runs"
# A rebuilt binary still compares by symbol, also if its file has another name.
sed 's/uint64_t slice = 200000/uint64_t slice = 200001/' tests/programs/procedures.c >"$tmp/procedures.c"
gcc -O2 -g -o "$tmp/procedures-2" "$tmp/procedures.c"
for i in 1 2 3; do P=$tmp/procedures-2 run "$tmp/d" 100 80 80 100 60 120 50; done
"$CYCLESCOPE" diff "$tmp/a" "$tmp/d" --json | python3 -c 'import json,sys
d=json.load(sys.stdin); s=[r["procedure"] for r in d["rows"] if r["significant"] == "yes" and "procedures" in r["image"]]
assert s == ["wobbly"], s' || fail "diff of a rebuilt binary"
