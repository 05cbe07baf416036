#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Programs that call the ITT API, by environment variable alone: shares of tasks against the program's own count of
# its loop's turns, JIT methods, and unmodified libomp and TBB.
set -u
. "$(dirname "$0")/../until.sh"
work=$(mktemp -d)
started=()
trap 'for p in "${started[@]}"; do kill -9 "$p" 2>/dev/null; done; rm -rf "$work"' EXIT
bad=0
fail() { echo "failed: $*"; bad=1; }
itt=$BUILD/libcyclescope-itt.so.1
client=$BUILD/tests/programs/itt_client

# ---- shares of tasks, nested ones too ----
if [ "$(nproc)" -ge 2 ]; then
    INTEL_LIBITTNOTIFY64=$itt "$CYCLESCOPE" observe -s task,shop.sold --period 3000 --jitter 3000 --log "$work/log" -- "$client" 3 \
        >"$work/truth" 2>"$work/err" || fail "observe: $(cat "$work/err")"
    "$CYCLESCOPE" tags --log "$work/log" --tag task --json >"$work/json" || fail "tags"
    python3 - "$work/truth" "$work/json" <<'END' || fail "shares: $(grep task "$work/truth"; head -c 600 "$work/json")"
import json, sys
truth = {w[1]: float(w[2]) for w in map(str.split, open(sys.argv[1])) if len(w) == 3 and w[0] == "task"}
rows = {r["name"]: r["percent"] / 100 for r in json.load(open(sys.argv[2]))["tags"] if r["name"] and r["percent"]}
assert len(truth) == 3, truth
sold = int(next(l for l in open(sys.argv[1]) if l.startswith("sold")).split()[1])
ran = [r for r in json.load(open(sys.argv[2]))["tags"] if r["percent"]]
counted = sum(r["cycles"] / 1000 * (r["per_1000_cycles"]["shop.sold"] or 0) for r in ran)
visits = next(r["visits"] for r in ran if r["name"] == "alone")
print("sold", sold, "counted", counted, "visits", visits)
# The first and last moments aren't observed, nor those in which the observer had no CPU. Each visit that was seen sells three.
assert visits > 200 and 0.9 < counted / (3 * visits) < 1.1 and counted < 1.1 * sold, (sold, counted, visits)
lost = max(0, 1 - 3 * visits / sold) # in pieces of many visits, which are few
for name, share in truth.items():
    print(name, share, rows.get(name))
    assert abs(rows[name] - share) < 0.02 + 0.1 * lost, (name, share, rows[name], lost)
END
fi

# ---- a JIT compiler's methods ----
INTEL_LIBITTNOTIFY64=$itt INTEL_JIT_PROFILER64=$itt "$client" --map || fail "the JIT method isn't in the map"

# ---- nothing is published, and nothing breaks ----
CYCLESCOPE_SIGNALS=off INTEL_LIBITTNOTIFY64=$itt "$client" 0.1 >/dev/null || fail "switched off"

look() { # look PROGRAM PATTERN...: until each pattern was seen in what it publishes
    local program=$1 pid left
    shift
    INTEL_LIBITTNOTIFY64=$itt "$program" >/dev/null 2>&1 &
    pid=$!
    started+=($pid)
    local want=("$@")
    all_seen() {
        "$CYCLESCOPE" signals -p $pid >"$work/out" 2>/dev/null
        left=()
        for p in "${want[@]}"; do grep -qE "$p" "$work/out" || left+=("$p"); done
        want=("${left[@]}")
        [ ${#want[@]} -eq 0 ]
    }
    until_true -t 20 all_seen
    kill -9 $pid
    wait $pid 2>/dev/null
    [ ${#want[@]} -eq 0 ] || fail "$(basename "$program"): never seen: ${want[*]}; last: $(cat "$work/out")"
}

# ---- OpenMP's runtime ----
cat >"$work/omp.c" <<'END'
static double a[100000];
int main(void)
{
    for (;;) {
#pragma omp parallel for num_threads(2)
        for (int i = 0; i < 100000; i++)
            a[i] += i;
    }
}
END
if command -v clang >/dev/null && clang -O1 -g -fopenmp=libomp -o "$work/omp" "$work/omp.c" -Wl,-rpath,"$(clang -print-resource-dir)/../../" 2>"$work/err"; then
    look "$work/omp" 'wait +OMP .*, main \(omp.c:5\)' 'thread +OMP Worker' 'wait +0'
else
    echo "not tried: OpenMP: $(head -n 1 "$work/err")"
fi

# ---- TBB ----
cat >"$work/tbb.cc" <<'END'
#define TBB_USE_PROFILING_TOOLS 1
#include <tbb/parallel_for.h>
int main()
{
    static double a[1000000];
    for (;;)
        tbb::parallel_for(0, 1000000, [](int i) { a[i] += i; });
}
END
if command -v g++ >/dev/null && g++ -O1 -o "$work/tbb" "$work/tbb.cc" -ltbb 2>"$work/err"; then
    look "$work/tbb" 'task +tbb_parallel_for'
else
    echo "not tried: TBB: $(head -n 1 "$work/err")"
fi
exit $bad
