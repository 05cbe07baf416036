#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Static cycles of loops and straight blocks of real programs, against the same code alone in a timed loop.

The programs of the frequency benchmarks and others are recorded for 12 s with 30 bursts a second. `calc` says where their time is: of
each, the loops whose blocks follow each other and run equally often, and straight blocks, those with most samples. bench/_cost_truth.c
runs each alone, with the program's registers and memory at LOOKS moments: that is the truth, and it is warm. A piece whose looks differ by
more than AGREE percent, or that comes to more than PAGES pages, is not judged. The value is the mean error of `calc`:
  calc      by experiment where one can be made, else the model's. `calc` does so with closed paths alone
  kept      the same, but for the model's where these are less and values may be why, or by more than half: those `calc` keeps
            (analysis/culprit/account/path_experiments.c)
  experiment  those by experiment alone: the code in a loop in a process of its own, with registers and memory that are made up
  model     our scheduler's, of the same code in a loop: `calc --no-experiments`
  llvm-mca  what that says of the same code, by itself
  measured  cycles of one turn of a loop of SAMPLES or more as `calc` has them, from samples and executions: in the program, with its
            misses, mispredictions and few turns. So the bare loop isn't the truth of these, and the difference no error alone
  quiet     the same, of loops in which `calc` sees less than 10 % dynamic stall, of functions with five timed bursts or more
The figures of `coverage` are of all pieces that were judged, and of those that an experiment could run.
--quick: three programs, 4 s. PROGRAMS=a,b: only these; results of others are kept for four hours. --again: no new recordings. -v: every piece.
--only=record,truth,...: only these steps. Of record, choose, truth and mca the first and the third measure time."""
import json
import os
import re
import shlex
import shutil
import statistics
import subprocess
import sys
import time

os.chdir(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, "bench")
import libaccuracy

BUILD = os.environ.get("BUILD", "build")
CYCLESCOPE = os.environ.get("CYCLESCOPE", os.path.abspath(BUILD + "/cyclescope"))
FOLDER = os.path.abspath(BUILD + "/bench/cost")
QUICK = "--quick" in sys.argv
ONLY = ([w[7:].split(",") for w in sys.argv if w.startswith("--only=")] or [["record", "choose", "truth", "mca"]])[0]
PROGRAMS = libaccuracy.PROGRAMS + ["duktape", "cmark", "jimtcl", "gawk", "tcc", "mujs", "brotli", "tinyscheme", "zopfli", "clzip", "picosat"]
SECONDS, RATE, LOOKS, AGREE, PAGES, KEPT_SECONDS = 4 if QUICK else 12, 30, 3, 2, 12, 14400
LOOPS_MOST, BLOCKS_MOST, PROCEDURES_MOST, LEAST_OPERATIONS, TIMED_LEAST, SAMPLES = 16, 16, 20, 4, 5, 30
KINDS = ["calc", "experiment", "kept", "model", "llvm-mca", "measured", "quiet"]


def command_of(name):
    """(binary, shell command of many rounds)"""
    if name in libaccuracy.PROGRAMS:
        return libaccuracy.program(name, "full", 40)
    binary = libaccuracy.output("bench/programs", "build", name, "plain")
    command = libaccuracy.output("bench/programs", "command", name, "plain", "small" if name == "tinyscheme" else "full")
    if name == "tcc": # a script runs it: the command within
        with open(shlex.split(command)[0]) as script:
            line = next(l for l in script if l.startswith('"$1" '))
        command = line.split("||")[0].replace('"$1"', shlex.quote(binary)).replace('"$out"', shlex.quote(f"{FOLDER}/tcc.o")).strip()
    return binary, command


def ask(*words):
    run = subprocess.run([CYCLESCOPE, *words], capture_output=True, text=True)
    return json.loads(run.stdout) if run.returncode == 0 and run.stdout else None


def pieces_of(function, answer):
    """Loops and blocks of a function: dicts of what `calc` says."""
    insns = [i for i in answer["instructions"] if i["instruction"] and int(i["offset"], 16)] # but for marks of a gap
    for insn in insns:
        insn["at"] = int(insn["offset"], 16)
    place = {insn["at"]: k for k, insn in enumerate(insns)}
    heads = [k for k in range(len(insns)) if k == 0 or insns[k]["block"] != insns[k - 1]["block"]] + [len(insns)]

    def piece(kind, first, last):
        own = insns[first:last + 1]
        cycles = [i["cycles"] for i in own]
        return {"function": function, "kind": kind, "start": own[0]["at"], "n": len(own),
                "operations": len(own) - sum(bool(i["fused"]) for i in own), "samples": sum(i["attributed"] for i in own),
                "visits": own[0]["visits"], "measured": None if None in cycles else sum(cycles),
                "stall": sum(i["stall"] or 0 for i in own), "m": sum(i["m"] or 0 for i in own), "timed": answer["timed_bursts"]}

    found, within = [], set()
    for k, insn in enumerate(insns):
        words = insn["instruction"].split()
        target = re.search(r"0x([0-9a-f]+)$", insn["instruction"])
        if not (words[0].startswith("j") and words[0] != "jmp" and target):
            continue
        head = place.get(int(target.group(1), 16))
        if head is None or head > k or k - head > 120:
            continue
        visits = [i["visits"] or 0 for i in insns[head:k + 1]]
        text = [i["instruction"].split()[0] for i in insns[head:k]]
        back = any(t.startswith("j") and (t == "jmp" or int((re.search(r"0x([0-9a-f]+)$", i["instruction"]) or ["", "0"])[1], 16) <= i["at"])
                   for t, i in zip(text, insns[head:k]))
        straight = all(0 < b["at"] - a["at"] <= 15 for a, b in zip(insns[head:k], insns[head + 1:k + 1]))
        if straight and visits[0] > 0 and min(visits) > 0.95 * max(visits) and not back and not any(t.startswith(("call", "ret")) for t in text):
            found.append(piece("loop", head, k))
            within.update(range(head, k + 1))
    for first, after in zip(heads, heads[1:]):
        if first not in within and insns[first]["visits"]:
            one = piece("block", first, after - 1)
            if one["operations"] >= LEAST_OPERATIONS and one["samples"] > 0:
                found.append(one)
    return found


def mca(cpu, texts):
    """Cycles a turn, late; None: it doesn't know the code."""
    total = []
    for turns in (100, 300):
        run = subprocess.run(["llvm-mca", "-mtriple=x86_64", "-mcpu=" + cpu, f"-iterations={turns}", "-instruction-info=0",
                              "-resource-pressure=0"], capture_output=True, text=True,
                             input=".intel_syntax noprefix\n" + "\n".join(texts) + "\n.Lcs:\n")
        found = re.search(r"Total Cycles:\s+(\d+)", run.stdout)
        if run.returncode or not found:
            return None
        total.append(int(found.group(1)))
    return (total[1] - total[0]) / 200


