# SPDX-License-Identifier: GPL-2.0-or-later
"""What the compiler plugin costs real programs: CPU time with and without, in short runs that alternate (plain, tagged,
plain, ...) on one CPU. A run's time is from its first to its last line. A ratio is of a run to the mean of its two
neighbours; a program's slowdown is the median of its ratios, over four links of each that shift the code by 0, 16, 32 and
48 bytes, so that it isn't the luck of an alignment. `noise` is half the width of a bootstrap's 90 % interval of the
geometric mean; the floor is the same arithmetic on plain runs alone."""
import json
import math
import os
import random
import shlex
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

PROGRAMS = ["sqlite3", "zstd", "bzip2", "lua5.4"]  # longest to build first
SHIFTS = (0, 16, 32, 48)
TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.path.abspath(os.environ.get("BUILD", "build"))
RUNTIME = f"-L{BUILD} -l:libcyclescope.a"


def programs(*args, check=True, **env):
    done = subprocess.run([TOP + "/bench/programs", *args], check=check, text=True, stdout=subprocess.PIPE,
                          env={**os.environ, "BUILD": BUILD, **env})
    return done.stdout.strip() if check else done.returncode


def build_one(name, label):
    flags = [] if label == "plain" else [f"-fplugin={BUILD}/plugin/cyclescope.so", f"-fplugin-arg-cyclescope-{label}"]
    link = "" if label == "plain" else RUNTIME
    folder = f"{BUILD}/programs/{name}/{label}"
    if not os.path.exists(folder + "/libs"):  # built when objects weren't kept
        subprocess.run(["rm", "-rf", folder], check=True)
    programs("build", name, label, *flags, LINK=link)
    linked = []
    for shift in SHIFTS:
        clock, out = f"{folder}/cpu_time.{shift}.obj", f"{folder}/{name}.{shift}"
        subprocess.run(["gcc", "-O2", f"-DSHIFT={shift}", "-c", "-o", clock, TOP + "/bench/workloads/cpu_time.c"], check=True)
        programs("link", name, label, out, "-Wl,-S", clock, LINK=link)
        linked.append(out)
    return linked


