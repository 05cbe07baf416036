# SPDX-License-Identifier: GPL-2.0-or-later
"""Kernels of known cause (bench/kernels): build, time against their variants, record, explain.

Results are kept for a minute in BUILD/bench/kernels/results.json, so that culprit-kernels and culprit-false, which look
at the same runs from two sides, need not run them twice."""
import json
import os
import subprocess
import sys
import time

BUILD = os.environ.get("BUILD", "build")
CYCLESCOPE = os.environ.get("CYCLESCOPE", os.path.abspath(BUILD + "/cyclescope"))
FOLDER = os.path.abspath(BUILD + "/bench/kernels")


def table():
    for line in open("bench/kernels/kernels.txt"):
        if line.strip() and not line.startswith("#"):
            name, procedure, first, impossible, ratio = [f.strip() for f in line.split("|")]
            yield name, procedure, first.split(), impossible.split(), float(ratio)


def build(name):
    os.makedirs(FOLDER, exist_ok=True)
    out = f"{FOLDER}/{name}"
    source = f"bench/kernels/{name}.c"
    if not os.path.exists(out) or os.path.getmtime(out) < os.path.getmtime(source):
        subprocess.run(["gcc", "-O2", "-g", "-fno-omit-frame-pointer", "-o", out, source], check=True)
    return out


def ns_a_visit(program, seconds, variant):
    best = 1e18
    for _ in range(2):
        text = subprocess.run([program, str(seconds), str(variant)], check=True, capture_output=True, text=True).stdout
        fields = dict(f.split("=") for f in text.split()[1:])
        best = min(best, float(fields["seconds"]) / float(fields["visits"]) * 1e9)
    return best


def explain(program, procedure, seconds):
    """(calc's JSON, ns a visit by the program's own count), or None after three records without a sound profile."""
    store = program + ".store"
    for _ in range(3):
        subprocess.run(["rm", "-rf", store])
        run = subprocess.run([CYCLESCOPE, "record", "-o", store, "-F", "1000", "--burst-rate", "30", "--", program,
                              str(seconds)], capture_output=True, text=True)
        calc = subprocess.run([CYCLESCOPE, "calc", "--store", store, "--json", procedure], capture_output=True, text=True)
        if run.returncode or calc.returncode:
            continue
        result = json.loads(calc.stdout)
        fields = dict(f.split("=") for f in run.stdout.split() if "=" in f)
        if result["samples"] > 0.7 * 1000 * seconds:
            return result, float(fields["seconds"]) / float(fields["visits"]) * 1e9
    return None


def run_all(quick):
    kept = f"{FOLDER}/results.json"
    if os.path.exists(kept) and time.time() - os.path.getmtime(kept) < 60:
        return json.load(open(kept))
    rows = []
    for name, procedure, first, impossible, least in table():
        program = build(name)
        t = 0.15 if quick else 0.4
        slow, fast = ns_a_visit(program, t, 0), ns_a_visit(program, t, 1)
        row = {"kernel": name, "ratio": slow / fast, "expected": first, "impossible": impossible}
        rows.append(row)
        if least and slow / fast < least:
            row["verdict"] = "not on this machine"
            print(f"{name:16} x{slow / fast:5.2f}  the cause costs nothing on this machine (x{least} needed)", file=sys.stderr)
            continue
        answer = explain(program, procedure, 1.5 if quick else 3)
        if not answer:
            row["verdict"] = "not recorded"
            print(f"{name:16} x{slow / fast:5.2f}  could not be recorded", file=sys.stderr)
            continue
        result, ns = answer
        summary = result["summary"]
        share = {c: v["share"] + summary["static"][c] for c, v in summary["dynamic"].items()}
        visits = max(i["visits"] or 0 for i in result["instructions"])
        row.update(verdict="right" if summary["first"] in first else "wrong", first=summary["first"],
                   share=summary["first_share"], gain=100 * (1 - fast / slow), unexplained=summary["unexplained"], samples=summary["samples"],
                   false={c: share[c] for c in impossible if share[c] >= 0.5},
                   mentioned=sorted({s["cause"] for i in result["instructions"] if i["stall"] >= 0.5
                                     for s in i["suspects"] if s["cause"] in impossible}),
                   # the fitted scale against the program's own count of inner iterations
                   scale=result["samples"] * result["cycles_a_sample"] / result["core_hz"] * 1e9 / ns and
                   visits * result["executions_a_visit"] /
                   (result["samples"] * result["cycles_a_sample"] / result["core_hz"] * 1e9 / ns),
                   sentence=result["sentence"])
        print(f"{name:16} x{slow / fast:5.2f}  {row['verdict']:6} {summary['first']:14} {summary['first_share']:5.1f} %  "
              f"real gain without it {row['gain']:.0f} %  scale {row['scale']:.2f}  {row['false'] or ''}", file=sys.stderr)
    json.dump(rows, open(kept, "w"))
    return rows