def store_of(name):
    return f"{FOLDER}/{name}.store"


def record(name, command):
    shutil.rmtree(store_of(name), ignore_errors=True)
    loop = f"while true; do {command} >/dev/null </dev/null; done"
    subprocess.run([CYCLESCOPE, "record", "--burst-rate", str(RATE), "-o", store_of(name), "--", "timeout", str(SECONDS), "bash", "-c", loop],
                   capture_output=True)


def choose(name, binary):
    """Loops and blocks with most samples."""
    image, store = os.path.basename(binary), store_of(name)
    total = ask("sum", "--store", store, "--json") or {"procedures": []}
    pieces = []
    for row in [p for p in total["procedures"] if p["image"] == image][:PROCEDURES_MOST]:
        answer = ask("calc", "--store", store, "--json", "--all", "--image", image, row["procedure"])
        if answer:
            pieces += pieces_of(row["procedure"], answer)
    pieces.sort(key=lambda p: -p["samples"])
    chosen = [p for p in pieces if p["kind"] == "loop"][:LOOPS_MOST]
    return chosen + [p for p in pieces if p["kind"] == "block"][:LOOPS_MOST + BLOCKS_MOST - len(chosen)]


def time_pieces(name, binary, command, chosen):
    with open(f"{FOLDER}/{name}.pieces", "w") as out:
        out.writelines(f"{p['start']:x} {p['n']}\n" for p in chosen)
    for p in chosen:
        for key in ("text", "model", "experiment", "kept", "unable", "looks", "refused", "truth", "differ", "calc", "llvm-mca"):
            p.pop(key, None)
    run = subprocess.run([BUILD + "/bench/_cost_truth", binary, f"{FOLDER}/{name}.pieces", str(LOOKS), *shlex.split(command)],
                         capture_output=True, text=True, stdin=subprocess.DEVNULL)
    cpu = "generic"
    for line in run.stdout.splitlines():
        what, *rest = line.split(" ", 2)
        if what == "scheduler":
            cpu = (re.search(r"-mcpu=(\S+)", line) or ["", cpu])[1]
            continue
        p, words = chosen[int(rest[0])], rest[1]
        p["cpu"] = cpu
        if what == "text":
            p.setdefault("text", []).append(words)
        elif what == "model":
            p["model"] = float(words.split()[0])
        elif what == "experiment":
            p["experiment"] = float(words.split()[0])
        elif what == "kept":
            p["kept"] = float(words)
        elif what == "unable":
            p["unable"] = words
        elif what == "piece":
            p.setdefault("looks", []).append([float(f) for f in words.split()[1:]])
        elif what == "refused":
            p["refused"] = words
    for p in chosen:
        looks = [l[0] for l in p.get("looks", [])]
        if looks:
            p["truth"] = statistics.median(looks)
            p["differ"] = 100 * (max(looks) - min(looks)) / p["truth"] if len(looks) > 1 else None
        p["calc"] = p.get("experiment") or p.get("model")


