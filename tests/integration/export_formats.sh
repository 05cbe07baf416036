#!/bin/bash
# Beside others.
# Exports agree with the store on totals, as independent readers see them: protoc for pprof and OTLP, Python for the rest.
set -u
corpus=$(cd "$(dirname "$0")/../.." && pwd)/../shared/corpus
[ -d "$corpus" ] || { echo "no corpus of recordings beside this checkout"; exit 77; }
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
bad=0
pprof_text() { protoc -I "$(dirname "$0")/.." --decode=Profile profile.proto; }
check() { [ "$2" = "$3" ] || { echo "$1: got $2, expected $3"; bad=1; }; }

"$CYCLESCOPE" import -o "$work/store" "$corpus/quipper-events/perf.data.callgraph-3.8" >/dev/null || exit 1
for f in pprof otlp folded speedscope firefox csv json; do
    "$CYCLESCOPE" export --store "$work/store" --format $f --to "$work/out.$f" || { echo "$f failed"; exit 1; }
done
check "folded total" "$(awk '{n += $NF} END {print n}' "$work/out.folded")" 1768
check "speedscope total" "$(python3 -c '
import json; d = json.load(open("'"$work"'/out.speedscope")); n = len(d["shared"]["frames"])
assert all(f < n for p in d["profiles"] for s in p["samples"] for f in s)
print(sum(sum(p["weights"]) for p in d["profiles"]))')" 1768
check "firefox" "$(python3 "$(dirname "$0")/../viewer_files.py" firefox "$work/out.firefox")" 1768
check "csv total" "$(python3 -c '
import csv; print(sum(int(r["count"]) for r in csv.DictReader(open("'"$work"'/out.csv")) if r["kind"] == "points"))')" 1768
check "json rows" "$(python3 -c 'import json; print(len(json.load(open("'"$work"'/out.json"))["rows"]))')" \
    "$(($(wc -l <"$work/out.csv") - 1))"
check "pprof total" "$(zcat "$work/out.pprof" | pprof_text | awk '/^sample /{inside = 1} /^}/{inside = 0}
    inside && $1 == "value:" {n += $2} END {print n}')" 1768
check "otlp total" "$(protoc -I "$(dirname "$0")/.." --decode=ProfilesData otlp.proto <"$work/out.otlp" | awk '$1 == "values:" {n += $2} END {print n}')" 1768
"$CYCLESCOPE" export --store "$work/store" --format pdf >/dev/null 2>&1; check "unknown format" $? 2
"$CYCLESCOPE" export --store "$work/store" --event nonesuch >/dev/null 2>&1; check "unknown event" $? 1

# A program that names its phases, observed: its log as a trace has the same stretches as a reader of our own finds.
if [ -x "$BUILD/signals/examples/phases" ] && [ "$(nproc)" -gt 1 ]; then
    for second in 1 2 3 4 5; do # of which the machine may have given the program nothing
        "$CYCLESCOPE" observe -s phase,work --period 5000 --log "$work/log" -- "$BUILD/signals/examples/phases" --seconds 1 >/dev/null
        check "a log" $? 0
        "$CYCLESCOPE" export --format trace --log "$work/log" --to "$work/trace.json"; check "a trace" $? 0
        ! grep -q '"ph":"X"' "$work/trace.json" || break
    done
    python3 "$(dirname "$0")/../viewer_files.py" trace "$work/trace.json" "$work/log"; check "the stretches of the trace, after $second s" $? 0
fi
"$CYCLESCOPE" export --format trace >/dev/null 2>&1; check "a trace of nothing" $? 2

# What compilers read: a loop of 100 turns a call must come out as that, to a few per cent, in LLVM's form as its own tool
# shows it, and GCC must take the profile.
cat >"$work/hot.c" <<'C'
static volatile unsigned sink;
__attribute__((noinline)) static unsigned work(unsigned x)
{
    unsigned r = 0;
    for (unsigned i = 0; i < 100; i++)
        r = r * 33 + (sink ^ x);
    return r;
}
int main(void)
{
    for (unsigned i = 0; i < 60000000; i++)
        sink += work(i);
    return 0;
}
C
gcc -O2 -g -Wl,--emit-relocs "$work/hot.c" -o "$work/hot" || exit 1
before=$(date +%s)
"$CYCLESCOPE" record --burst-rate 50 --seconds 4 -o "$work/bursts" -- "$work/hot" >"$work/said" 2>&1
"$CYCLESCOPE" export --store "$work/bursts" --format pprof --to "$work/timed.pprof" || bad=1
zcat "$work/timed.pprof" | pprof_text | python3 -c '
import re, sys
text = sys.stdin.read()
top = dict(re.findall(r"^(\w+): (-?\d+)$", text, re.M))
strings = re.findall(r"^string_table: \"(.*)\"$", text, re.M)
kind, unit = (strings[int(n)] for n in re.search(r"^period_type \{\n  type: (\d+)\n  unit: (\d+)\n\}", text, re.M).groups())
assert (kind, unit) == ("cpu", "nanoseconds") and top["period"] == "1000000", (kind, unit, top)
assert 3.5e9 < int(top["duration_nanos"]) < 20e9, top          # it ran for four seconds
assert abs(int(top["time_nanos"]) / 1e9 - '"$before"') < 60, top
assert len(re.findall(r"^sample_type \{", text, re.M)) == 1 and "burst-starts" not in strings, "samples alone are samples"' || bad=1
if grep -q '^0 bursts' "$work/said" || ! grep -q ' bursts*, ' "$work/said"; then
    echo "no bursts here: $(grep -i burst "$work/said" | head -n 1)"
