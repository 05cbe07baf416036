#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The example words, on a text whose parts are long: what it prints is what Python counts by the same rule, and what the observer sees
# under each tag has as many words a byte. Comments here have a third of the words a byte that code has. Exit 77 where one CPU alone may
# be used, or the program hardly ran.
set -eu
[ "$(nproc)" -ge 2 ] || { echo "one CPU: an observer needs one of its own"; exit 77; }
dir=$(mktemp -d) words=$BUILD/signals/examples/words
trap 'pkill -KILL -f "^$words $dir/" 2>/dev/null; rm -rf "$dir"' EXIT # observe leaves a command that it didn't end
python3 - "$dir" <<'P'
import sys
code = "    if (a [ i ] < b ) c = d + %d ;\n"
comment = " * nonautomatically overgeneralised counterrevolutionaries %d\n"
with open(sys.argv[1] + "/text.c", "w") as to:
    for stretch in range(40):
        to.writelines(code % i for i in range(400))
        to.write("/* a comment\n")
        to.writelines(comment % i for i in range(400))
        to.write(" */\n")
P
"$words" "$dir/text.c" 3 >"$dir/said"
"$CYCLESCOPE" observe -s part,bytes,words --period 2000 -t 3 --json -- "$words" "$dir/text.c" 1000000 >"$dir/seen.json"
python3 - "$dir" <<'P'
import json, re, sys
dir = sys.argv[1]
counted = {"code": [0, 0], "comment": [0, 0]}
part = "code"
for line in open(dir + "/text.c"):  # a line counts for the part that it begins in
    counted[part][0] += len(line)
    counted[part][1] += len(line.split())
    for mark in re.findall(r"/\*|\*/", line):
        part = "comment" if mark == "/*" else "code"
said = {p: [int(b), int(w)] for p, b, w in re.findall(r"(\w+): (\d+) bytes, (\d+) words", open(dir + "/said").read())}
assert said == {p: [3 * b, 3 * w] for p, (b, w) in counted.items()}, (said, counted)
print("ok the program counts as Python does:", said)
rows = {r["name"]: r for r in json.load(open(dir + "/seen.json"))["tags"]}
assert set(rows) <= {"code", "comment", "(target not running)", "(further values)", "0"}, rows.keys()
if any(rows.get(p, {"kept": 0})["kept"] < 300 for p in counted):
    print("fewer than 300 intervals of a part: the program hardly ran")
    sys.exit(77)
for p, (b, w) in counted.items():
    rate = rows[p]["per_1000_cycles"]
    seen = rate["words"] / rate["bytes"]
    assert abs(seen / (w / b) - 1) < 0.05, (p, seen, w / b)
    print("ok words a byte of %s: %.4f seen, %.4f counted" % (p, seen, w / b))
P