def measure(name, kept):
    """Does the steps that are asked for; returns the pieces, and keeps them."""
    binary, command = command_of(name)
    if "record" in ONLY and not ("--again" in sys.argv and os.path.exists(store_of(name))):
        record(name, command)
    own = json.load(open(kept)) if os.path.exists(kept) else []
    if "choose" in ONLY:
        own = choose(name, binary)
    if "truth" in ONLY:
        time_pieces(name, binary, command, own)
    if "mca" in ONLY and shutil.which("llvm-mca"):
        for p in own:
            if "text" in p and "llvm-mca" not in p:
                p["llvm-mca"] = mca(p["cpu"], p["text"])
    with open(kept, "w") as out:
        json.dump(own, out)
    return own


def figures(pieces):
    """Of the pieces that are judged: {kind: [(error, piece)]}."""
    errors = {k: [] for k in KINDS}
    for p in pieces:
        if p["kind"] == "loop" and p["measured"] and p["samples"] >= SAMPLES:
            errors["measured"].append((100 * (p["measured"] / p["truth"] - 1), p))
            if p["stall"] < 0.1 * p["measured"] and p["timed"] >= TIMED_LEAST:
                errors["quiet"].append(errors["measured"][-1])
        for k in ("calc", "experiment", "kept", "model", "llvm-mca"):
            if p.get(k):
                errors[k].append((100 * (p[k] / p["truth"] - 1), p))
    return errors


def told(errors):
    size = [abs(e) for e, _ in errors]
    return {"pieces": len(size), "mean": round(statistics.mean(size), 1), "median": round(statistics.median(size), 1),
            "within 3 %": round(100 * sum(s <= 3 for s in size) / len(size), 1),
            "too high by, mean": round(statistics.mean(e for e, _ in errors), 1)} if size else {"pieces": 0}


os.makedirs(FOLDER, exist_ok=True)
subprocess.run(["make", "-s", "BUILD=" + BUILD, "CS_DEPS_DONE=1", BUILD + "/bench/_cost_truth"], check=True, stdout=sys.stderr)
wanted = os.environ["PROGRAMS"].split(",") if os.environ.get("PROGRAMS") else PROGRAMS[:3] if QUICK else PROGRAMS
pieces = []
for name in PROGRAMS:
    kept = f"{FOLDER}/{name}.json"
    if name in wanted:
        try:
            own = measure(name, kept)
        except subprocess.CalledProcessError as error:
            print(f"{name}: {error}", file=sys.stderr)
            continue
    elif not QUICK and os.path.exists(kept) and time.time() - os.path.getmtime(kept) < KEPT_SECONDS:
        own = json.load(open(kept))
    else:
        continue
    pieces += [{"program": name, **p} for p in own]
    print(f"{name}: {len(own)} pieces, {sum('truth' in p for p in own)} timed", file=sys.stderr)
timed = [p for p in pieces if p.get("truth") and p.get("differ") is not None]
judged = [p for p in timed if p["differ"] <= AGREE and p["looks"][0][3] <= PAGES]
errors = figures(judged)
refused = {}
for p in pieces:
    if "truth" not in p:
        refused[p.get("refused", "not reached")] = refused.get(p.get("refused", "not reached"), 0) + 1
if "-v" in sys.argv:
    for p in sorted(timed, key=lambda p: -abs((p.get("calc") or p["truth"]) / p["truth"] - 1)):
        shown = [p["truth"], p["differ"], p.get("experiment") or 0, p.get("model") or 0, p.get("llvm-mca") or 0, p["measured"] or 0, p["m"], p["looks"][0][3]]
        print(f"{p['program']:8} {p['function'][:22]:22} {p['start']:7x} {p['kind']:5} {p['n']:3} insns" +
              "".join(f"{x:9.2f}" for x in shown) + "  " + p.get("unable", ""), file=sys.stderr)


def worst(kind):
    """The largest errors, with what they are of."""
    return [[p["program"], p["function"], f"{p['start']:x}", p["kind"], p["n"], round(p["truth"], 2), f"{e:+.0f} %"]
            for e, p in sorted(errors[kind], key=lambda x: -abs(x[0]))[:8]]


def mean(values):
    return round(statistics.mean(values), 2) if values else None


loops = [p for p in judged if p["kind"] == "loop"]
print(json.dumps({"name": "cost-truth", "value": told(errors["calc"]).get("mean"), "unit": "%", "target": 3,
                  "noise": mean([p["differ"] for p in judged]), "detail": {
                      "mean error": {k: told(v) for k, v in errors.items()},
                      "loops, blocks": {k: [told([e for e in errors[k] if e[1]["kind"] == kind]) for kind in ("loop", "block")]
                                        for k in ("calc", "experiment", "kept", "model", "llvm-mca")},
                      "coverage, %": mean([100 * ("experiment" in p) for p in judged]),
                      "unable": {why: sum(p.get("unable") == why for p in judged) for why in {p["unable"] for p in judged if "unable" in p}},
                      "judged": len(judged), "loops": len(loops),
                      "chosen": len(pieces), "not timed": refused,
                      "looks differ, or many pages": len(timed) - len(judged),
                      "looks within 1 %, % of those timed": mean([100 * (p["differ"] <= 1) for p in timed]),
                      "worst": {k: worst(k) for k in KINDS[:6]}}}))
