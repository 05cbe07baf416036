#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Programs written for Tracy and for Perfetto's SDK, rebuilt unchanged with the installed headers in place of theirs: shares
# by zone, slice and plot against the programs' own clock, frames a cycle of it and counters against their own count.
set -u
command -v g++ >/dev/null || { echo "no C++ compiler (g++)"; exit 77; }
[ "$(nproc)" -ge 2 ] || { echo "the observer needs a second CPU"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bad=0
fail() { echo "failed: $*"; bad=1; }
make -s BUILD="$BUILD" CS_DEPS_DONE=1 PREFIX="$work/prefix" install >"$work/out" 2>&1 || { echo "failed: install: $(tail -n 3 "$work/out")"; exit 1; }
flags=(-Wall -Wextra -Wshadow -Werror -Wno-unused-parameter -I"$work/prefix/include/cyclescope" -I"$work/prefix/include")
library=$work/prefix/lib/libcyclescope.a

# Every dialect and compiler that is there takes them.
for cc in gcc clang; do
    command -v $cc++ >/dev/null || [ $cc = gcc ] || continue
    cxx=${cc/gcc/g}++
    for standard in 11 17 20; do
        for p in tracy perfetto; do
            $cxx -std=c++$standard -O2 -Wno-volatile -Wno-deprecated -Wno-unknown-warning-option "${flags[@]}" -c -o "$work/$p.o" tests/macros/${p}_program.cc 2>"$work/err" ||
                fail "$cxx -std=c++$standard: $p: $(head -n 4 "$work/err")"
        done
        $cc -std=gnu$((standard > 11 ? 17 : 11)) -O2 "${flags[@]}" -c -o "$work/zones.o" tests/macros/tracy_zones.c 2>"$work/err" || fail "$cc: $(head -n 4 "$work/err")"
    done
done
g++ -o "$work/tracy" "$work/tracy.o" "$work/zones.o" "$library" && g++ -o "$work/perfetto" "$work/perfetto.o" "$library" || { echo "failed: link"; exit 1; }

observe() { # PROGRAM SIGNALS SECONDS
    "$CYCLESCOPE" observe -s "$2" --period 3000 --jitter 3000 --log "$work/log" -- "$work/$1" "$3" >"$work/truth" 2>"$work/err" ||
        fail "observe $1: $(cat "$work/err")"
}
shares() { # PROGRAM SIGNALS TAG...
    local program=$1 signals=$2 tag
    shift 2
    observe "$program" "$signals" 3
    for tag; do
        "$CYCLESCOPE" tags --log "$work/log" --tag "$tag" --json >"$work/$tag.json" || { fail "tags $tag"; continue; }
        python3 - "$work/truth" "$work/$tag.json" "$tag" <<'END2' || fail "$program: $tag"
import json, sys
truth = {w[1]: float(w[2]) for w in (l.rstrip("\n").split("\t") for l in open(sys.argv[1])) if w[0] == sys.argv[3] and w[1] != "0"}
seen = {}
table = json.load(open(sys.argv[2]))
for r in table.get("tags") or table["tags2"]: # the second tag that was read
    if r["percent"]:
        seen[(r["name"] or str(r.get("value"))).split(" (")[0]] = r["percent"] / 100
print(sys.argv[3], {k: (round(v, 3), round(seen.get(k, 0), 3)) for k, v in truth.items()})
assert len(truth) >= 2, truth
for name, share in truth.items():
    assert abs(seen.get(name, 0) - share) < 0.02, (name, share, seen)
assert set(seen) <= set(truth) | {"0", "nothing yet"}, set(seen) - set(truth)
END2
    done
}
shares tracy zone,size,frames zone size
python3 - "$work/truth" "$work/zone.json" <<'END2' || fail "frames"
import json, sys
made = next(float(l.split()[1]) for l in open(sys.argv[1]) if l.startswith("frames"))
rows = [r for r in json.load(open(sys.argv[2]))["tags"] if r["percent"]]
seen = sum(r["cycles"] / 1000 * r["per_1000_cycles"]["frames"] for r in rows) / sum(r["cycles"] for r in rows)
print("frames a million cycles", made * 1e6, "seen", seen * 1e6)
assert 0.9 < seen / made < 1.1 # a rate, for what the observer misses while others have its CPU has as many as the rest
END2
observe tracy thread,frame 2
"$CYCLESCOPE" tags --log "$work/log" --tag thread --json | grep -q '"main thread"' || fail "the thread has no name"
"$CYCLESCOPE" tags --log "$work/log" --tag frame --json | grep -q '"audio"' || fail "the frame has no name"
shares perfetto slice,Queue slice Queue
observe perfetto Memory,Done 2
"$CYCLESCOPE" tags --log "$work/log" --tag Memory --json >"$work/json"
grep -q '4096' "$work/json" && grep -q '"Done": *[0-9.]*[1-9]' "$work/json" || fail "counters: $(head -c 600 "$work/json")"

# Switched off: nothing is published, nothing breaks.
CYCLESCOPE_SIGNALS=off "$work/tracy" 0.05 >/dev/null && CYCLESCOPE_SIGNALS=off "$work/perfetto" 0.05 >/dev/null || fail "switched off"
exit $bad
