#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Does `explain` help an agent more than a flat profile? bench/agent has changes that make programs slower: real ones, and
six in bench/agent/src that were written for this, so that nobody knows their sources by heart. For each change an agent gets
the changed source, the workload and a profile of it as text, nothing else: in one arm what `record` and `explain` say, in
the other perf's report. What it repairs is built, run and compared here.

    explain-agent.py prepare DIR [--build] [NAME...]   makes DIR/explain/NAME and DIR/perf/NAME (--build: without profiles)
    explain-agent.py judge DIR [NAME...]               after the agents' work: what is repaired, in each arm
    explain-agent.py show DIR                          the figure of all judged so far

A problem is repaired if its output is the original's and at least half of the change's cost is gone: the median of
alternating runs of the original, the changed program and both repairs (ROUNDS, default 7). Nothing else should run
meanwhile; a problem takes half a minute. `prepare` makes only the profiles that aren't there yet. `judge` keeps its rows in
DIR/judged.json and, without NAME, judges the problems that have none."""
import hashlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import time

BUILD = os.environ.get("BUILD", "build")
CYCLESCOPE = os.environ.get("CYCLESCOPE", os.path.abspath(BUILD + "/cyclescope"))
CACHE = os.path.abspath(os.environ.get("CS_PROGRAMS_CACHE", BUILD + "/programs"))
ARMS = ("explain", "perf")
SECONDS, PERF_LINES, ROUNDS = 8, 300, int(os.environ.get("ROUNDS", "7"))
# Where a program's sources are, the files that are no units of it, flags and libraries as in bench/programs; those below
# OWN are in this repository.
OWN = "bench/agent/src/"
PROGRAMS = {
    "lua5.4": ("src", ("luac",), "-DLUA_USE_LINUX -DLUA_COMPAT_5_3 '-Dluai_makeseed(L)=2246822519u'", "-Wl,-E -lm -ldl"),
    "bzip2": (".", ("bzip2recover", "dlltest", "mk251", "spewG", "unzcrash"), "-D_FILE_OFFSET_BITS=64", ""),
    "mawk": (".", ("fpe_check", "makescan", "regexp_system", "rexp", "rexp0", "rexp1", "rexp2", "rexp3", "rexp4", "rexpdb"),
             "-DHAVE_CONFIG_H -Isrc", "-lm"),
    **{name: (OWN + name, (), "-D_GNU_SOURCE", "-lm -pthread") for name in ("sheet", "logq", "tiles", "render", "keyval", "netsim")},
}
TASK = """# Programs that became slower

Each folder here has a program that became slower by a change of its source. `profile.txt` is a profile of its workload.

For each folder:
1. Find the place that costs the time, from profile.txt and src/.
2. Repair it in src/, in place, so that the workload is faster and its output stays the same.
3. Write ANSWER.txt: two lines, what the cause was and how sure you are.

`sh build.sh` builds src/ to ./program, `sh run.sh` runs the workload and prints its output.
Rules: no other compiler options, no threads, no caching of whole results. Use nothing outside this folder: not the program's
history, not its original source, not another folder's. Three minutes of attention a problem; what isn't found by then stays as it is.
"""


def problems(names):
    for line in open("bench/agent/problems.txt"):
        if line.strip() and line[0] != "#":
            name, program, cause, place, arguments = [f.strip() for f in line.split("|")]
            if not names or name in names:
                yield {"name": name, "program": program, "cause": cause, "function": place, "arguments": arguments.split()}


def script(path, text):
    with open(path, "w") as f:
        f.write("#!/bin/sh\n" + text)


def thrice(text):
    """A text compressed, three times in a row: what bzip2 makes of `cat file.bz2 file.bz2 file.bz2`."""
    kept = os.path.abspath(f"{BUILD}/bench/explain-agent.bz2")
    if not os.path.exists(kept):
        os.makedirs(os.path.dirname(kept), exist_ok=True)
        once = subprocess.run([f"{CACHE}/bzip2/plain/bzip2", "-9", "-k", "-c", text], check=True, capture_output=True).stdout
        with open(kept, "wb") as f:
            f.write(once * 3)
    return kept


def make(problem, folder, changed=True, repaired=None):
    """src/, build.sh, run.sh and the workload in an empty folder, built. -> whether it could be built"""
    where, others, flags, libraries = PROGRAMS[problem["program"]]
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder + "/src")
    source = where if where.startswith(OWN) else f"{CACHE}/source/{problem['program']}/{where}"
    for file in sorted(os.listdir(source)):
        if file.endswith((".c", ".h")):
            shutil.copy(f"{source}/{file}", folder + "/src")
    units = " ".join(f[:-2] for f in sorted(os.listdir(folder + "/src")) if f.endswith(".c") and f[:-2] not in others)
    if changed:
        subprocess.run(["patch", "-s", "-p1", "-d", folder + "/src", "-i", os.path.abspath(f"bench/agent/{problem['name']}.patch")], check=True)
    if repaired: # the agent's source, our build.sh
        shutil.rmtree(folder + "/src")
        shutil.copytree(repaired + "/src", folder + "/src")
    for file in os.listdir(folder + "/src"): # no file is younger than the others
        os.utime(f"{folder}/src/{file}", (0, 0))
    script(folder + "/build.sh", f"""# Builds src/ to ./program.
