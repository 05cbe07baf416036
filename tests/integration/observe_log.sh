#!/bin/bash
# The reader written from LOG.md and the shipped one say the same about a log; a program that measures itself. Exit 77 where one CPU
# alone may be used.
set -eu
. "$(dirname "$0")/../ahead.sh"
[ "$(nproc)" -ge 2 ] || { echo "one CPU: an observer needs one of its own"; exit 77; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$(dirname "$0")/../.."
"$CYCLESCOPE" observe -s phase,work --period 20k --log "$dir/log" -- "$BUILD/signals/examples/phases" --seconds 1 >/dev/null
"$CYCLESCOPE" tags --log "$dir/log" --top 0 --json >"$dir/tags.json"
python3 tests/log_reader.py "$dir/log" >"$dir/second.json"
python3 - "$dir/second.json" "$dir/tags.json" <<'P'
import json, sys
second, shipped = (json.load(open(f)) for f in sys.argv[1:])
assert second["ended"] and second["samples"] > 1000, second["samples"]
assert second["head"]["tags"] == ["phase"] and second["head"]["counters"] == ["work"], second["head"]
assert second["head"]["period"] == 20000 and second["head"]["program"] == "phases"
assert set(second["names"].values()) >= {"hash", "divide", "chase", "stream"}, second["names"]
rows = {str(r["value"] % 2**64): {"samples": r["samples"], "visits": r["visits"]} for r in shipped["tags"]}
assert rows == second["values"], (rows, second["values"])
assert all(second["names"].get("0 " + str(r["value"] % 2**64), r["name"]) == r["name"] for r in shipped["tags"])
print("ok both readers see", second["samples"], "samples in", second["chunks"], "chunks")
P
# ---- distributions beside each other: periods by the second reader's own arithmetic, rates as the sums have them ----
"$CYCLESCOPE" hist --log "$dir/log" --periods --json >"$dir/periods.json"
"$CYCLESCOPE" hist --log "$dir/log" --counter work --json >"$dir/hist.json"
"$CYCLESCOPE" hist --log "$dir/log" --log "$dir/log" --counter work --json >"$dir/overlay.json"
"$CYCLESCOPE" hist --log "$dir/log" --range 0..1000 --bins 500 --json >"$dir/linear.json"
"$CYCLESCOPE" tags --log "$dir/log" --subsample 1 --subsample 7 --top 4 --json >"$dir/coarser.json"
cmp <("$CYCLESCOPE" hist --log "$dir/log" --under hash --json) <("$CYCLESCOPE" hist --log "$dir/log" --under has --json) || { echo "not ok: --under takes no beginning that only one value has"; exit 1; }
"$CYCLESCOPE" hist --log "$dir/log" --counter work --under hash --subsample 1 --subsample 7 --json >"$dir/under.json"
"$CYCLESCOPE" hist --log "$dir/log" --under hash --json >"$dir/hash.json"
"$CYCLESCOPE" hist --log "$dir/log" --under hash --csv >"$dir/hash.csv"
python3 - "$dir" <<'P'
import collections, csv, json, sys
sys.path.insert(0, "tests")
import log_reader
work = sys.argv[1]
load = lambda name: json.load(open(f"{work}/{name}.json"))
starts = []
log_reader.columns_of, columns_of = (lambda *a: starts.append(columns_of(*a)) or starts[-1]), log_reader.columns_of
log_reader.read(open(f"{work}/log", "rb").read())
starts = [s for columns in starts for s in columns[0]]
shipped = load("periods")
edges = sorted((b[0], b[1]) for b in shipped["bins"])
truth = collections.Counter()
for a, b in zip(starts, starts[1:]):
    truth[next((e for e in edges if e[0] <= b - a < e[1]), None)] += 1
said = {(b[0], b[1]): b[2][0] for b in shipped["bins"] if b[2][0]}
marked = sum(truth.values()) - sum(said.values())  # what stands before a gap that the log marks is no interval
assert 0 <= marked < 0.01 * len(starts) and truth[None] <= marked, (marked, truth[None])
assert all(0 <= truth[e] - n <= marked for e, n in said.items()), (truth, said)
hist = {(round(b[0], 9), b[2]) for b in load("hist")["histogram0"]["bins"]}
rows = list(csv.DictReader(open(f"{work}/hash.csv", newline="")))
bins = load("hash")["histogram0"]["bins"]
said = [(round(float(r["from"]), 6), round(float(r["to"]), 6), int(r["intervals"])) for r in rows]
assert rows and said == [(round(b[0], 6), round(b[1], 6), b[2]) for b in bins], "CSV has the bins of JSON"
assert abs(sum(float(r["percent"]) for r in rows) - 100) < 1e-6 and {r["counter"] for r in rows} == {"work"}
overlay = load("overlay")
assert {(round(b[0], 9), b[2][0]) for b in overlay["bins"]} == hist, "overlaid bins are the sums' bins"
assert all(b[2][0] == b[2][1] for b in overlay["bins"]) and overlay["series"][1]["distance"] == 0
linear = load("linear")
assert linear["series"][0]["intervals"] == overlay["series"][0]["intervals"]
assert abs(linear["series"][0]["mean"] - overlay["series"][0]["mean"]) < 1e-9
assert sum(b[2][0] for b in linear["bins"]) == linear["series"][0]["intervals"], "no rate is beyond 1 a cycle"
widths = {round(b[1] - b[0], 6) for b in linear["bins"]}
assert widths == {2.0}, widths
rows = load("coarser")["coarser"]
tags = {r["name"]: r for r in load("tags")["tags"]}
assert len(rows) == 8 and all(tags[r["name"]]["samples"] == r["samples"] for r in rows if r["subsample"] == 1)
assert all(abs(r["samples"] - tags[r["name"]]["samples"] / 7) < 0.2 * r["samples"] + 20 for r in rows if r["subsample"] == 7)
under = {r["subsample"]: r for r in load("under")["periods"]}
assert under[1]["intervals"] == tags["hash"]["kept"] and under[7]["intervals"] < under[1]["intervals"] / 5, under
print("ok distributions of", len(starts), "samples")
P
head -c "$(($(stat -c %s "$dir/log") / 2))" "$dir/log" >"$dir/half"
if python3 tests/log_reader.py "$dir/half" >/dev/null 2>&1; then
    echo "not ok the second reader took half a log for a whole one"
    exit 1
fi

# ---- four tags of five; eight threads name a number of their own alike: live, from a log, from a store ----
cat >"$dir/threads.c" <<'C'
#include "signals/cyclescope.h"
#include <pthread.h>
#include <stdint.h>
#include <time.h>
static cs_signal what, tenant, stage, round_, fifth, work;
static void spin(uint64_t ns, uint64_t value)
{
    struct timespec t;
    uint64_t begin = 0, now;
    cs_set(what, value);
    cs_set(stage, value == 5 ? 2 : 1);
    do {
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
        now = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
        begin = begin ? begin : now;
        cs_add(work, 1);
    } while (now - begin < ns);
}
static void *thread(void *number)
{
    const uint64_t n = (uint64_t)(uintptr_t)number;
    cs_name(what, 1000 + n, "strings");
    cs_set(tenant, 1 + n % 2);
    for (int i = 0; i < 10; i++) {
        cs_set(round_, 1 + (uint64_t)i % 4);
        cs_set(fifth, (uint64_t)i);
        spin(6000000, 1000 + n);
        spin(2000000, 5);
    }
    return NULL;
}
int main(void)
{
    static const char *const names[] = {"even", "odd"};
    what = cs_define(CS_ANY_WORD, "what", CS_TAG), tenant = cs_define(CS_ANY_WORD, "tenant", CS_TAG);
    stage = cs_define(CS_ANY_WORD, "stage", CS_TAG), round_ = cs_define(CS_ANY_WORD, "round", CS_TAG);
    fifth = cs_define(CS_ANY_WORD, "fifth", CS_TAG), work = cs_define(CS_ANY_WORD, "work", CS_COUNTER);
    cs_name(what, 5, "numbers"), cs_name(stage, 1, "long"), cs_name(stage, 2, "short");
    for (unsigned i = 0; i < 2; i++)
        cs_name(tenant, 1 + i, names[i]);
    nanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL);
    for (uintptr_t n = 0; n < 8; n++) {
        pthread_t t;
        if (pthread_create(&t, NULL, thread, (void *)n) != 0)
            return 1;
        pthread_join(t, NULL);
    }
    return 0;
}
C
gcc -I. -O2 -Wall -Wextra -Werror -pthread -o "$dir/threads" "$dir/threads.c" "$BUILD/libcyclescope.a"
"$CYCLESCOPE" observe --period 5000 -o "$dir/store" --json -- "$dir/threads" >"$dir/live.json" 2>"$dir/said"
"$CYCLESCOPE" observe --period 5000 --log "$dir/four" --json -- "$dir/threads" >"$dir/logged.json"
for tag in what tenant stage round; do
    "$CYCLESCOPE" tags --log "$dir/four" --tag $tag --json >"$dir/four.$tag"
    "$CYCLESCOPE" tags --store "$dir/store" --tag $tag --json >"$dir/kept.$tag"
