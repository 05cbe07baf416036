#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Beside others.
# Edit, build, record, prof: a report is of the newest recording alone, --epoch names another or all of them, diff without
# stores compares the last two. The truth is in the two programs: each has a procedure that the other lacks.
set -u
. "$(dirname "$0")/../until.sh"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export CYCLESCOPE_STORE=$dir/store
cd "$dir" || exit 1
bad=0
fail() { echo "not ok: $*"; bad=1; }
build() { # NAME OF THE PROCEDURE
    cat >work.c <<C
#include <time.h>
volatile double v;
__attribute__((noinline)) void $1(void) { for (int i = 0; i < 1000000; i++) v += i; }
int main(int argc, char **argv)
{
    for (clock_t end = clock() + CLOCKS_PER_SEC * 6 / 10; clock() < end;) $1();
    return argc > 1 ? __builtin_abort(), 1 : 7;
}
C
    gcc -O1 -g work.c -o work || exit 1
}
record() { "$CYCLESCOPE" record -F 500 --no-bursts "$@"; }
names() { "$CYCLESCOPE" prof --top 0 --json "$@" | python3 -c '
import json, sys
p = json.load(sys.stdin)
print(" ".join(r["procedure"] or "" for r in p["rows"] if r["image_name"] == "work"), p["recording"])'; }

build before_it
record -- ./work >"$dir/out" 2>&1
[ "$(names | cut -d' ' -f1)" = before_it ] || fail "the first recording"
build after_it
record -- ./work >"$dir/out" 2>&1

case $(names) in *before_it*) fail "a mixture: $(names)" ;; *after_it*) ;; *) fail "the newest: $(names)" ;; esac
case $(names --epoch -2) in *after_it*) fail "-2 has the newest" ;; esac
[ "$(names --epoch -1)" = "$(names)" ] || fail "-1 isn't the newest"
all=$(names --epoch all)
case $all in *before_it*after_it* | *after_it*before_it*) ;; *) fail "all: $all" ;; esac
newest=$(ls "$dir/store" | sort -V | tail -1)
case $(names --epoch "$newest") in *"after_it"*"$newest") ;; *) fail "by name: $(names --epoch "$newest")" ;; esac
"$CYCLESCOPE" prof | grep -q -- "--epoch -2 shows the one before" || fail "prof doesn't say that there are others"
"$CYCLESCOPE" prof --epoch -9 2>"$dir/err"; [ $? = 1 ] && grep -q "no epoch -9" "$dir/err" || fail "an epoch that isn't"
"$CYCLESCOPE" calc after_it >/dev/null || fail "calc of the newest"
! "$CYCLESCOPE" calc before_it >/dev/null 2>&1 || fail "calc of what is not in the newest"

