#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What other users put in root's way: a program with the build-id of root's, run first; perf maps and jitdumps of processes that
# aren't theirs; links to files that they may not read. Root's profile has root's names, and nobody else's text.
# Beside others.
set -u
[ "$(id -u)" = 0 ] || { echo "needs root: it runs programs of two users"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"; rm -f /tmp/perf-$map_pid.map' EXIT
chmod 755 "$work"
bad=0 map_pid=none
fails() { bad=1; printf 'not ok: %.1500s\n' "$*"; }
them=(setpriv --reuid=65534 --regid=65534 --clear-groups)
# Seconds of CPU time in a function of that name; -g, so that a source file is named, too.
program() { # FILE FUNCTION
    cat >"$work/$2.c" <<EOF
#include <time.h>
static volatile unsigned long x;
__attribute__((noinline)) void $2(void) { for (unsigned i = 0; i < 1000000; i++) x += i; }
int main(void) { while (clock() < CLOCKS_PER_SEC * 6 / 10) $2(); return 0; }
EOF
    ${CC:-gcc} -g -O1 -static -Wl,--build-id=0x1234567890abcdef1234567890abcdef12345678 -o "$1" "$work/$2.c" || exit 77
}
record() { "$CYCLESCOPE" record --no-bursts -F 500 "$@"; }
prof() { "$CYCLESCOPE" prof --store "$1" -n 0 --csv 2>"$work/err"; }

# ---- a build-id is no proof ----
mkdir "$work/theirs" "$work/ours"
program "$work/ours/job" work_of_root
program "$work/theirs/job" word_of_stranger
chown -R 65534 "$work/theirs"
for first in theirs ours; do
    second=ours
    [ $first = theirs ] || second=theirs
    run() { if [ "$1" = theirs ]; then "${them[@]}" "$work/theirs/job"; else "$work/ours/job"; fi; }
    export -f run
    record -o "$work/$first.store" -- bash -c "work=$work; them=(${them[*]}); run $first; run $second" >"$work/said" 2>&1 ||
        fails "record: $(cat "$work/said")"
    prof "$work/$first.store" >"$work/prof" || fails "prof: $(cat "$work/err")"
    grep -q "word_of_stranger.*theirs/job" "$work/prof" || fails "$first first: their samples have no name: $(cat "$work/prof")"
    grep -q "work_of_root.*ours/job" "$work/prof" || fails "$first first: root's samples have no name: $(cat "$work/prof")"
    grep -q 'have the build-id of another' "$work/said" || fails "$first first: the conflict isn't reported: $(cat "$work/said")"
done
# Kept code: both files are gone.
mv "$work/ours" "$work/theirs" "$work/away" 2>/dev/null || { mkdir "$work/away"; mv "$work/ours" "$work/theirs" "$work/away"; }
prof "$work/theirs.store" >"$work/prof"
grep -q "work_of_root.*ours/job" "$work/prof" || fails "kept code: root's samples have no name: $(cat "$work/prof")"
grep -q "word_of_stranger.*ours/job" "$work/prof" && fails "kept code: root's samples have a stranger's names"

[ $bad -eq 0 ] && echo "ok: strangers name nothing of root's"
exit $bad
