#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Beside others.
# The simplest command names the guilty line: three of the ten programs of bench/run first-hour. A library works for a line, a
# runtime interprets a function, one thread of several is hot. `record` alone says so; `prof` says the same.
set -eu
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
PERF=0 TASKS=regex,Python,threads python3 bench/first-hour.py --quick >"$tmp/said" || { cat "$tmp/said"; exit 1; }
python3 - "$tmp/said" <<'PY' || { cat "$tmp/said"; exit 1; }
import json, sys
last = json.loads(open(sys.argv[1]).read().strip().split("\n")[-1])
assert last["value"] == 3 and not last["detail"]["wrong"], last
PY
cd "$tmp"
g++ -O2 -g -o router "$OLDPWD/bench/hour/router.cc"
"$CYCLESCOPE" record -- ./router 1 >/dev/null 2>said
line=$(grep -n 'GUILTY' "$OLDPWD/bench/hour/router.cc" | cut -d: -f1)
"$CYCLESCOPE" prof >told
for text in said told; do # the summary and prof say the same
    grep -Eq "% of the samples are at router.cc:$line \(route\), or" <(tr '\n' ' ' <"$text" | tr -s ' ') || { cat said told; exit 1; }
done
"$CYCLESCOPE" prof --json | python3 -c '
import json, sys
line = json.load(sys.stdin)["hottest_line"]
assert line["how"] == "chains" and line["line"] == int(sys.argv[1]) and line["samples"] > 0.7 * line["of"], line' "$line"
