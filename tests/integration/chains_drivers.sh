#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Two drivers, one program: the ring driver's chains (the kernel's own walk along frame pointers) against the BPF driver's (our rows), of
# a program that has frame pointers and does the same work in each run. Both have the same chains below main, as often, within noise.
set -u
[ "$(id -u)" = 0 ] || { echo "unwinding in the kernel needs root"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$CYCLESCOPE" record --driver bpf --no-bursts -o "$work/try" -- true >/dev/null 2>&1 || { echo "no BPF here"; exit 77; }
cat >"$work/walk.c" <<'C'
#include <time.h>
static volatile unsigned long sink;
#define OWN __attribute__((noinline)) static
#define FRAME __asm__ volatile("" : : "r"(__builtin_frame_address(0))) /* else a function that calls none has no frame */
OWN void spin(int n) { FRAME; for (int i = 0; i < n; i++) sink = sink * 31 + (unsigned long)i; }
OWN void scan(int n) { FRAME; for (int i = 0; i < n; i++) sink += (unsigned long)i % 7; }
OWN void parse(int n) { spin(n); sink++; }
OWN void sort(int n) { scan(n); parse(n / 2); sink += 2; }
OWN void load(int n) { parse(n); sort(n); sink += 3; }
OWN void deep(int left) { if (left) deep(left - 1); else spin(9000); sink += 4; }
OWN void report(int n) { for (int i = 0; i < 2; i++) sort(n / 2); deep(6); sink += 5; }
int main(void)
{
    struct timespec t;
    do {
        for (int i = 0; i < 100; i++) load(3000), report(2000), spin(2000);
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    } while (t.tv_sec < 2);
}
C
gcc -O2 -fno-omit-frame-pointer -fno-optimize-sibling-calls -o "$work/walk" "$work/walk.c" || { echo "no C compiler"; exit 77; }
for driver in bpf ring; do
    "$CYCLESCOPE" record -F 1000 --driver $driver --no-bursts -o "$work/$driver" -- "$work/walk" >"$work/said" 2>&1 || { cat "$work/said"; exit 1; }
    "$CYCLESCOPE" export --store "$work/$driver" --format folded --event cpu-clock >"$work/$driver.folded" || exit 1
done
python3 - "$work/bpf.folded" "$work/ring.folded" <<'PY'
import collections, sys
own = set("spin scan parse sort load deep report".split())
def chains(path):
    n = collections.Counter()
    for line in open(path):
        frames, count = line.rsplit(" ", 1)
        frames = [f.split(".")[0] for f in frames.split(";")]
        if "main" in frames:
            below = frames[frames.index("main") + 1:]
            n[";".join(f for f in below if f in own)] += int(count)
    return n
bpf, ring = chains(sys.argv[1]), chains(sys.argv[2])
a, b = sum(bpf.values()), sum(ring.values())
print(f"# {a} samples by bpf, {b} by ring below main; {len(bpf)} and {len(ring)} chains")
if min(a, b) < 1000:
    print("too few samples on this machine"); sys.exit(77)
failed = alone = 0
for chain in set(bpf) | set(ring):
    p, q = bpf[chain] / a, ring[chain] / b
    alone += (p + q) / 2 if not bpf[chain] or not ring[chain] else 0
    noise = 4 * ((p * (1 - p) + 1 / a) / a + (q * (1 - q) + 1 / b) / b) ** 0.5 + 0.01 # 0.01: before a frame pointer is set
    if abs(p - q) > noise:
        failed = 1
        print(f"not ok: {chain}: {100 * p:.1f} % by bpf, {100 * q:.1f} % by ring")
    elif max(p, q) > 0.05:
        print(f"# {chain}: {100 * p:.1f} and {100 * q:.1f} %")
print(f"# {100 * alone:.2f} % in chains that one of them alone has")
deepest = "report;" + ";".join(["deep"] * 7) + ";spin"
sys.exit(failed or alone > 0.03 or not bpf[deepest] or not ring[deepest])
PY