# A rebuilt or removed binary keeps its names and lines; without the copy it has none.
"$CYCLESCOPE" prof --epoch -2 | grep -q 'before_it: most of it at work.c:3' || fail "the old lines: $("$CYCLESCOPE" prof --epoch -2)"
"$CYCLESCOPE" calc before_it --epoch -2 >/dev/null || fail "calc of the old binary"
"$CYCLESCOPE" report --epoch -2 --html "$dir/old.html" >/dev/null || fail "the page of the old recording"
grep -q '"chains":{' "$dir/old.html" && grep -q before_it "$dir/old.html" || fail "the old recording's page has no call chains"
cp work "$dir/gone" && record -o "$dir/g" -- "$dir/gone" >/dev/null 2>&1
rm "$dir/gone"
"$CYCLESCOPE" prof -o "$dir/g" | grep -q 'after_it: most of it at work.c:3' || fail "a removed binary"
cp work "$dir/gone" && record -o "$dir/n" --no-keep-code -- "$dir/gone" >/dev/null 2>&1
rm "$dir/gone"
[ ! -e "$dir/n/.images" ] || fail "--no-keep-code keeps code"
"$CYCLESCOPE" prof -o "$dir/n" | grep -q after_it && fail "names from nowhere"
"$CYCLESCOPE" store verify "$dir/g" >/dev/null || fail "the store with copies"
"$CYCLESCOPE" store merge "$dir/merged" "$dir/g" >/dev/null || fail "merge of a store with copies"
"$CYCLESCOPE" prof -o "$dir/merged" | grep -q 'after_it: most of it at work.c:3' || fail "a merged store keeps no code"
# A damaged copy is no copy.
for f in "$dir"/g/.images/*; do printf x | dd of="$f" bs=1 seek=9 conv=notrunc 2>/dev/null; done
"$CYCLESCOPE" prof -o "$dir/g" >"$dir/out" || fail "a damaged copy ends prof"
grep -q after_it "$dir/out" && fail "a damaged copy is believed"
"$CYCLESCOPE" diff --json >"$dir/diff" || fail "diff without stores"
python3 - "$dir/diff" <<'PY' || fail "diff: $(cat "$dir/diff")"
import json, sys
d = json.load(open(sys.argv[1]))
row = {r["procedure"]: r for r in d["rows"]}
new = row["after_it"]
assert new["samples_a"] == 0 and new["samples_b"] > 100, new
assert d["sides"][0]["runs"] == d["sides"][1]["runs"] == 1, d["sides"]
PY

# Threads of one process: their CPU time by their own clocks is the truth.
cat >threads.c <<'C'
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <time.h>
volatile double v;
static void *spin(void *ms)
{
    struct timespec t;
    pthread_setname_np(pthread_self(), (intptr_t)ms > 500 ? "hot one" : "cold");
    do {
        for (int i = 0; i < 100000; i++) v += i;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    } while (t.tv_sec * 1000 + t.tv_nsec / 1000000 < (intptr_t)ms);
    return NULL;
}
int main(void)
{
    pthread_t t[4];
    intptr_t ms[4] = {100, 100, 600, 100};
    for (int i = 0; i < 4; i++) pthread_create(&t[i], NULL, spin, (void *)ms[i]);
    for (int i = 0; i < 4; i++) pthread_join(t[i], NULL);
}
C
gcc -O1 -g threads.c -o threads -lpthread || exit 1
for driver in bpf ring; do
    record -F 1000 --driver $driver --label thread -o "$dir/by-thread" -- ./threads >"$dir/out" 2>&1 || {
        [ $driver = bpf ] && grep -q "can't be used" "$dir/out" && echo "skipped: no bpf driver here" && continue
        fail "record by thread, $driver: $(cat "$dir/out")"
    }
    "$CYCLESCOPE" prof --by thread --json -o "$dir/by-thread" | python3 -c '
import json, re, sys
rows = {r["process"]: r["samples"]["cpu-clock"] for r in json.load(sys.stdin)["rows"]}
hot = [n for name, n in rows.items() if re.fullmatch(r"hot one \(\d+\)", name)]
cold = [n for name, n in rows.items() if re.fullmatch(r"cold \(\d+\)", name)]
assert len(hot) == 1 and len(cold) == 3, rows
assert 500 < hot[0] < 700 and all(60 < n < 160 for n in cold), rows
' || fail "threads by $driver"
done
"$CYCLESCOPE" prof -o "$dir/by-thread" --process "hot one" --json | python3 -c '
import json, sys
n = json.load(sys.stdin)["total"]
assert 500 < n < 700, n' || fail "one thread alone"
"$CYCLESCOPE" prof --by thread | grep -q "separates profiles by nothing" || fail "what to record is not said"

# Code without a name is counted, its cause told, and what would help.
flat() { tr '\n' ' ' | tr -s ' '; }
cp work "$dir/gone" && record -o "$dir/nameless" --no-keep-code -- "$dir/gone" >/dev/null 2>&1
rm "$dir/gone"
"$CYCLESCOPE" prof -o "$dir/nameless" | flat >"$dir/out"
grep -qE '(9[0-9]|100)[.][0-9]+ % without a name' "$dir/out" && grep -q 'gone, and the store has no copy' "$dir/out" &&
    ! grep -q 'next: cyclescope calc' "$dir/out" || fail "a file that is gone: $(cat "$dir/out")"
"$CYCLESCOPE" prof -o "$dir/nameless" --json | python3 -c '
import json, sys
p = json.load(sys.stdin)
assert p["nameless"] > 0.9 * p["total"] and p["unknown"] == 0, p' || fail "nameless in JSON"
strip work -o stripped && record -o "$dir/by-address" -- ./stripped >/dev/null 2>&1
"$CYCLESCOPE" prof -o "$dir/by-address" | flat | grep -q 'stripped, whose functions are called after their addresses' || fail "a stripped program"
"$CYCLESCOPE" prof | grep -q "has no name" && fail "a program with names is said to have none"

# Several processes; one that isn't there is said.
./work & one=$!
./threads & two=$!
until_true has_run $one 1 && until_true has_run $two 1
if [ "$(id -u)" = 0 ]; then
    record -p "$one,$two" -t 0.5 -o "$dir/several" >"$dir/out" 2>&1 || fail "-p A,B: $(cat "$dir/out")"
    "$CYCLESCOPE" prof --by image --json -o "$dir/several" | python3 -c '
import json, sys
names = {r["image_name"] for r in json.load(sys.stdin)["rows"]}
assert {"work", "threads"} <= names, names' || fail "-p A,B leaves one out"
    sleep 30 & lives=$!
    record -p "$lives" -p 4194303 -t 0.5 -o "$dir/several" 2>"$dir/err" && fail "a process that isn't there"
    grep -q "no process 4194303" "$dir/err" || fail "which process isn't there: $(cat "$dir/err")"
    kill $lives
fi
record -p 12,x 2>"$dir/err"
[ $? = 2 ] || fail "-p 12,x: $(cat "$dir/err")"
wait $one $two

# record ends as its command does, and says what it saw.
expect() { # CODE COMMAND...
    local code=$1 got=0
    shift
    record -v -o "$dir/codes" -- "$@" >"$dir/out" 2>&1 || got=$?
    [ "$got" = "$code" ] || fail "$* gives $got, not $code: $(cat "$dir/out")"
}
expect 7 ./work
grep -qE '^CPU time .* s of .* s elapsed: [0-9.]+ %.* in after_it \(work\)' "$dir/out" && grep -qE '^ +[0-9]+ % of one CPU' "$dir/out" || fail "the summary: $(cat "$dir/out")"
"$CYCLESCOPE" record -v -o "$dir/three" -- bash -c 'sleep 0.1 & wait; ./work; :' >"$dir/out" 2>&1
grep -q '% of one CPU, in 3 threads of 3 processes' "$dir/out" || fail "threads in the summary: $(cat "$dir/out")"
expect 134 ./work abort
expect 0 true
expect 1 false
grep -q $'\r' "$dir/out" && fail "a status line where no terminal is"
[ "$("$CYCLESCOPE" record --json --no-bursts -o "$dir/codes" -- sh -c 'exit 5' 2>/dev/null | python3 -c 'import json, sys; print(json.load(sys.stdin)["exit_code"])')" = 5 ] || fail "exit_code"

# A copy of an image that no epoch has goes with gc.
: >"$dir/store/.images/0123456789abcdef0123456789abcdef01234567.zst"
"$CYCLESCOPE" store gc --keep-size 1 "$dir/store" >/dev/null || fail gc
[ "$(find "$dir/store/.images" -name '0123*')" = "" ] || fail "gc leaves copies that nobody needs"
[ "$(find "$dir/store/.images" -type f | wc -l)" -ge 1 ] || fail "gc removes copies that are needed"

# An empty recording isn't silently passed over.
record -- true >/dev/null 2>&1
"$CYCLESCOPE" prof --image work >"$dir/out" 2>"$dir/err" && fail "samples of work in a recording of true"
exit $bad
