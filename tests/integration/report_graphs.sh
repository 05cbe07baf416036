#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The page's graph of a switch of which little runs: what ran is drawn. With all of it graphviz takes seconds.
set -u
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -c 'import ctypes.util, sys; sys.exit(not ctypes.util.find_library("gvc"))' || { echo "graphviz's library isn't installed"; exit 77; }
python3 - "$dir/switch.c" <<'P'
import sys
cases = "".join(f"    case {i}:\n        if (x & {i + 1}) hit({i});\n        if (x & {i + 2}) hit({i} + x);\n        break;\n" for i in range(26))
open(sys.argv[1], "w").write(f"""#include <time.h>
volatile unsigned long n;
__attribute__((noinline)) void hit(unsigned long x) {{ n += x; }}
__attribute__((noinline)) void choose(unsigned long x)
{{
    switch (x % 64) {{
{cases}    }}
}}
int main(void)
{{
    for (clock_t end = clock() + 2 * CLOCKS_PER_SEC; clock() < end;)
        for (unsigned long i = 0; i < 100000; i++)
            choose(i % 3 + 64 * i);
}}
""")
P
gcc -O1 -g -fno-if-conversion -o "$dir/switch" "$dir/switch.c" || exit 1
"$CYCLESCOPE" record --burst-rate 200 -o "$dir/store" -- "$dir/switch" >"$dir/said" 2>&1 || { cat "$dir/said"; exit 1; }
"$CYCLESCOPE" report --html "$dir/page.html" --store "$dir/store" >/dev/null || exit 1
"$CYCLESCOPE" cfg choose --dot --store "$dir/store" >"$dir/dot" || exit 1
python3 - "$dir/page.html" "$dir/dot" <<'P'
import json, re, sys
d = json.loads(re.search(r'<script type="application/json" id="profile">(.*?)</script>', open(sys.argv[1]).read(), re.S).group(1))
at = next(r for r in d["rows"] if r[0] == "choose")
cfg = d["details"][at[-3]]["cfg"]
dot = open(sys.argv[2]).read()
ran = [float(m[1]) > 0 or float(m[2]) > 0 for m in re.finditer(r'^  b\d+ \[label="\S+  x (\S+) \(.*?\)  samples (\d+)', dot, re.M)]
edges, drawn = dot.count(" -> "), len(re.findall(r'class="edge', cfg["svg"]))
print(f"{cfg['shown']} of {cfg['blocks']} blocks drawn, {sum(ran)} ran; {drawn} of {edges} edges")
assert edges > 150 and cfg["blocks"] == len(ran) <= 120, "the program isn't what this test is about"
assert cfg["shown"] == sum(ran) and 1 < drawn < 60, "what never ran is drawn"
P
