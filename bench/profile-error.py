#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Share of the time that a profile charges to the wrong instruction, the error of "Time-Proportional Instruction Profiling"
(MICRO 2021): half the sum of |share - true share|. Twelve programs of chained instructions (bench/profile) whose true time an
instruction follows from the chain and, as in Mytkowicz's causality analysis, by experiment: what a second copy of a part adds, what
vanishes without it, what it takes alone. A program isn't judged where these, and the parts' sum and the whole, differ by more
than AGREE points. One recording each gives the samples as interrupts
found them (`raw`), `prof`'s rule (`shifted`: the instruction before, but at the head of a block), `calc`'s attribution
(`attributed`) its cycles (`calc`: cycles an execution times executions), and
those with stalls moved to whom `calc` makes responsible (`blamed`); perf's samples come from a recording of its own
right afterwards. A compare or test and the branch that fuses with it are one instruction. `chance`: the error that so many
samples have if all is right. --quick: 2 s and three programs. PROGRAMS=a,b: these alone; results of others are kept
for two hours. --again: judges their recordings once more. --second: instead of the twelve, six programs by an author
who didn't know the rules. --third: two with branches guessed wrong. -v: every instruction."""
import collections
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import time

BUILD = os.environ.get("BUILD", "build")
CYCLESCOPE = os.environ.get("CYCLESCOPE", os.path.abspath(BUILD + "/cyclescope"))
FOLDER = os.path.abspath(BUILD + "/bench/profile")
SOURCES = os.path.abspath("bench/profile")
PROGRAMS = ["serial", "steps", "chase", "hash", "rare", "floats", "calls", "guess", "wide", "mixer", "table", "horner"]
# By an author who didn't know the rules.
if "--second" in sys.argv:
    PROGRAMS = ["lookup", "bitmix", "packed", "convert", "methods", "coin"]
# Written when the rule for mispredicted branches was fixed.
if "--third" in sys.argv:
    PROGRAMS = ["clip", "pick"]
QUICK = "--quick" in sys.argv
SECONDS, RATE, AGREE, KEPT_SECONDS = 2 if QUICK else 6, 4000, 6, 7200
METHODS = ["raw", "shifted", "attributed", "calc", "blamed", "perf"]
LEVELS = ["instruction", "line", "part"]
Line = collections.namedtuple("Line", "number copies text part cycles")


def read(name):
    """{function: [Line]}, in order. part: its name, None of links (cycles > 0) and what is free."""
    functions = {}
    for number, text in enumerate(open(f"{SOURCES}/{name}.s"), 1):
        code, _, note = (f.strip() for f in text.partition("#"))
        if code.startswith("function "):
            lines = functions.setdefault(code.split()[1], [])
        elif code:
            copies = re.match(r"(\d+) x ", code)
            lines.append(Line(number, int(copies.group(1)) if copies else 1, re.sub(r"^\d+ x ", "", code),
                              None if not note or note.startswith("=") else note,
                              int(note[1:]) if note.startswith("=") else 0))
    return functions


def build(name, functions, tag, times):
    """The program with each part `times` as often."""
    out = f"{FOLDER}/{name}.{tag.replace(' ', '_')}"
    c = [f'#include "{SOURCES}/driver.h"']
    c += [f"__attribute__((used)) void {f}(struct state *);" for f in functions if f != "turn"]
    for function, lines in functions.items():
        c.append(f"HOT __attribute__((naked)) void {function}(struct state *s)\n{{")
        for line in lines:
            copies = line.copies * (times(line.part) if line.part else 1)
            c += [f'#line {line.number} "{name}.s"\n    __asm__("{line.text}");'] * copies
        c.append("}")
    with open(out + ".c", "w") as file:
        file.write("\n".join(c) + "\n")
    subprocess.run(["gcc", "-O2", "-g", "-Wno-unused-parameter", "-o", out, out + ".c"], check=True)
    return out


def ns_a_turn(programs):
    """The least of nine, in turns."""
    best = {tag: 1e18 for tag in programs}
    for _ in range(5 if QUICK else 9):
        for tag, program in programs.items():
            fields = dict(f.split("=") for f in subprocess.run([program, "0.02"], check=True, capture_output=True,
                                                               text=True).stdout.split()[1:])
            best[tag] = min(best[tag], float(fields["seconds"]) / float(fields["visits"]) * 1e9)
    return best


