#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Two unwinders at one stop: each page fault of a program is seen by our handler in the kernel and by perf, which copies the stack
# and unwinds it with libdw. At least 99.9 % of perf's chains are ours, as often as they were: functions with frames of all sizes,
# alloca, qsort with a callback of the program's, a signal handler. The tables of what waits are made before it goes on.
set -u
[ "$(id -u)" = 0 ] || { echo "unwinding in the kernel needs root"; exit 77; }
command -v perf >/dev/null && command -v gcc >/dev/null || { echo "no perf or no gcc here"; exit 77; }
work=$(mktemp -d)
export CYCLESCOPE_CACHE=$work/cache # no table is there before it is made
trap 'kill $(jobs -p) 2>/dev/null; rm -rf "$work"' EXIT
"$CYCLESCOPE" record --driver bpf --no-bursts -o "$work/try" -- true >/dev/null 2>&1 || { echo "no BPF here"; exit 77; }
cat >"$work/fault.c" <<'C'
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
static volatile unsigned long sink;
static unsigned char *pages;
static unsigned long state = 88172645463325252UL;
static unsigned draw(void) { state ^= state << 13; state ^= state >> 7; state ^= state << 17; return (unsigned)(state >> 20); }
__attribute__((noinline)) static void touch(unsigned long at) { sink += pages[at * 4096]++; }
static int walk(int left, unsigned long at);
#define F(n) __attribute__((noinline)) static int f##n(int left, unsigned long at) { volatile char room[8 + 24 * n]; room[0] = (char)left; int r = walk(left - 1, at); return r + room[0]; }
F(0) F(1) F(2) F(3) F(4) F(5)
static int by(const void *a, const void *b) { touch((unsigned long)*(const int *)a); touch((unsigned long)*(const int *)b); return *(const int *)a - *(const int *)b; }
__attribute__((noinline)) static int walk(int left, unsigned long at)
{
    static int (*const all[])(int, unsigned long) = {f0, f1, f2, f3, f4, f5};
    if (left <= 0) { if (draw() % 4) touch(at); else { int v[4] = {(int)at, (int)at + 1, (int)at + 2, (int)at + 3}; qsort(v, 4, sizeof *v, by); } return 1; }
    volatile char *more = __builtin_alloca(draw() % 100 + 16); more[0] = 1;
    return all[draw() % 6](left, at) + more[0];
}
static void handler(int s) { (void)s; walk(3, 9000); }
int main(void)
{
    pages = mmap(NULL, 4096UL * 10000, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(pages, 4096UL * 10000, MADV_NOHUGEPAGE);
    walk(2, 9999);
    getchar(); /* both have attached */
    signal(SIGUSR1, handler);
    for (int k = 0; k < 1500; k++) {
        walk(1 + (int)(draw() % 12), (unsigned long)k * 5);
        if (k % 50 == 0) { raise(SIGUSR1); madvise(pages + 9000UL * 4096, 4096UL * 900, MADV_DONTNEED); }
    }
    return 0;
}
C
gcc -O2 -fomit-frame-pointer -fno-optimize-sibling-calls -o "$work/fault" "$work/fault.c" 2>"$work/said" || { cat "$work/said"; exit 1; }
mkfifo "$work/go"
"$work/fault" <"$work/go" & fault=$!
exec 4>"$work/go"
perf record -q -B -N -e page-faults:u -c 1 --call-graph dwarf,8192 -m 16M -o "$work/perf.data" -p $fault >"$work/perf.said" 2>&1 & perf=$!
"$CYCLESCOPE" record --no-bursts --driver bpf -e page-faults --period 1 -o "$work/store" -p $fault >"$work/said" 2>&1 & ours=$!
sleep 4 # sleeps: time to attach and to make the tables, some 0.2 s where nobody else works
echo >&4
exec 4>&-
wait $fault $ours $perf
"$CYCLESCOPE" export --store "$work/store" --format folded --event page-faults >"$work/ours" 2>>"$work/said" || { cat "$work/said"; exit 1; }
perf script -i "$work/perf.data" -F ip,sym --no-inline >"$work/theirs" 2>>"$work/perf.said"
python3 - "$work" <<'PY'
import collections, sys


def chain(frames): # from main to what faulted; libc has other names for the same and none for some
    if "main" in frames and "touch" in frames:
        frames = frames[frames.index("main"):frames.index("touch") + 1]
        return tuple("?" if f.startswith(("sub_", "[")) else f.replace("__GI___", "").replace("__GI_", "") for f in frames)


ours, theirs, at = collections.Counter(), collections.Counter(), []
for line in open(sys.argv[1] + "/ours"):
    frames, n = line.rsplit(" ", 1)
    ours[chain(frames.split(";"))] += int(n)
for line in [*open(sys.argv[1] + "/theirs"), ""]:
    if line.strip():
        at.append(line.split()[1].split("+")[0])
    elif at:
        theirs[chain(at[::-1])] += 1
        at = []
del ours[None], theirs[None]
n, same = sum(theirs.values()), sum((ours & theirs).values())
if n < 2000:
    print(f"perf has {n} chains only: {' '.join(open(sys.argv[1] + '/perf.said').read().split())[-300:] or 'it says nothing'}")
    sys.exit(77)
print(f"# {same} of perf's {n} chains are ours ({len(theirs)} different ones; we have {sum(ours.values())})")
for c in list(theirs - ours)[:3]:
    print("# perf alone:", ";".join(c))
for c in list(ours - theirs)[:3]:
    print("# we alone:", ";".join(c))
sys.exit(not same >= 0.999 * n)
PY
