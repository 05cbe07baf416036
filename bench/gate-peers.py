#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The same pairs of programs judged by `gate`, by cachegrind's counts, and by hyperfine's times: how many of all it tells rightly, %.
Half of the pairs are the same code with unrelated code in front, half do 1.1 % more work. Cachegrind says slower where the
instructions grew by 1 %, hyperfine where the ratio it prints is above 1 by more than the error it prints.
GATE_SECONDS, GATE_PROGRAMS, GATE_SIZE."""
import json, os, re, shlex, shutil, subprocess, sys, tempfile

from lib_gate import UNRELATED, command, gate, link, planted_work_pair, programs

quick = "--quick" in sys.argv
seconds, n = (int(os.environ.get(k, v)) for k, v in (("GATE_SECONDS", 20 if quick else 60), ("GATE_PROGRAMS", 2 if quick else 8)))
size = os.environ.get("GATE_SIZE", "small" if quick else "full")
for tool in ("valgrind", "hyperfine"):
    if not shutil.which(tool):
        print(f"not there: {tool}")
        sys.exit(77)
place = tempfile.mkdtemp()


def by_gate(base, head):
    code, said = gate("--for", f"{seconds}s", "--base-command", shlex.join(base), "--", *head)
    return {0: "same", 1: "slower", 2: "can't tell"}[code], said["guilty"][0].get("function", "") if said["guilty"] else ""


def cachegrind(argv):
    said = subprocess.run(["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null", *argv],
                          stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace").stderr
    return int(re.search(r"I +refs: +([0-9,]+)", said).group(1).replace(",", ""))


def by_cachegrind(base, head):
    grown = 100 * (cachegrind(head) / cachegrind(base) - 1)
    return "slower" if grown >= 1 else "same", f"{grown:+.2f} %"


def by_hyperfine(base, head):
    subprocess.run(["hyperfine", "-N", "--warmup", "1", "--min-runs", "10", "--export-json", f"{place}/h.json", shlex.join(base), shlex.join(head)],
                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    with open(f"{place}/h.json") as f:
        b, h = json.load(f)["results"]
    ratio = h["mean"] / b["mean"]
    error = ratio * ((b["stddev"] / b["mean"]) ** 2 + (h["stddev"] / h["mean"]) ** 2) ** 0.5
    return "slower" if ratio - error > 1 else "same", f"{ratio:.3f} ± {error:.3f}"


rows, right = [], {"gate": 0, "cachegrind": 0, "hyperfine": 0}
for name in programs(n):
    pairs = {"same": [command(name, link(name, f"{place}/a"), size), command(name, link(name, f"{place}/b", UNRELATED), size)],
             "slower": planted_work_pair(name, f"{place}/c", 1.1, size)}
    for truth, (base, head) in pairs.items():
        row = {"program": name, "truth": truth}
        for peer, judge in (("gate", by_gate), ("cachegrind", by_cachegrind), ("hyperfine", by_hyperfine)):
            row[peer], row[f"{peer}_says"] = judge(base, head)
            right[peer] += row[peer] == truth
        rows.append(row)
        print(row, file=sys.stderr)
shutil.rmtree(place)
print(json.dumps({"name": "gate-peers", "value": round(100 * right["gate"] / max(len(rows), 1), 1), "unit": "% of pairs that gate tells rightly", "target": 95,
                  "noise": round(100 / max(len(rows), 1), 1),
                  "detail": {"right": right, "of": len(rows), "wrong": {p: sum(r[p] not in (r["truth"], "can't tell") for r in rows) for p in right}, "seconds": seconds, "rows": rows}}))
