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
"$CYCLESCOPE" hist --log "$dir/log" --counter work --under hash --subsample 1 --subsample 7 --json >"$dir/under.json"
python3 - "$dir" <<'P'
import collections, json, sys
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
