# SPDX-License-Identifier: GPL-2.0-or-later
"""The kernels of bench/fresh, judged: for culprit-fresh (is the first cause right?) and saving-truth (does removing it
save what `calc` promises?). A kernel's rows depend on two things only: the times of its variants (the ablation), and one
recording a form. Both are kept in BUILD/bench/fresh, so that `--kept` judges other rules by the same evidence."""
import json
import os
import subprocess
import sys

import lib_culprits
from lib_culprits import CYCLESCOPE

SECONDS, WEAK, MIXED = 5, 25, 50
FORMS = {"default": [], "burst-rate 30": ["--burst-rate", "30"]}
FILES = ["fresh", "after", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "returns"]
KEPT = "--kept" in sys.argv


def proven(name, first, least):
    """Times of the variants over the kernel's. Without its cause a kernel is faster; of a mixed one each cause takes a part,
    but none half of the time."""
    mixed = first == ["mixed"]
    file = lib_culprits.build(name, "fresh") + ".ratios.json"
    if KEPT:
        ratios = json.load(open(file)) if os.path.exists(file) else [0]
    else:
        slow, *fast = lib_culprits.ns_a_visit(lib_culprits.build(name, "fresh"), 0.2, 4 if mixed else 2)
        ratios = [round(slow / f, 3) for f in fast]
        json.dump(ratios, open(file, "w"))
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
    if not kernel["first"] and result["worst"]["cause"] != named: # what the sentence says is what people read
        return "wrong"
    return "wrong" if named not in first else "weak" if share < WEAK else "right"


def recorded(name, form):
    """The store of a recording, or why there is none."""
    program = lib_culprits.build(name, "fresh")
    store = program + "." + form.split()[0] + ".store"
    if KEPT:
        return store, "" if os.path.exists(store) else "not kept"
    subprocess.run(["rm", "-rf", store])
    run = subprocess.run([CYCLESCOPE, "record", "-o", store, *FORMS[form], "--", program, str(SECONDS)], capture_output=True,
                         text=True)
    return store, run.stderr[-200:] if run.returncode else ""


def verdict(name, procedure, first, impossible, form):
    store, why = recorded(name, form)
    if why:
        return {"verdict": "not recorded", "why": why}
    calc, explain = (subprocess.run([CYCLESCOPE, command, "--store", store, "--json", procedure], capture_output=True,
                                    text=True) for command in ("calc", "explain"))
    if calc.returncode:
        return {"verdict": "not recorded", "why": calc.stderr[-200:]}
    result = json.loads(calc.stdout)
    summary = result["summary"]
    gain = json.loads(explain.stdout)["gain"] if not explain.returncode else {}
    gain = gain["program" if gain["function"]["high"] is None else "function"] if gain else None # of calls only that is stated
    return {"verdict": judge(first, result), "first": summary["first"], "share": round(summary["first_share"], 1),
            "kernel": round(result["kernel"]["share"], 1) if result["kernel"]["first"] else 0,
            "unexplained": round(summary["unexplained"], 1), "impossible": summary["first"] in impossible,
            "gain": {k: v if v is None else round(v, 1) for k, v in gain.items()} if gain else None,
            "sentence": result["sentence"], **result.get("evidence", {})}


def rows(files, forms, every=1):
    """A row a kernel; of those whose cause costs something here, a verdict a form. `--only NAME,NAME` leaves out the others."""
    only = sys.argv[sys.argv.index("--only") + 1].split(",") if "--only" in sys.argv else None
    kernels = [(f, *k) for f in files for k in lib_culprits.table(f + ".txt", "fresh")]
    for author, name, procedure, first, impossible, least in kernels[::every]:
        if only and name not in only:
            continue
        ratios, costs = proven(name, first, least)
        row = {"kernel": name, "author": author, "expected": first, "ratios": ratios}
        for form in forms if costs else []:
            row[form] = verdict(name, procedure, first, impossible, form)
        print(json.dumps(row), file=sys.stderr)
        yield row
