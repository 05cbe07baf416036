#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What a processor told of memory accesses (PEBS, IBS, SPE) comes through an import: latency, memory level and TLB, instruction by
# instruction. The recording is written here from the kernel's description of its format (linux/perf_event.h), with WEIGHT in one
# event and WEIGHT_STRUCT in the other; sums are worked out from what was written.
# Beside others.
set -eu
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
export CYCLESCOPE_CACHE=$tmp/cache
cat >"$tmp/walk.c" <<'C'
long walk(long **list, long *sum, long n);
__attribute__((noinline)) long walk(long **list, long *sum, long n)
{
    for (long i = 0; i < n; i++) {
        list = (long **)*list;
        sum[i & 15] += (long)list;
    }
    return *sum;
}
int main(void) { long *self = (long *)&self, sum[16] = {0}; return (int)walk((long **)&self, sum, 9) & 1; }
C
gcc -O1 -g -Wl,--build-id -o "$tmp/walk" "$tmp/walk.c"
python3 - "$tmp" "$CYCLESCOPE" <<'P'
import collections, json, re, struct, subprocess, sys
tmp, tool = sys.argv[1:]
run = lambda *a: subprocess.run(a, check=True, stdout=subprocess.PIPE, text=True).stdout
binary = f"{tmp}/walk"
code = [int(m[1], 16) for m in re.finditer(r"^ +([0-9a-f]+):\t", run("objdump", "-d", "--disassemble=walk", binary), re.M)]
text = next(l.split() for l in run("readelf", "-lW", binary).splitlines() if l.startswith("  LOAD") and " R E " in l)
offset, vaddr, size = (int(x, 16) for x in (text[1], text[2], text[4]))
build_id = bytes.fromhex(re.search(r"Build ID: (\w+)", run("readelf", "-n", binary))[1])
BASE = 0x7f0000000000
U64 = lambda *v: struct.pack(f"<{len(v)}Q", *v)
def record(kind, misc, body):
    body += bytes(-len(body) % 8)
    return struct.pack("<IHH", kind, misc, 8 + len(body)) + body
IP, TID, TIME, PERIOD, WEIGHT, DATA_SRC, IDENTIFIER, STRUCT = 1, 2, 4, 1 << 8, 1 << 14, 1 << 15, 1 << 16, 1 << 24
types = [IDENTIFIER | IP | TID | TIME | PERIOD | WEIGHT | DATA_SRC, IDENTIFIER | IP | TID | TIME | PERIOD | DATA_SRC | STRUCT]
attrs = [struct.pack("<IIQQQQQ", 4, 128, 0x1cd, 1000, t, 0, 0) + bytes(80) for t in types]
LOAD, STORE = 2, 4
HIT, L1, L3, RAM = 2 << 5, 8 << 5, 0x40 << 5, 0x80 << 5
TLB_HIT, TLB_MISS = (2 | 8) << 26, (4 | 32) << 26
number = lambda n, remote=0: n << 33 | remote << 37
sources = [  # (the processor's words, ours, TLB missed)
    (LOAD | HIT | L1 | TLB_HIT, "L1", 0), (LOAD | HIT | RAM | TLB_MISS, "memory", 1), (LOAD | number(3) | TLB_HIT, "L3", 0),
    (LOAD | number(13, 1) | TLB_MISS, "remote memory", 1), (STORE | HIT | L3 | TLB_HIT, "L3", 0), (LOAD | TLB_HIT, "not told", 0)]
data = record(3, 1 << 13, struct.pack("<II", 7, 7) + b"walk\0")  # who it was
data += record(10, 2 | 1 << 14, struct.pack("<IIQQQ", 7, 7, BASE, (offset % 4096 + size + 4095) & -4096, offset & -4096) +
               bytes([len(build_id), 0, 0, 0]) + build_id + struct.pack("<II", 5, 2) + binary.encode() + b"\0")
truth = collections.defaultdict(lambda: dict(n=0, timed=0, cycles=0, most=0, missed=0, levels=collections.Counter()))
time = 1000
for k in range(600):
    event = k % 2
    at = code[1 + (k * k) % 5]
    bits, level, missed = sources[(k // 3 + k % 7) % len(sources)]
    weight = 0 if k % 11 == 0 else 4 + 37 * (k % 29)
    time += 10
    sample = U64(100 + event, BASE + at - vaddr + offset % 4096) + struct.pack("<II", 7, 7) + U64(time, 1000)
    # of WEIGHT_STRUCT the low 32 bits are the latency, above stand two other numbers
    sample += U64(weight, bits) if event == 0 else U64(weight | 77 << 32 | 5 << 48, bits)
    data += record(9, 2, sample)
    t = truth[at]
    t["n"] += 1
    t["timed"] += weight > 0
    t["cycles"] += weight
    t["most"] = max(t["most"], weight)
    t["missed"] += missed
    t["levels"][level] += 1
ids = 104
table = ids + 16
body = table + 2 * 144
head = b"PERFILE2" + U64(104, 144, table, 2 * 144, body, len(data), 0, 0, 0, 0, 0, 0)
assert len(head) == 104
open(f"{tmp}/perf.data", "wb").write(head + U64(100, 101) + b"".join(a + U64(ids + 8 * i, 8) for i, a in enumerate(attrs)) + data)
said = json.loads(run(tool, "import", "--json", "-o", f"{tmp}/store", f"{tmp}/perf.data"))
assert said["samples"] == 600 == said["stored"], said
assert said["accesses"] == 600, said
rows = json.loads(run(tool, "list", "walk", "--json", "--all", "--store", f"{tmp}/store"))["accesses"]
assert {int(r["offset"], 16) for r in rows} == set(truth), (rows, dict(truth))
for r in rows:
    t = truth[int(r["offset"], 16)]
    assert r["samples"] == t["n"] and r["max_cycles"] == t["most"], (r, t)
    assert abs(r["mean_cycles"] - t["cycles"] / t["timed"]) < 1e-6 and abs(r["tlb_miss_percent"] - 100 * t["missed"] / t["n"]) < 1e-6, (r, t)
    levels = {m[1]: int(m[2]) for m in re.finditer(r"([^,]+?) (\d+) %(?:, )?", r["levels"])}
    assert levels == {name: round(100 * n / t["n"]) for name, n in t["levels"].items()}, (r, t)
costs = [r["mean_cycles"] * truth[int(r["offset"], 16)]["timed"] for r in rows]
assert costs == sorted(costs, reverse=True), costs
text = run(tool, "list", "walk", "--store", f"{tmp}/store")
assert "data came from" in text and re.search(r"remote memory \d+ %", text), text
run(tool, "store", "verify", "-o", f"{tmp}/store")
print("ok 600 accesses,", len(rows), "instructions")
P
