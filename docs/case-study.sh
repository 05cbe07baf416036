#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The case study of docs/case-study.md, from source to tables: docs/case-study.sh [FOLDER]
# Builds bzip2 with the compiler plugin, observes it, and prints what the page shows. Needs no PMU; about a minute.
set -eu
cd "$(dirname "$0")/.."
export BUILD=${BUILD:-build}
program=$BUILD/cyclescope
folder=${1:-$(mktemp -d /tmp/case-study.XXXXXX)}
mkdir -p "$folder"
[ -x "$program" ] && [ -e "$BUILD/plugin/cyclescope.so" ] || { echo "run make first (the plugin needs gcc's plugin headers)" >&2; exit 1; }
LINK=$(realpath "$BUILD/libcyclescope.a") bench/programs build bzip2 counted "-fplugin=$(realpath "$BUILD/plugin/cyclescope.so")" \
    -fplugin-arg-cyclescope-methods -fplugin-arg-cyclescope-count=iterations >/dev/null
eval "command=($(bench/programs command bzip2 counted small))"
say() { echo; echo "## $*"; }
"$program" observe -s code,iterations --period 600 --log "$folder/log" -- sh -c 'exec "$@" >/dev/null' sh "${command[@]}"
say "Which methods, and their rates"
"$program" tags --log "$folder/log" --top 8
say "The whole program: what coarser periods leave of the distribution"
"$program" hist --log "$folder/log" --subsample 1 --subsample 10 --subsample 100 --subsample 1000 --subsample 10000
for method in mainGtU generateMTFValues; do
    name=$("$program" tags --log "$folder/log" --top 0 --json | python3 -c '
import json, sys
rows = json.load(sys.stdin)["tags"]
print(max((r for r in rows if sys.argv[1] in r["name"]), key=lambda r: r["cycles"], default={"name": ""})["name"])' "$method")
    [ -n "$name" ] || continue
    say "$name"
    "$program" hist --log "$folder/log" --under "$name"
done
say "Over time"
"$program" timeline --log "$folder/log" --buckets 16
echo
echo "the log is $folder/log"
