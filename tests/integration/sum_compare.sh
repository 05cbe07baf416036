#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Best-case and actual CPI of procedures and of the program, and two recordings beside each other by cause: against sums over what
# calc says of each instruction, and against prof's samples times their period.
set -eu
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
export CYCLESCOPE_CACHE=$tmp/cache
P=$BUILD/tests/programs/procedures
for work in 3 6; do
    "$CYCLESCOPE" record --burst-rate 100 -o "$tmp/store" -- "$P" $((20 * work)) 60 60 120 40 40 $((20 * work)) >"$tmp/out" 2>&1 || { cat "$tmp/out"; exit 1; }
done
python3 - "$CYCLESCOPE" "$tmp/store" <<'P'
import json, subprocess, sys
tool, store = sys.argv[1:]
ask = lambda *words: json.loads(subprocess.run([tool, *words, "--json", "--store", store], check=True, stdout=subprocess.PIPE).stdout)
total = instructions = cycles = best = 0
said = ask("sum")
for row in said["procedures"]:
    c = ask("calc", "--all", row["procedure"])
    known = [b["best_cpi"] is not None for b in c["blocks"]]
    ours = [i for i in c["instructions"] if known[i["block"]] and (i["visits"] or 0) > 0]
    scale = c["executions_a_visit"]
    n = sum(i["visits"] for i in ours) * scale
    took = c["cycles_a_sample"] * sum(i["attributed"] for i in ours)
    if row["actual_cpi"] is None:
        assert not n, row
        continue
    assert abs(row["actual_cpi"] - took / n) < 1e-3 * row["actual_cpi"] + 1e-9, (row, took / n)
    heads = {}
    for i in ours:
        heads.setdefault(i["block"], i["visits"])
    at_best = sum(c["blocks"][b]["best_cpi"] * c["blocks"][b]["instructions"] * v for b, v in heads.items()) * scale
    assert abs(row["best_cpi"] - at_best / n) < 1e-3 * row["best_cpi"] + 1e-9, (row, at_best / n)
    instructions += n
    cycles += took
    best += at_best
assert len(said["procedures"]) >= 4 and instructions > 0
s = said["summary"]
assert abs(s["actual_cpi"] - cycles / instructions) < 1e-3 * s["actual_cpi"], (s, cycles / instructions)
assert abs(s["best_cpi"] - best / instructions) < 1e-3 * s["best_cpi"], (s, best / instructions)
compared = ask("sum", "--beside", "-2")
assert compared["unit"] == "ms"
*rows, last = compared["causes"]
for key in "this", "that", "difference":
    assert abs(sum(r[key] for r in rows) - last[key]) < 0.05 * len(rows) + 0.1, (key, rows, last)
for key, epoch in ("this", "-1"), ("that", "-2"):
    one = ask("sum", "--epoch", epoch)["summary"]["samples"]
    p = ask("prof", "--epoch", epoch, "-n", "0")
    period_ms = next(e for e in p["events"] if e["name"] == "cpu-clock")["period_sum"] / 1e6 / p["total"]
    assert abs(last[key] - one * period_ms) < 0.02 * last[key], (key, last, one * period_ms)
assert abs(last["difference"] - (last["this"] - last["that"])) < 1e-6
print(f"ok {len(said['procedures'])} procedures, {len(rows)} causes")
P