def truth(name, functions):
    """(program, ns a turn of each part, of the links, what was measured). A part's time is the median of what a second copy of it
    adds, of what vanishes without it, and of what it takes alone in the loop. The latter two count only where what is left takes
    half as long again as the bare loop: below, the loop itself is what takes time. A branch has no second copy."""
    lines = [l for own in functions.values() for l in own]
    parts = list(dict.fromkeys(l.part for l in lines if l.part))
    branches = {l.part for l in lines if l.part and l.text.startswith("j")}
    links = any(l.cycles for l in lines)
    programs = {"whole": build(name, functions, "whole", lambda p: 1)}
    if len(parts) > 1 or links:
        programs["bare"] = build(name, functions, "bare", lambda p: 0)
        for part in parts:
            programs["only " + part] = build(name, functions, "only " + part, lambda p, part=part: p == part)
            programs["without " + part] = build(name, functions, "without " + part, lambda p, part=part: p != part)
            if part not in branches:
                programs["twice " + part] = build(name, functions, "twice " + part, lambda p, part=part: 1 + (p == part))
    ns = ns_a_turn(programs)
    whole = ns["whole"]
    if "bare" not in ns:
        return programs["whole"], {parts[0]: whole}, 0, {"ns a turn": round(whole, 2), "off by, %": 0, "judged": True}
    least, base = 1.5 * ns["bare"], ns["bare"] if links else 0
    figures = {p: [t for t, valid in ((ns.get("twice " + p, 0) - whole, p not in branches),
                                      (whole - ns["without " + p], p in branches or ns["without " + p] > least),
                                      (ns["only " + p] - base, ns["only " + p] > least)) if valid] for p in parts}
    cost = {p: statistics.median(f) for p, f in figures.items()}
    rest = whole - sum(cost.values())
    off = 50 / whole * (abs(rest - base) + sum(statistics.mean(abs(t - cost[p]) for t in f) for p, f in figures.items()))
    each = {p: [round(f, 2) for f in figures[p]] for p in parts}
    return programs["whole"], cost, max(0, rest) if links else 0, {"ns a turn": round(whole, 2), "bare": round(ns["bare"], 2), "parts, ns": each,
                                                 "rest, ns": round(rest, 2), "off by, %": round(off, 1), "judged": off <= AGREE}


def shares_of(lines, cost, links):
    """The true share of each instruction in order, from the parts' costs."""
    copies, cycles = collections.Counter(), 0
    for line in lines:
        copies[line.part] += line.copies
        cycles += line.copies * line.cycles
    each = [cost[l.part] / copies[l.part] if l.part else links * l.cycles / max(cycles, 1)
            for l in lines for _ in range(l.copies)]
    return [e / sum(each) for e in each]


def error(a, b):
    return 50 * sum(abs(a.get(k, 0) - b.get(k, 0)) for k in set(a) | set(b))


def by(keys, values):
    total = collections.Counter()
    for key, value in zip(keys, values):
        total[key] += value
    whole = sum(total.values()) or 1
    return {k: v / whole for k, v in total.items()}


def is_label(text):
    return text.endswith(":")


def calc(store, function):
    return json.loads(subprocess.run([CYCLESCOPE, "calc", "--store", store, "--json", "--all", function], check=True,
                                     capture_output=True, text=True).stdout)


def blamed(insns, time):
    """`calc`'s time, with stalls moved to the instruction that is responsible for their cause."""
    place, to = {int(i["offset"], 16): k for k, i in enumerate(insns)}, list(time)
    for k, insn in enumerate(insns):
        for suspect in insn["suspects"] if insn["cycles"] else []:
            other = place.get(int(suspect["responsible"] or "0", 16), k)
            part = min(time[k], time[k] * suspect["share"] / insn["cycles"])
            to[k] -= part
            to[other] += part
    return to


def perf_samples(program, functions, kept):
    """{(function, offset in it): samples}; None without perf."""
    if not shutil.which("perf"):
        return None
    file, seen = program + ".perf", collections.Counter()
    run = kept or subprocess.run(["perf", "record", "-q", "--buildid-mmap", "-e", "cpu-clock:u", "-F", str(RATE), "-o", file, "--", program,
                          str(SECONDS)], capture_output=True, text=True)
    if not kept and run.returncode:
        print(run.stderr.strip(), file=sys.stderr)
        return None
    text = subprocess.run(["perf", "script", "-i", file, "-F", "ip,sym,symoff"], capture_output=True, text=True).stdout
    for function, offset in re.findall(r"^\s*[0-9a-f]+ (\w+)\+0x([0-9a-f]+)", text, re.M):
        if function in functions:
            seen[function, int(offset, 16)] += 1
    return seen


