#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""First causes that `calc` names of kernels by an author who didn't know the rules, bench/fresh. Each runs for 5 s at
default options, and once more with `--burst-rate 30`. A verdict is right, wrong, weak (right, below a quarter of the
samples), or "not enough evidence". Kernels whose cause costs too little on this machine are left out. --quick: every
third kernel, default options only. --after: those in after.txt, by an author who knew the rules, written when these
were frozen. --third: those in third.txt, by a third author who didn't know the rules."""
import json
import subprocess
import sys

sys.path.insert(0, "bench")
import lib_culprits
from lib_culprits import CYCLESCOPE

SECONDS, WEAK, MIXED = 5, 25, 50
FORMS = {"default": [], "burst-rate 30": ["--burst-rate", "30"]}
VERDICTS = ("right", "wrong", "weak", "not enough evidence", "not recorded")


def proven(name, first, least):
    """Times of the variants over the kernel's. Without its cause a kernel is faster; of a mixed one each cause takes a part,
    but none half of the time."""
    mixed = first == ["mixed"]
    slow, *fast = lib_culprits.ns_a_visit(lib_culprits.build(name, "fresh"), 0.2, 4 if mixed else 2)
    ratios = [round(slow / f, 2) for f in fast]
    return ratios, min(ratios) >= least and (not mixed or max(ratios) < 2)


def judge(first, result):
    summary = result["summary"]
    named, share = summary["first"], summary["first_share"]
    kernel = result["kernel"]
    several = result["evidence"]["several"]
    if several and not kernel["first"]:
        return "right" if first == ["mixed"] or set(several) <= set(first) else \
            "not enough evidence" if set(several) & set(first) else "wrong"
    if kernel["first"]:
        named, share = kernel["cause"], 100 * kernel["share"] / (kernel["share"] + kernel["own"])
    elif not result.get("evidence", {}).get("enough", True) or result["worst"]["cause"] == "none":
        return "right" if first == ["-"] else "not enough evidence"
    if first == ["mixed"]:
        return "wrong" if share > MIXED else "right"
    if first == ["-"]:
        return "right" if summary["unexplained"] > share else "wrong"
    return "wrong" if named not in first else "weak" if share < WEAK else "right"


def verdict(name, procedure, first, impossible, options):
    program = lib_culprits.build(name, "fresh")
    store = program + ".store"
    subprocess.run(["rm", "-rf", store])
    run = subprocess.run([CYCLESCOPE, "record", "-o", store, *options, "--", program, str(SECONDS)], capture_output=True,
                         text=True)
    calc = subprocess.run([CYCLESCOPE, "calc", "--store", store, "--json", procedure], capture_output=True, text=True)
    if run.returncode or calc.returncode:
        return {"verdict": "not recorded", "why": run.stderr[-200:] + calc.stderr[-200:]}
    result = json.loads(calc.stdout)
    summary = result["summary"]
    return {"verdict": judge(first, result), "first": summary["first"], "share": round(summary["first_share"], 1),
            "kernel": round(result["kernel"]["share"], 1) if result["kernel"]["first"] else 0,
            "unexplained": round(summary["unexplained"], 1), "impossible": summary["first"] in impossible,
            "sentence": result["sentence"], **result.get("evidence", {})}


quick = "--quick" in sys.argv
file = "after.txt" if "--after" in sys.argv else "third.txt" if "--third" in sys.argv else "fresh.txt"
rows = []
for name, procedure, first, impossible, least in list(lib_culprits.table(file, "fresh"))[:: 3 if quick else 1]:
    ratios, costs = proven(name, first, least)
    row = {"kernel": name, "expected": first, "ratios": ratios}
    for form in list(FORMS)[: 1 if quick else 2] if costs else []:
        row[form] = verdict(name, procedure, first, impossible, FORMS[form])
    rows.append(row)
    print(json.dumps(row), file=sys.stderr)

counts = {form: {v: sum(r[form]["verdict"] == v for r in rows if form in r) for v in VERDICTS} for form in FORMS}
judged = max(1, sum(counts["default"].values()))
print(json.dumps({"name": "culprit-fresh", "value": round(100 * counts["default"]["right"] / judged, 1), "unit": "%",
                  "target": 90, "noise": round(100 / judged, 1),
                  "detail": {"kernels": judged, **counts, "not on this machine": [r["kernel"] for r in rows if "default" not in r],
                             "rows": rows}}))
