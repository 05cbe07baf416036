#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A procedure of thousands of instructions: what its sentence blames is what the table of causes has first, with the same share.
set -u
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 - "$dir/large.c" <<'P'
import sys
lines = "".join(f"    x = x * {3 + 2 * (i % 40)} ^ {i};\n" for i in range(900))
open(sys.argv[1], "w").write(f"""#include <time.h>
__attribute__((noinline)) unsigned long large(unsigned long x)
{{
{lines}    return x;
}}
int main(void)
{{
    volatile unsigned long x = 1;
    for (clock_t end = clock() + 3 * CLOCKS_PER_SEC / 2; clock() < end;)
        for (int i = 0; i < 20; i++)
            x = large(x);
    return x == 0;
}}
""")
P
gcc -O1 -g -o "$dir/large" "$dir/large.c" || exit 1
"$CYCLESCOPE" record --burst-rate 100 -o "$dir/store" -- "$dir/large" >"$dir/said" 2>&1 || { cat "$dir/said"; exit 1; }
"$CYCLESCOPE" sum --store "$dir/store" --json >"$dir/sum" || exit 1
python3 - "$dir/sum" <<'P'
import json, re, sys
WORDS = {"Dependency chain": "chain of dependent", "Port contention": "execution ports", "I-cache miss": "instruction fetch",
         "D-cache miss": "stalled on the load", "Branch mispredict": "mispredictions"}
row = next(r for r in json.load(open(sys.argv[1]))["procedures"] if r["procedure"] == "large")
print(row["first"], row["first_percent"], row["sentence"])
if row["first"] not in WORDS:
    print(f"not enough evidence on this machine: {row['first']}")
    sys.exit(77)
assert WORDS[row["first"]] in row["sentence"], "the sentence blames something else"
assert abs(float(re.match(r"([\d.]+) %", row["sentence"]).group(1)) - row["first_percent"]) < 0.06, "another share"
P