def measure(name, kept):
    """`kept`: what an earlier run measured, whose recordings are judged once more."""
    functions = read(name)
    program, cost, links, row = kept["truth"] if kept else truth(name, functions)
    row["judged"] = row["off by, %"] <= AGREE
    row = {"program": name, **row, "truth": [program, cost, links, row]}
    lines = [l for ls in functions.values() for l in ls if not is_label(l.text)]
    parts = {p: max(0, c) for p, c in cost.items()}
    store = program + ".store"
    if not kept:
        shutil.rmtree(store, ignore_errors=True)
        subprocess.run([CYCLESCOPE, "record", "-o", store, "-F", str(RATE), "--", program, str(SECONDS)], check=True,
                       capture_output=True)
    found = {m: [] for m in METHODS}
    perf = perf_samples(program, functions, kept)
    true, keys = shares_of(lines, parts, links), {level: [] for level in LEVELS}
    at = 0
    for function, own in functions.items():
        own = [l for l in own if not is_label(l.text) for _ in range(l.copies)]
        answer = calc(store, function)
        insns = answer["instructions"][:len(own)]
        assert len(insns) == len(own), f"{name}: {function} has {len(insns)} instructions, not {len(own)}"
        first = int(insns[0]["offset"], 16)
        raw = [i["samples"] for i in insns]
        shifted = [0] * len(own)
        for k, insn in enumerate(insns):
            head = k == 0 or insns[k - 1]["block"] != insn["block"]
            shifted[k if head else k - 1] += raw[k]
        cycles = [(i["cycles"] or 0) * (i["visits"] or 0) for i in insns]
        scale = sum(i["attributed"] for i in insns) / sum(cycles) if sum(cycles) else 0
        found["raw"] += raw
        found["shifted"] += shifted
        found["attributed"] += [i["attributed"] for i in insns]
        found["calc"] += [c * scale if scale else i["attributed"] for c, i in zip(cycles, insns)]
        found["blamed"] += blamed(insns, found["calc"][at:])
        found["perf"] += [perf[function, int(i["offset"], 16) - first] if perf else 0 for i in insns]
        for k, (line, insn) in enumerate(zip(own, insns)):
            keys["instruction"].append(at + k - 1 if insn["fused"] else at + k)
            keys["line"].append(line.number - 1 if insn["fused"] else line.number)
            keys["part"].append(line.part or ("links" if line.cycles else "free"))
        # a fused pair is what its branch is called
        for k, insn in enumerate(insns):
            if insn["fused"]:
                keys["part"][at + k - 1] = keys["part"][at + k]
        at += len(own)
    n = sum(found["raw"])
    row["samples"] = n
    row["chance"] = round(50 * sum((2 / 3.1416 * t * (1 - t) / max(n, 1)) ** 0.5 for t in true), 1)
    row["error"] = {m: {l: round(error(by(keys[l], values), by(keys[l], true)), 1) for l in LEVELS}
                    for m, values in found.items() if sum(values)}
    row["perf samples"] = sum(found["perf"])
    # How many instructions early or late: the shift of the raw samples that fits the truth best.
    row["raw, moved back by"] = {s: round(error(by(keys["instruction"], moved(found["raw"], s)), by(keys["instruction"], true)), 1)
                                 for s in (-3, -2, -1, 0, 1, 2)}
    row["listing"] = [[l.text, round(100 * t, 1), *(round(100 * found[m][k] / (sum(found[m]) or 1), 1) for m in METHODS)]
                      for k, (l, t) in enumerate(zip([l for l in lines for _ in range(l.copies)], true))]
    return row


def moved(values, by_how_many):
    """Each sample to the instruction so many before its own (negative: after it), in the order of the code."""
    to = [0] * len(values)
    for k, v in enumerate(values):
        to[min(max(k - by_how_many, 0), len(values) - 1)] += v
    return to


os.makedirs(FOLDER, exist_ok=True)
wanted = os.environ.get("PROGRAMS", "").split(",") if os.environ.get("PROGRAMS") else PROGRAMS[:3] if QUICK else PROGRAMS
rows = []
for name in PROGRAMS:
    file = f"{FOLDER}/{name}.json"
    fresh = os.path.exists(file) and time.time() - os.path.getmtime(file) < KEPT_SECONDS
    if name in wanted and ("--again" not in sys.argv or fresh):
        row = measure(name, json.load(open(file)) if "--again" in sys.argv else None)
        times = (os.path.getatime(file), os.path.getmtime(file)) if "--again" in sys.argv else None
        with open(file, "w") as out:
            json.dump(row, out)
        if times:
            os.utime(file, times)
    elif not QUICK and fresh:
        row = json.load(open(file))
    else:
        continue
    row.pop("truth")
    listing = row.pop("listing")
    rows.append(row)
    print(f"{name}: " + json.dumps({k: v for k, v in row.items() if k != "program"}), file=sys.stderr)
    if "-v" in sys.argv:
        print(f"{'':30}{'true':>7}" + "".join(f"{m:>11}" for m in METHODS), file=sys.stderr)
        for text, *figures in listing:
            print(f"{text:30}{figures[0]:7.1f}" + "".join(f"{f:11.1f}" for f in figures[1:]), file=sys.stderr)
judged = [r for r in rows if r["judged"]]


def mean(method, level):
    values = [r["error"][method][level] for r in judged if method in r["error"]]
    return round(statistics.mean(values), 1) if values else None


print(json.dumps({"name": "profile-error", "value": mean("calc", "instruction"), "unit": "%", "target": 9.3,
                  "noise": round(statistics.mean(r["chance"] for r in judged), 1) if judged else None,
                  "detail": {"mean error": {m: {l: mean(m, l) for l in LEVELS} for m in METHODS}, "perf": bool(shutil.which("perf")),
                             "not judged": [r["program"] for r in rows if not r["judged"]], "programs": rows}}))
