# SPDX-License-Identifier: GPL-2.0-or-later
"""Kernels of known cause: build, time against their variants, record, explain.

bench/kernels/kernels.txt lists those that the rules were made with, bench/kernels/held-out.txt those written after the
rules were frozen and judged without changing them. One set of recordings serves culprit-kernels, culprit-false and
culprit-scale: it is kept in BUILD/bench/kernels/*.json for half an hour, as long as the tool and the kernels stay the
same. bench/fresh has kernels by another author, for culprit-fresh."""
import hashlib
import json
import os
import subprocess
import sys
import time

BUILD = os.environ.get("BUILD", "build")
CYCLESCOPE = os.environ.get("CYCLESCOPE", os.path.abspath(BUILD + "/cyclescope"))
FOLDER = os.path.abspath(BUILD + "/bench/kernels")
HEADERS = ("bench/kernels", "bench/fresh")
KEPT_SECONDS = 1800


def table(file, folder="kernels"):
    for line in open(f"bench/{folder}/{file}"):
        if line.strip() and not line.startswith("#"):
            name, procedure, first, impossible, ratio = [f.strip() for f in line.split("|")]
            yield name, procedure, first.split(), impossible.split(), float(ratio)


def build(name, folder="kernels"):
    out = os.path.abspath(f"{BUILD}/bench/{folder}/{name}")
    os.makedirs(os.path.dirname(out), exist_ok=True)
    sources = [f"{d}/{s}" for d in HEADERS for s in os.listdir(d) if s.endswith(".h")] + [f"bench/{folder}/{name}.c"]
    if not os.path.exists(out) or os.path.getmtime(out) < max(map(os.path.getmtime, sources)):
        subprocess.run(["gcc", "-O2", "-g", "-fno-omit-frame-pointer", "-o", out, sources[-1], "-lm"], check=True)
    return out


def ns_a_visit(program, seconds, variants=2):
    """Of the kernel and of its variants, in turns: what disturbs the machine for a while disturbs all."""
    best = [1e18] * variants
    for turn in range(4 * variants):
        v = turn % variants
        text = subprocess.run([program, str(seconds / 2), str(v)], check=True, capture_output=True, text=True).stdout
        fields = dict(f.split("=") for f in text.split() if "=" in f)
        best[v] = min(best[v], float(fields["seconds"]) / float(fields["visits"]) * 1e9)
    return best


def explain(program, procedure, seconds):
    """(calc's JSON, visits and seconds by the program's own count), or None after three records without a sound profile."""
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
            return result, float(fields["visits"]), float(fields["seconds"])
    return None


def judge(name, procedure, first, impossible, least, quick):
    program = build(name)
    t = 0.1 if quick else 0.2
    slow, fast = ns_a_visit(program, t)
    row = {"kernel": name, "ratio": round(slow / fast, 2), "expected": first, "impossible": impossible}
    if least and slow / fast < least:
        row["verdict"] = "not on this machine"
        print(f"{name:16} x{slow / fast:5.2f}  the cause costs nothing on this machine (x{least} needed)", file=sys.stderr)
        return row
    answer = explain(program, procedure, 0.8 if quick else 1.6)
    if not answer:
        row["verdict"] = "not recorded"
        print(f"{name:16} x{slow / fast:5.2f}  could not be recorded", file=sys.stderr)
        return row
    result, visits, seconds = answer
    summary = result["summary"]
    share = {c: v["share"] + summary["static"][c] for c, v in summary["dynamic"].items()}
    # Executions of the innermost loop as calc scales them, against the program's own count.
    executions = max(i["visits"] or 0 for i in result["instructions"]) * result["executions_a_visit"] * WHOLE.get(name, 1)
    low, high = (result[k] / result["executions_a_visit"] for k in ("executions_a_visit_low", "executions_a_visit_high"))
    scale = executions / (visits * result["samples"] / 1000 / seconds)
    row.update(verdict="right" if summary["first"] in first else "wrong", first=summary["first"],
               share=round(summary["first_share"], 1), gain=round(100 * (1 - fast / slow), 1),
               unexplained=round(summary["unexplained"], 1), samples=summary["samples"],
               false={c: round(share[c], 1) for c in impossible if share[c] >= 0.5},
               mentioned=sorted({s["cause"] for i in result["instructions"] if i["stall"] >= 0.5
                                 for s in i["suspects"] if s["cause"] in impossible}),
               scale=round(scale, 3), scale_low=round(scale * low, 3), scale_high=round(scale * high, 3),
               sentence=result["sentence"])
    print(f"{name:16} x{slow / fast:5.2f}  {row['verdict']:6} {summary['first']:14} {summary['first_share']:5.1f} %  "
          f"real gain without it {row['gain']:3.0f} %  scale {scale:.2f} ({scale * low:.2f} to {scale * high:.2f})  "
          f"{row['false'] or ''}", file=sys.stderr)
    return row


# What a kernel counts for each turn of its innermost loop, where that isn't one: the compiler takes two or four at once
# (vectors, unrolling), a field has eight bytes, code_large has no inner loop.
WHOLE = {"code_large": 4096, "latency_bound": 2, "horner": 2, "split_loads": 4, "parse_word": 1 / 8}


def run_all(quick, file="kernels.txt"):
    key = hashlib.sha1(open(CYCLESCOPE, "rb").read())
    for source in sorted(os.listdir("bench/kernels")):
        key.update(open("bench/kernels/" + source, "rb").read())
    key.update(str(quick).encode())
    kept = f"{FOLDER}/{file}.json"
    if os.path.exists(kept) and time.time() - os.path.getmtime(kept) < KEPT_SECONDS:
        result = json.load(open(kept))
        if result["key"] == key.hexdigest():
            return result["rows"]
    rows = [judge(*kernel, quick) for kernel in list(table(file))[:: 3 if quick else 1]]
    json.dump({"key": key.hexdigest(), "rows": rows}, open(kept, "w"))
    return rows


def judged(rows):
    return [r for r in rows if r["verdict"] in ("right", "wrong")]