done
"$CYCLESCOPE" tags --log "$dir/four" --tag what --lengths --json >"$dir/four.lengths"
"$CYCLESCOPE" hist --log "$dir/four" --log "$dir/four" --under strings --json >"$dir/four.under"
python3 tests/log_reader.py "$dir/four" >"$dir/second.json"
python3 - "$dir" <<'P'
import json, sys
work = sys.argv[1]
load = lambda name: json.load(open(f"{work}/{name}"))
live, head = load("live.json"), load("second.json")["head"]
assert any("not read: fifth" in n for n in live["notes"]), live["notes"]
assert head["tags"] == ["what", "tenant", "stage", "round"] and head["counters"] == ["work"], head
def shares(rows, what):
    names = [r["name"] for r in rows]
    assert len(set(names)) == len(names), (what, names)
    return {r["name"]: r["percent"] for r in rows if r["percent"]}
for i, tag in enumerate(head["tags"]):
    truth = {"what": {"strings": 75, "numbers": 25}, "tenant": {"even": 50, "odd": 50}, "stage": {"long": 75, "short": 25},
             "round": {"1": 30, "2": 30, "3": 20, "4": 20}}[tag]
    key = "tags" + ("" if i == 0 else str(i + 1))
    for what, rows in ("live", live), ("log", load(f"four.{tag}")), ("store", load(f"kept.{tag}")):
        said = shares(rows[key], what)
        ran = sum(said.get(n, 0) for n in truth)  # the rest: before and after, when the line had no thread
        assert ran > 60 and all(abs(100 * said.get(n, 0) / ran - p) < 8 for n, p in truth.items()), (what, tag, said)
