#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# `perf record --call-graph dwarf`, imported: the chains that our frame tables unwind from the copies of stacks are those that perf
# prints of the same file (perf's callers are one byte before ours, which are return addresses; its chains end at 127 frames).
# Beside others.
set -eu
cd "$(dirname "$0")/../.."
root=$PWD
export CYCLESCOPE=${CYCLESCOPE:-$(realpath "${BUILD:-build}/cyclescope")}
command -v perf >/dev/null || { echo "perf isn't installed"; exit 77; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export CYCLESCOPE_CACHE=$scratch/cache
cd "$scratch"
gcc -O2 -s -o work -x c - <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static volatile int sink;
__attribute__((noipa)) static int leaf(int n) { int s = 0; for (int i = 0; i < 3000; i++) s += i * n; return s; }
__attribute__((noipa)) static int middle(int n) { volatile int h[8]; h[n & 7] = leaf(n) + leaf(n + 1); return h[n & 7]; }
static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
__attribute__((noipa)) static void sort(void) { static int v[3000]; for (int i = 0; i < 3000; i++) v[i] = rand(); qsort(v, 3000, 4, compare); }
int main(void) { char b[64]; for (int i = 0; i < 1500; i++) { sink += middle(i); sort(); sprintf(b, "%f", i * 1.1); } return 0; }
END
perf record -q -B --buildid-mmap -e cpu-clock:u -c 1003009 --call-graph dwarf,8192 -o perf.data ./work >/dev/null 2>&1 || true
[ -s perf.data ] || { echo "perf can't record here"; exit 77; }
perf script --no-inline -i perf.data -F ip >theirs 2>/dev/null || { echo "perf can't read its own file"; exit 77; }
"$CYCLESCOPE" import --store store perf.data --json >summary
python3 - "$root" <<'END'
import collections, glob, json, subprocess, sys
theirs = collections.Counter(tuple(int(x, 16) for x in part.split()) for part in open('theirs').read().split('\n\n') if part.strip())
ours, count = collections.Counter(), json.load(open('summary'))
for path in glob.glob('store/*/*/*+stacks.prof'):
    rows = json.loads(subprocess.run([sys.executable, sys.argv[1] + '/tests/store_reader.py', 'dump', path], capture_output=True, check=True).stdout)['rows']
    for row in rows:
        at = [int(frame.rpartition('+')[2], 16) for frame in row['frames'].split(';')]
        ours[tuple([at[0]] + [a - 1 for a in at[1:]])] += row['samples']
samples, equal = sum(theirs.values()), sum((theirs & ours).values())
print(f'{samples} chains of perf\'s, {equal} equal; {count["unwound"]} unwound here, {count["complete"]} to the beginning')
for chain, n in list((theirs - ours).items())[:2]:
    print('only perf:', n, ' '.join(f'{a:x}' for a in chain))
for chain, n in list((ours - theirs).items())[:2]:
    print('only ours:', n, ' '.join(f'{a:x}' for a in chain))
if samples < 100:
    print('too few samples on this machine'); sys.exit(77)
assert count['unwound'] == count['samples'] == samples, 'not all were unwound'
assert count['complete'] >= 0.99 * samples, 'too few reach the beginning'
assert equal >= 0.99 * samples, 'too few are equal'
END
echo ok
