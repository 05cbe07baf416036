#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What others read from our exports: npm's pprof-format decodes our pprof, speedscope in a real browser opens our speedscope
# file and our pprof; both must count as we do, by address and by name.
# Beside others.
set -u
missing=
for command in node npm chromium; do command -v $command >/dev/null || missing="$missing $command"; done
[ -z "$missing" ] || { echo "not there:$missing"; exit 77; }
place=$BUILD/tests/browser
mkdir -p "$place"
cp tests/browser/package.json tests/browser/package-lock.json tests/browser/pprof.mjs tests/browser/speedscope.js "$place/"
if ! (cd "$place" && { [ -d node_modules/speedscope ] && [ -d node_modules/pprof-format ] || npm ci --ignore-scripts --no-audit --no-fund >npm.log 2>&1; }); then
    echo "npm could not fetch pprof-format and speedscope"
    exit 77
fi
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
bad=0
compare() { # STORE NAME
    for f in pprof speedscope json folded; do
        "$CYCLESCOPE" export --store "$1" --format $f --to "$work/$2.$f" || { echo "$f failed"; exit 1; }
    done
    node "$place/pprof.mjs" "$work/$2.pprof" "$work/$2.json" || bad=1
}
"$CYCLESCOPE" record -g -F 2000 -o "$work/live" -- "$BUILD/tests/programs/procedures" >/dev/null 2>&1 || exit 1
compare "$work/live" live
CHROMIUM=$(command -v chromium) node "$place/speedscope.js" "$work/live.folded" "$work/live.speedscope" "$work/live.pprof" || bad=1

# Starts of a program: the loader has clones (f.constprop.0), whose name in its DWARF is another.
"$CYCLESCOPE" record -g -F 5000 --no-bursts -o "$work/starts" -- sh -c 'i=0; while [ $i -lt 100 ]; do /bin/true; i=$((i + 1)); done' >/dev/null 2>&1 || exit 1
compare "$work/starts" starts
CHROMIUM=$(command -v chromium) node "$place/speedscope.js" "$work/starts.folded" "$work/starts.pprof" || bad=1

# Several events at once: sample types.
corpus=../shared/corpus/quipper-events
if [ -d "$corpus" ]; then
    "$CYCLESCOPE" import -o "$work/several" "$corpus/perf.data.callgraph-3.8" >/dev/null 2>&1 &&
        "$CYCLESCOPE" import -o "$work/several" ../shared/corpus/lbr-simpleperf-elf/perf_b.data >/dev/null 2>&1 || bad=1
    compare "$work/several" several
fi
exit $bad
