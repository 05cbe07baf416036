#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Beside others.
# A flat program, 1,500 functions that take turns and have a handful of samples each: sum states that its causes are not
# those of the program. One function that takes all the time has no such note.
set -eu
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
export CYCLESCOPE_CACHE=$tmp/cache
for n in 1500 1; do
    python3 - $n >"$tmp/flat.c" <<'P'
import sys
n = int(sys.argv[1])
for i in range(n):
    steps = "".join(f"x = (x ^ {i * 40503 + k * 7919}u) + (x >> {k + 3});" for k in range(12))
    print(f"__attribute__((noinline)) unsigned long f{i}(unsigned long x) {{ {steps} return x; }}")
print("unsigned long (*const all[])(unsigned long) = {" + ",".join(f"f{i}" for i in range(n)) + "};")
print("int main(void) { unsigned long x = 1; for (unsigned long i = 0; i < 60000000; i++)"
      f" x = all[i % {n}](x); return x == 0; }}")
P
    gcc -O1 -o "$tmp/flat$n" "$tmp/flat.c"
    "$CYCLESCOPE" record -F 1000 -o "$tmp/store$n" -- "$tmp/flat$n" >"$tmp/out" 2>&1 || { cat "$tmp/out"; exit 1; }
    "$CYCLESCOPE" sum --json --store "$tmp/store$n" >"$tmp/json$n"
done
python3 - "$tmp" <<'P'
import json, sys
flat, one = (json.load(open(f"{sys.argv[1]}/json{n}")) for n in (1500, 1))
told = lambda said: "Functions with few samples have more" in json.dumps(said)
if flat["small"] <= flat["summary"]["samples"] or one["summary"]["samples"] < 100:
    print("too few samples, or not flat enough, on this machine"); sys.exit(77)
print("ok: a flat program has the note" if told(flat) else "not ok: a flat program has no note")
print("ok: one hot function has none" if not told(one) else "not ok: one hot function has the note")
sys.exit(not told(flat) or told(one))
P