set -e
cd "$(dirname "$0")"
mkdir -p objects
for unit in {units}; do gcc -std=gnu11 -O2 -g -w {flags} -c "src/$unit.c" -o "objects/$unit.o"; done
gcc -o program objects/*.o {libraries}
""")
    options, files = [], []
    for word in problem["arguments"]:
        if word in ("IN", "BZ"):
            file, text = ("input.txt", f"{CACHE}/input/full.txt") if word == "IN" else ("input.bz2", thrice(f"{CACHE}/input/full.txt"))
            if file not in files:
                shutil.copy(text, f"{folder}/{file}")
            files.append(file)
        elif word == "W":
            file = "workload" + (".lua" if problem["program"] == "lua5.4" else ".awk")
            shutil.copy(f"bench/agent/{problem['name']}{file[-4:]}", f"{folder}/{file}")
            options.append(file)
        elif word == "N":
            options.append("${1:-1}")
        else:
            options.append(word)
    if problem["program"] == "lua5.4":
        options = ['-e "for _ = 1, ${1:-1} do dofile(\'workload.lua\') end"']
    script(folder + "/run.sh", f"""# Runs the workload once, or as often as $1 says in one process; its output is the program's.
cd "${{0%/*}}" 2>/dev/null
n=${{1:-1}} files=
while [ $n -gt 0 ]; do n=$((n - 1)) files="$files {' '.join(files)}"; done
exec ./program {' '.join(options)} $files
""")
    return subprocess.run(["sh", folder + "/build.sh"], capture_output=True).returncode == 0


def said(command, folder):
    with open(folder + "/output", "w") as out: # the workload's; what the profiler says of a recording is in its error output
        done = subprocess.run(command, cwd=folder, stdout=out, stderr=subprocess.PIPE, text=True, errors="replace",
                              env=dict(os.environ, NO_COLOR="1", COLUMNS="120"))
    shown = "" if "record" in command else open(folder + "/output", errors="replace").read()
    return f"$ {' '.join(command)}\n".replace(CYCLESCOPE, "cyclescope") + shown + done.stderr + "\n"


def profile(folder, arm, times):
    """profile.txt of several runs, one after the other."""
    if arm == "explain":
        text = said([CYCLESCOPE, "record", "--waits", "-o", "store", "--", "sh", "run.sh", str(times)], folder)
        text += said([CYCLESCOPE, "explain", "-o", "store"], folder)
    else: # --buildid-mmap: without it perf 6.1 ends in an assertion of its own on newer kernels
        text = said(["perf", "record", "-q", "-g", "--buildid-mmap", "-o", "perf.data", "--", "sh", "run.sh", str(times)], folder)
        for form in (["--no-children", "-g", "none"], []):
            text += said(["perf", "report", "-i", "perf.data", "--stdio"] + form, folder)
        text = "".join(text.splitlines(True)[:PERF_LINES])
    with open(folder + "/profile.txt", "w") as f:
        f.write(text)
    for name in ("store", "perf.data", "output"):
        shutil.rmtree(f"{folder}/{name}") if os.path.isdir(f"{folder}/{name}") else os.path.exists(f"{folder}/{name}") and os.unlink(f"{folder}/{name}")


def prepare(folder, names):
    for arm in ARMS:
        os.makedirs(f"{folder}/{arm}", exist_ok=True)
        with open(f"{folder}/{arm}/TASK.md", "w") as f:
            f.write(TASK)
    for problem in problems(names):
        if not PROGRAMS[problem["program"]][0].startswith(OWN):
            subprocess.run(["bench/programs", "build", problem["program"]], check=True, stdout=subprocess.DEVNULL)
        folders = {arm: f"{folder}/{arm}/{problem['name']}" for arm in ARMS}
        if not os.path.exists(folders["explain"] + "/program") and not make(problem, folders["explain"]):
            raise SystemExit(f"{problem['name']} can't be built")
        if not os.path.exists(folders["perf"] + "/program"): # the same program in both arms
            shutil.rmtree(folders["perf"], ignore_errors=True)
            shutil.copytree(folders["explain"], folders["perf"], ignore=shutil.ignore_patterns("profile.txt", "store"))
        wanted = [arm for arm in ARMS if not os.path.exists(folders[arm] + "/profile.txt")]
        if wanted and "--build" not in sys.argv:
            times = max(1, round(SECONDS / timed(folders[ARMS[0]])[0]))
            for arm in wanted:
                profile(folders[arm], arm, times)
        print(problem["name"], flush=True)


def timed(folder):
    start = time.time()
    with open(folder + "/output", "wb") as out:
        code = subprocess.run(["sh", folder + "/run.sh"], stdout=out, stderr=subprocess.DEVNULL, timeout=60).returncode
    took = time.time() - start
    with open(folder + "/output", "rb") as out:
        output = hashlib.sha256(out.read()).hexdigest()
    os.unlink(folder + "/output")
    return took, code, output


def judge(folder, names):
    kept = folder + "/judged.json"
    rows = json.load(open(kept)) if os.path.exists(kept) else {}
    work = os.path.abspath(f"{BUILD}/bench/explain-agent")
    for problem in problems(names or [p["name"] for p in problems([]) if p["name"] not in rows]):
        name, runs = problem["name"], {}
        for which in ("original", "changed", *ARMS):
            there = f"{folder}/{which}/{name}"
            if which in ARMS and not os.path.isdir(there):
                continue
            if make(problem, f"{work}/{which}", which != "original", there if which in ARMS else None):
                runs[which] = []
        for turn in range(ROUNDS):
            for which in sorted(runs, reverse=turn % 2 == 1):
                runs[which].append(timed(f"{work}/{which}"))
        pairs = list(zip(runs["original"], runs["changed"]))
        row = {**problem, "rounds": ROUNDS, "cost, % of the run": round(100 * statistics.median(1 - a[0] / b[0] for a, b in pairs), 1),
               "same output": runs["original"][0][2] == runs["changed"][0][2]}
        for arm in ARMS:
            if arm not in runs:
                row[arm] = {"repaired": False, "why": "can't be built"}
                continue
            gone = statistics.median((b[0] - c[0]) / max(1e-9, b[0] - a[0]) for (a, b), c in zip(pairs, runs[arm]))
            same = all(r[1] == 0 and r[2] == runs["original"][0][2] for r in runs[arm])
            answer = f"{folder}/{arm}/{name}/ANSWER.txt"
            row[arm] = {"repaired": same and gone >= 0.5, "gone, % of the cost": round(100 * gone), "output": "equal" if same else "differs",
                        "answer": open(answer).read().strip()[:300] if os.path.exists(answer) else None}
        rows[name] = row
        with open(kept, "w") as f:
            json.dump(rows, f, indent=1)
        print(json.dumps(row), file=sys.stderr, flush=True)
    shutil.rmtree(work, ignore_errors=True)


def show(folder):
    rows = list(json.load(open(folder + "/judged.json")).values())
    print(json.dumps({"name": "explain-agent", "value": sum(r["explain"]["repaired"] for r in rows), "unit": f"of {len(rows)} problems repaired",
                      "target": None, "noise": None, "detail": {"perf": sum(r["perf"]["repaired"] for r in rows), "rows": rows}}))


words = [w for w in sys.argv[1:] if not w.startswith("-")]
if len(words) < 2 or words[0] not in ("prepare", "judge", "show"):
    print(json.dumps({"name": "explain-agent", "value": None, "unit": "problems repaired", "target": None, "noise": None,
                      "detail": "needs an agent: prepare DIR, let it work in DIR/explain and DIR/perf, judge DIR"}))
elif words[0] == "prepare":
    prepare(os.path.abspath(words[1]), words[2:])
else:
    if words[0] == "judge":
        judge(os.path.abspath(words[1]), words[2:])
    show(os.path.abspath(words[1]))
