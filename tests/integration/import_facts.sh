#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Beside others.
# What an import neither loses nor invents: images that are only called from, accesses that nothing timed, names of files
# without build-ids, names of JIT code. A line "kind NAME: ok" or "kind NAME: WRONG" each; bench/field.py counts them.
set -u
work=$(mktemp -d) bad=0
chmod 755 "$work"
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
kind() { # NAME: the last command's status decides
    [ $? = 0 ] && echo "kind $1: ok" && return
    echo "kind $1: WRONG"
    bad=1
    tail -n 30 "${2:-/dev/null}"
}
imported() { # STORE FILE OPTIONS...
    rm -rf "$1"
    "$CYCLESCOPE" import "${@:3}" -o "$1" "$2" >said 2>&1 || { cat said; false; }
}
cat >lib.c <<'C'
__attribute__((noinline)) static void leaf(long n) { for (volatile long i = 0; i < n; i++); }
void entry(long n) { leaf(n); __asm__ volatile(""); }
C
cat >main.c <<'C'
void entry(long);
int main(void) { for (int i = 0; i < 40; i++) { entry(1000000); __asm__ volatile(""); } }
C
gcc -O1 -g -shared -fPIC -o libentry.so lib.c && gcc -O1 -g -o caller main.c ./libentry.so || exit 1
perf record -B -N -q --call-graph dwarf,4096 -e cpu-clock -F 400 -o chains.data ./caller >said 2>&1 ||
    { echo "perf can't record here: $(tail -n 1 said)"; exit 77; }

# ---- main never is the innermost frame ----
imported s chains.data && "$CYCLESCOPE" callers entry --store s >callers && grep -Eq ' main +caller$' callers
kind import-middle-frames callers
"$CYCLESCOPE" export -f folded --store s >folded && ! grep -q ';\[unknown\];.*entry' folded && grep -q ';main;entry;leaf ' folded
kind import-middle-frames-folded folded

# ---- a timer's samples have a data source that says "not available" ----
! grep -q 'memory access' said && ! "$CYCLESCOPE" list leaf --store s | grep -q 'accesses'
kind import-data-source-na said

# ---- no build-ids, and another file at the path than the one recorded: as on another machine ----
perf record -B -N -q -e cpu-clock -o plain.data ./caller
mkdir -p "root$work" && cp libentry.so "root$work/" && mv libentry.so kept && cp kept libentry.so && touch -d '+1 minute' libentry.so
imported s plain.data && "$CYCLESCOPE" prof --store s >prof && ! grep -q ' leaf ' prof && tr '\n' ' ' <prof | grep -q 'may not be the one that ran'
kind import-without-build-ids prof
imported s plain.data --trust-paths && "$CYCLESCOPE" prof --store s >prof && grep -q ' leaf ' prof
kind import-trust-paths prof
rm libentry.so && imported s plain.data --symfs root && (cd / && "$CYCLESCOPE" prof --store "$work/s") >prof && grep -q ' leaf ' prof
kind import-symfs prof

# ---- nothing that tells time was recorded: calc says so ----
mv kept libentry.so && perf record -B -N -q -e page-faults -c 1 -o faults.data ./caller && imported s faults.data --trust-paths &&
    { "$CYCLESCOPE" calc "$("$CYCLESCOPE" prof --store s --json | python3 -c '
import json, sys
print(next(r["procedure"] for r in json.load(sys.stdin)["rows"] if r["procedure"] and r["image_name"] != "[kernel]"))')" --store s >calc 2>&1; [ $? = 2 ] || [ $? = 1 ]; } &&
    grep -q 'no event of time .* was recorded, only page-faults' calc
kind calc-without-time calc

# ---- a recording that doesn't say where the kernel lies: its samples are the kernel's all the same ----
perf record -B -N -q -e cpu-clock -F 400 -o kernel.data dd if=/dev/zero of=/dev/null bs=1M count=4000 2>/dev/null && python3 - <<'P'
import struct
d = bytearray(open("kernel.data", "rb").read())
at = d.find(b"[kernel.kallsyms]_text")
assert at > 0
struct.pack_into("<QQ", d, at - 24, 1 << 63, 1)  # start and length of the mapping
open("kernel.data", "wb").write(d)
P
imported s kernel.data && "$CYCLESCOPE" prof --by image --json --store s >prof && python3 -c '
import json
n = {r["image_name"]: sum(r["samples"].values()) for r in json.load(open("prof"))["rows"]}
assert n.get("[unknown]", 0) == 0 and n["[kernel]"] > 0.3 * sum(n.values()), n' 2>>prof &&
    "$CYCLESCOPE" prof --store s >prof && grep -q 'code of the recorded kernel' prof
kind import-kernel-without-place prof

# ---- JIT code: a perf map beside the recording, a jitdump with its times ----
program=$BUILD/tests/programs/replaced_code
perf record -B -N -q -e cpu-clock -o map.data sh -c 'echo $$ >pid; exec "$@"' - "$program" map 200 && mv "/tmp/perf-$(cat pid).map" . &&
    imported s map.data && "$CYCLESCOPE" prof --store s >prof && grep -q ' second ' prof
kind import-perf-map prof
perf record -B -N -q -k mono -e cpu-clock -o dump.data "$program" dump 300 && imported s dump.data && "$CYCLESCOPE" prof --store s --json | python3 -c '
import json, sys
n = {r["procedure"]: sum(r["samples"].values()) for r in json.load(sys.stdin)["rows"]}
assert min(n.get("first", 0), n.get("second", 0)) > 0.3 * sum(n.values()), n' >prof 2>&1
kind import-jitdump prof

[ $bad = 0 ]