def build(level):
    wanted = [(p, label) for p in PROGRAMS for label in ("plain", level)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return dict(zip(wanted, pool.map(lambda w: build_one(*w), wanted)))


def cpu_ns(command):
    back, front = os.pipe()
    pid = os.fork()
    if pid == 0:
        null = os.open("/dev/null", os.O_WRONLY)
        os.dup2(null, 1)
        os.dup2(front, 3)
        os.execv(command[0], command)
    os.close(front)
    text = os.read(back, 64)
    os.close(back)
    if os.waitpid(pid, 0)[1] != 0 or not text:
        sys.exit(f"{command[0]} failed")
    return int(text)


def tag_table(exe):
    """Tag points (signals/plugin/point.h): records, and the text that they point into."""
    parts = []
    with tempfile.TemporaryDirectory() as work:
        for section in ("tags", "str"):
            subprocess.run(["objcopy", "-O", "binary", f"--only-section=.debug_cyclescope_{section}", "--set-section-flags",
                            f".debug_cyclescope_{section}=alloc", exe, f"{work}/{section}"], check=True, stderr=subprocess.DEVNULL)
            parts.append(open(f"{work}/{section}", "rb").read())
    return list(struct.iter_unpack("<QIIIHBB", parts[0])), parts[1]


def by_callgrind(exe, command):
    """Exact counts of the program's workload, by callgrind, kept beside the program: `points` passed, `instructions`
    executed, `tagged` functions, `callers` of each function with what it cost them: {callee: {caller: instructions}};
    all functions outside the program are also summed as "outside"."""
    kept = exe + ".callgrind.json"
    if os.path.exists(kept) and os.path.getmtime(kept) > os.path.getmtime(exe):
        return json.load(open(kept))
    rows, texts = tag_table(exe)
    with tempfile.TemporaryDirectory() as work:
        subprocess.run(["valgrind", "--tool=callgrind", "--dump-instr=yes", f"--callgrind-out-file={work}/out", exe,
                        *command[1:]], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        counts, total, callers = read_callgrind(work + "/out", exe)
    tagged = {plain_name(texts[r[2]:texts.index(b"\0", r[2])].decode()) for r in rows}
    found = {"points": sum(counts.get(r[0], 0) for r in rows), "instructions": total, "tagged": sorted(tagged), "callers": callers}
    json.dump(found, open(kept, "w"))
    return found


def plain_name(function):
    """Without what the compiler appends to copies and parts, and callgrind to recursion levels."""
    return function.split(".")[0].split("'")[0].split("@")[0]


def read_callgrind(out, exe):
    counts, callers, objects, functions, total = {}, {}, {}, {}, 0
    address = 0
    here = there = caller = callee = None
    arc = False

    def named(names, text):
        number, _, name = text.strip().partition(" ")
        return names.setdefault(number, name or number)

    for row in open(out):
        if row.startswith("ob="):
            here = named(objects, row[3:])
        elif row.startswith("cob="):
            there = named(objects, row[4:])
        elif row.startswith("fn="):
            caller, there = plain_name(named(functions, row[3:])), None
        elif row.startswith("cfn="):
            callee = plain_name(named(functions, row[4:]))
        elif row.startswith("calls="):
            arc = True  # the next row is what the callee cost
        elif row[0] in "0+-*":
            head, *cells = row.split()
            address = int(head, 16) if head[0] == "0" else address + (0 if head == "*" else int(head))
            cost = int(cells[-1])
            if not arc:
                total += cost
                if here == exe:
                    counts[address] = counts.get(address, 0) + cost
                continue
            if caller != callee:
                into = callers.setdefault(callee, {})
                into[caller] = into.get(caller, 0) + cost
                if here == exe and there not in (None, exe):
                    into = callers.setdefault("outside", {})
                    into[caller] = into.get(caller, 0) + cost
            arc, there = False, None
    return counts, total, callers


def tsc_hz():
    """Of the time-stamp counter, as far as the kernel says: the processor's nominal frequency."""
    for row in open("/proc/cpuinfo"):
        if row.startswith("cpu MHz"):
            return float(row.split(":")[1]) * 1e6
    return None


def alternate(plain, tagged, seconds, least):
    """Run times in ns, of plain and tagged programs in turn, layouts in turn: [(layout, plain, tagged, plain), ...]"""
    layouts = len(SHIFTS)
    for k in range(layouts):
        cpu_ns(plain[k]), cpu_ns(tagged[k])
    found, end = [], time.monotonic() + seconds
    while len(found) < least or time.monotonic() < end:
        k = len(found) % layouts
        found.append((cpu_ns(plain[k]), cpu_ns(tagged[k]), cpu_ns(plain[k])))
    return found


def percent(ratios):
    return 100 * (statistics.median(ratios) - 1)


def mean(slow):
    return 100 * (math.exp(sum(math.log1p(s / 100) for s in slow) / len(slow)) - 1)


def interval(ratios):
    """Half the 90 % interval of the geometric mean of medians, by resampling."""
    boot = sorted(mean([percent(random.choices(r, k=len(r))) for r in ratios]) for _ in range(400))
    return (boot[379] - boot[20]) / 2


def main(name, level, target):
    quick = "--quick" in sys.argv
    linked = build(level)
    if "--build" in sys.argv:
        return
    arguments = {p: shlex.split(programs("command", p, "plain", "small"))[1:] for p in PROGRAMS}
    commands = {key: [[exe, *arguments[key[0]]] for exe in exes] for key, exes in linked.items()}
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        exact = {} if quick else dict(zip(PROGRAMS, pool.map(lambda p: by_callgrind(
            f"{BUILD}/programs/{p}/{level}/{p}", commands[p, level][0]), PROGRAMS)))
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    seconds = float(os.environ.get("SECONDS_EACH", 2 if quick else 21))
    runs = {p: alternate(commands[p, "plain"], commands[p, level], seconds, 4) for p in PROGRAMS}
    ratios = {p: [2 * t / (a + b) for a, t, b in runs[p]] for p in PROGRAMS}
    floor = {p: [b / a for a, _, b in runs[p]] for p in PROGRAMS}
    slow = {p: percent(ratios[p]) for p in PROGRAMS}
    detail = {"slowdown_percent": {p: round(s, 2) for p, s in slow.items()},
              "interval_percent": {p: round(interval([ratios[p]]), 2) for p in PROGRAMS},
              "worst_percent": round(max(slow.values()), 2), "worst_target_percent": 5,
              "floor_plain_to_plain_percent": round(mean([percent(f) for f in floor.values()]), 2),
              "floor_interval_percent": round(interval(list(floor.values())), 2),
              "runs": {p: len(r) for p, r in runs.items()}}
    hz = tsc_hz()
    if exact and hz:
        own = {p: statistics.median(a for a, _, _ in runs[p]) / 1e9 * hz for p in PROGRAMS}
        detail["tsc_cycles_between_tags"] = {p: round(own[p] / exact[p]["points"]) for p in PROGRAMS}
        detail["instructions_between_tags"] = {p: round(exact[p]["instructions"] / exact[p]["points"]) for p in PROGRAMS}
    print(json.dumps({"name": name, "value": round(mean(slow.values()), 2), "unit": "% slowdown, geometric mean",
                      "target": target, "noise": round(interval(list(ratios.values())), 2), "detail": detail}))