else
    for f in llvm gcov gcov11 bolt; do
        "$CYCLESCOPE" export --store "$work/bursts" --image hot --format $f --to "$work/hot.$f" >"$work/said.$f" || bad=1
    done
    grep -q '^9[0-9.]* % of the instructions that ran\|^100.0 % of the instr' "$work/said.llvm" || { echo "llvm's loss: $(cat "$work/said.llvm")"; bad=1; }
    grep -q '% of the branches, taken or not, are in this file' "$work/said.bolt" || { echo "bolt's loss: $(cat "$work/said.bolt")"; bad=1; }
    # A static function by the name that llvm-bolt gives it.
    static=$(nm "$work/hot" | awk '$2 == "t" && $3 ~ /^work/ {print $3; exit}')
    grep -qF "1 $static/1 " "$work/hot.bolt" || { echo "no $static/1 in BOLT's file"; bad=1; }
    turns=$(awk -F: '/^work:/ {head = $3; inside = 1; next} /^[^ ]/ {inside = 0} inside && $2 > most {most = $2}
        END {printf "%d", head ? 100 * most / head / 100 : 0}' "$work/hot.llvm")
    [ "$turns" -ge 93 ] && [ "$turns" -le 107 ] || { echo "the loop of 100 turns came out as $turns"; bad=1; }
    gcc -O2 -g -fauto-profile="$work/hot.gcov" -c "$work/hot.c" -o "$work/hot.o" || { echo "gcc refuses the profile"; bad=1; }
    profdata=$(command -v llvm-profdata || ls /usr/bin/llvm-profdata-* 2>/dev/null | head -n 1)
    [ -z "$profdata" ] || "$profdata" show --sample "$work/hot.llvm" | grep -q '^Function: work' || { echo "llvm-profdata refuses"; bad=1; }
    bolt=$(ls /usr/lib/llvm-*/bin/llvm-bolt 2>/dev/null | tail -n 1)
    [ -z "$bolt" ] || "$bolt" "$work/hot" -o "$work/hot.bolted" -data="$work/hot.bolt" -reorder-blocks=ext-tsp -infer-fall-throughs >"$work/bolt.said" 2>&1 &&
        { [ -z "$bolt" ] || grep -q 'functions in the binary .* have non-empty execution profile' "$work/bolt.said"; } ||
        { echo "llvm-bolt refuses"; tail -n 3 "$work/bolt.said"; bad=1; }
    ! grep -s 'profile for .* ignored' "$work/bolt.said" || bad=1
    # Two static functions of one name: llvm-bolt gives each its own profile, which fits its code.
    cat >"$work/one.c" <<'C'
static volatile unsigned sink;
__attribute__((noinline)) static unsigned turn(unsigned x)
{
    unsigned r = 0;
    for (unsigned i = 0; i < 100; i++)
        r = r * 33 + (sink ^ x);
    return r;
}
unsigned other(unsigned x);
int main(void)
{
    for (unsigned i = 0; i < 60000000; i++)
        sink += turn(i) + other(i);
    return 0;
}
C
    cat >"$work/two.c" <<'C'
static volatile unsigned there;
__attribute__((noinline)) static unsigned turn(unsigned x)
{
    unsigned r = 7;
    for (unsigned i = 0; i < 60; i++) {
        r ^= x + there;
        if (r & 4) r += there * 3;
        if (r & 8) r -= there * 5;
    }
    return r;
}
unsigned other(unsigned x) { return turn(x) + 1; }
C
    if [ -n "$bolt" ]; then
        gcc -O2 -Wl,--emit-relocs "$work/one.c" "$work/two.c" -o "$work/twins"
        "$CYCLESCOPE" record --burst-rate 50 --seconds 3 -o "$work/twins.store" -- "$work/twins" >/dev/null 2>&1
        "$CYCLESCOPE" export --store "$work/twins.store" --image twins --format bolt --to "$work/twins.fdata" 2>/dev/null
        "$bolt" "$work/twins" -o "$work/twins.bolted" -data="$work/twins.fdata" -infer-fall-throughs -print-cfg '-print-only=turn.*' 2>&1 |
            awk '/Binary Function "turn\//{n++} /Profile Acc/{fits += $4 + 0 > 95} END {exit !(n == 2 && fits == 2)}' ||
            { echo "BOLT takes one static function for another: $(sort "$work/twins.fdata" | head -n 20)"; bad=1; }
    fi
    ! command -v dump_gcov >/dev/null || dump_gcov -gcov_version=2 "$work/hot.gcov11" 2>/dev/null | grep -q '^work' || { echo "dump_gcov refuses"; bad=1; }
fi
exit $bad