lengths = [r["name"] for r in load("four.lengths")["lengths"]]
assert lengths.count("strings") == 1, lengths
intervals = load("four.under")["series"][0]["intervals"]
strings = next(r for r in load("four.what")["tags"] if r["name"] == "strings")
assert intervals == strings["kept"] > 1000, (intervals, strings)
print("ok four tags, one row a name")
P

# ---- what a program measured of itself ----
cat >"$dir/measured.c" <<'C'
#include "signals/cyclescope_measure.h"
CS_SITE(short_one);
CS_SITE(long_one);
static void spin(uint64_t cycles)
{
    uint64_t begin = cs_clock_begin();
    while (cs_clock_begin() - begin < cycles)
        ;
}
int main(int argc, char **argv)
{
    for (int i = 0; i < 500; i++) {
        struct cs_measure m = cs_begin();
        spin(1000);
        cs_end(&short_one, m);
        m = cs_begin();
        spin(10000);
        cs_end(&long_one, m);
    }
    return argc == 2 ? cs_sites_write(argv[1]) : 2;
}
C
gcc -I. -O2 -Wall -Wextra -Werror -o "$dir/measured" "$dir/measured.c"
"$dir/measured" "$dir/times"
"$CYCLESCOPE" hist --sections "$dir/times" --json >"$dir/sites.json"
python3 - "$dir/sites.json" <<'P'
import json, sys
sites = {s["section"]: s for s in json.load(open(sys.argv[1]))["sections"]}
for name, cycles in (("short_one", 1000), ("long_one", 10000)):
    s = sites[name]
    assert s["runs"] + (s["switched"] or 0) == 500, s
    assert 0.9 * cycles < s["p50_cycles"] < 1.4 * cycles, s
    assert sum(n for _, n in s["bins"]) == s["runs"], s
print("ok measured sites")
P
"$CYCLESCOPE" hist --sections "$dir/times" --counter long_one >/dev/null
! "$CYCLESCOPE" hist --sections "$dir/times" --counter nosuch >/dev/null 2>&1
echo "bin	5	5" >"$dir/broken"
! "$CYCLESCOPE" hist --sections "$dir/broken" >/dev/null 2>"$dir/err"
grep -q "line 1" "$dir/err"
