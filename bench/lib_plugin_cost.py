# SPDX-License-Identifier: GPL-2.0-or-later
"""What the compiler plugin costs real programs: CPU time with and without, in short runs that alternate (plain, tagged,
plain, ...) on one CPU. A run's time is from its first to its last line. A ratio is of a run to the mean of its two
neighbours. A layout is one random order of the program's functions, the same for plain and tagged, linked once more:
where code happens to lie costs more than a tag does. A program's slowdown is the mean over its layouts of the medians of
their ratios. `noise` is half the width of a bootstrap's 90 % interval (over layouts, and runs in them) of the geometric
mean; the floor is the same arithmetic on plain runs alone."""
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
LAYOUTS = 12
TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.path.abspath(os.environ.get("BUILD", "build"))
RUNTIME = f"-L{BUILD} -l:libcyclescope.a"


def programs(*args, check=True, **env):
    done = subprocess.run([TOP + "/bench/programs", *args], check=check, text=True, stdout=subprocess.PIPE,
                          env={**os.environ, "BUILD": BUILD, **env})
    return done.stdout.strip() if check else done.returncode


def build_one(name, label):
    """Objects of `name` as `label` (plain, methods, loops), a section a function."""
    flags = ["-ffunction-sections"]
    if label != "plain":
        flags += [f"-fplugin={BUILD}/plugin/cyclescope.so", f"-fplugin-arg-cyclescope-{label}"]
    folder = f"{BUILD}/programs/{name}/sections-{label}"
    if not os.path.exists(folder + "/libs"):  # built when objects weren't kept
        subprocess.run(["rm", "-rf", folder], check=True)
    programs("build", name, "sections-" + label, *flags, LINK=runtime(label))
    return folder


def runtime(label):
    return "" if label == "plain" else RUNTIME


def link(name, label, folder, order, k):
    """The k-th layout: functions in the order of the file."""
    clock, out = f"{folder}/cpu_time.obj", f"{folder}/{name}.{k}"
    if os.path.exists(out) and os.path.getmtime(out) > max(map(os.path.getmtime, (folder + "/stamp", BUILD + "/libcyclescope.a"))):
        return out
    subprocess.run(["gcc", "-O2", "-c", "-o", clock, TOP + "/bench/workloads/cpu_time.c"], check=True)
    programs("link", name, "sections-" + label, out, "-Wl,-S", "-fuse-ld=gold", f"-Wl,--section-ordering-file={order}", clock,
             LINK=runtime(label))
    return out


def functions(folder):
    """Names of the sections that hold a function each."""
    objects = sorted(os.path.join(folder, f) for f in os.listdir(folder) if f.endswith(".o"))
    rows = subprocess.run(["readelf", "-SW", *objects], check=True, capture_output=True, text=True).stdout
    return sorted({word for word in rows.split() if word.startswith(".text.")})


def layouts(name, folders):
    """All links of one program: {label: [executable of each layout]}"""
    names = functions(folders["plain"])
    linked = {label: [] for label in folders}
    for k in range(LAYOUTS):
        order = f"{folders['plain']}/order.{k}"
        with open(order, "w") as out:
            random.Random(k).shuffle(names)
            out.write("\n".join(names) + "\n")
        for label, folder in folders.items():
            linked[label].append(link(name, label, folder, order, k))
    return linked


def build(level):
    wanted = [(p, label) for p in PROGRAMS for label in ("plain", level)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        folders = dict(zip(wanted, pool.map(lambda w: build_one(*w), wanted)))
        return dict(zip(PROGRAMS, pool.map(lambda p: layouts(p, {label: folders[p, label] for label in ("plain", level)}), PROGRAMS)))


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


def by_callgrind(exe, arguments):
    """Exact counts of the program's workload, by callgrind, kept beside the program: `points` passed, `instructions`
    executed."""
    kept = exe + ".callgrind.json"
    if os.path.exists(kept) and os.path.getmtime(kept) > os.path.getmtime(exe):
        return json.load(open(kept))
    rows, _ = tag_table(exe)
    with tempfile.TemporaryDirectory() as work:
        subprocess.run(["valgrind", "--tool=callgrind", "--dump-instr=yes", f"--callgrind-out-file={work}/out", exe,
                        *arguments], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        counts, total = read_callgrind(work + "/out", exe)
    found = {"points": sum(counts.get(r[0], 0) for r in rows), "instructions": total}
    json.dump(found, open(kept, "w"))
    return found


def plain_name(function):
    """Without what the compiler appends to copies and parts, and callgrind to recursion levels."""
    return function.split(".")[0].split("'")[0].split("@")[0]


def read_callgrind(out, exe):
    """Instructions by address in the program, and of all."""
    counts, total, address, names, here, arc = {}, 0, 0, {}, None, False
    for row in open(out):
        if row.startswith("ob="):
            number, _, name = row[3:].strip().partition(" ")
            here = names.setdefault(number, name or number)
        elif row.startswith("cob="):
            number, _, name = row[4:].strip().partition(" ")
            names.setdefault(number, name or number)
        elif row.startswith("calls="):
            arc = True  # the next row is what the callee cost
        elif row[0] in "0+-*":
            head, *cells = row.split()
            address = int(head, 16) if head[0] == "0" else address + (0 if head == "*" else int(head))
            if not arc:
                total += int(cells[-1])
                if here == exe:
                    counts[address] = counts.get(address, 0) + int(cells[-1])
            arc = False
    return counts, total


def tsc_hz():
    """Of the time-stamp counter, as far as the kernel says: the processor's nominal frequency."""
    for row in open("/proc/cpuinfo"):
        if row.startswith("cpu MHz"):
            return float(row.split(":")[1]) * 1e6
    return None


def alternate(plain, tagged, seconds):
    """Ratios by layout: of tagged runs to plain ones around them, of plain to plain; and the median plain run in ns."""
    for exe in plain + tagged:
        cpu_ns(exe)
    slow, floor, own, end = [[] for _ in plain], [[] for _ in plain], [], time.monotonic() + seconds
    while not all(slow) or time.monotonic() < end:
        k = len(own) % len(plain)
        before, with_tags, after = cpu_ns(plain[k]), cpu_ns(tagged[k]), cpu_ns(plain[k])
        slow[k].append(2 * with_tags / (before + after))
        floor[k].append(after / before)
        own.append(before)
    return slow, floor, statistics.median(own)


def percent(by_layout):
    return 100 * (statistics.mean(statistics.median(ratios) for ratios in by_layout) - 1)


def mean(slow):
    return 100 * (math.exp(sum(math.log1p(s / 100) for s in slow) / len(slow)) - 1)


def interval(programs_ratios):
    """Half the 90 % interval of the geometric mean, by resampling layouts, and runs in them."""
    def again(by_layout):
        return [random.choices(ratios, k=len(ratios)) for ratios in random.choices(by_layout, k=len(by_layout))]
    boot = sorted(mean([percent(again(r)) for r in programs_ratios]) for _ in range(400))
    return (boot[379] - boot[20]) / 2


def main(name, level, target):
    quick = "--quick" in sys.argv
    linked = build(level)
    if "--build" in sys.argv:
        return
    arguments = {p: shlex.split(programs("command", p, "sections-plain", "small"))[1:] for p in PROGRAMS}
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        exact = {} if quick else dict(zip(PROGRAMS, pool.map(lambda p: by_callgrind(
            f"{BUILD}/programs/{p}/sections-{level}/{p}", arguments[p]), PROGRAMS)))
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    seconds = float(os.environ.get("SECONDS_EACH", 1 if quick else 14))
    ratios, floor, own = {}, {}, {}
    for p in PROGRAMS:
        commands = {label: [[exe, *arguments[p]] for exe in exes] for label, exes in linked[p].items()}
        ratios[p], floor[p], own[p] = alternate(commands["plain"], commands[level], seconds)
    slow = {p: percent(ratios[p]) for p in PROGRAMS}
    detail = {"slowdown_percent": {p: round(s, 2) for p, s in slow.items()},
              "interval_percent": {p: round(interval([ratios[p]]), 2) for p in PROGRAMS},
              "worst_percent": round(max(slow.values()), 2), "worst_target_percent": 5,
              "floor_plain_to_plain_percent": round(mean([percent(f) for f in floor.values()]), 2),
              "floor_interval_percent": round(interval(list(floor.values())), 2),
              "runs": {p: sum(map(len, r)) for p, r in ratios.items()}, "layouts": LAYOUTS}
    hz = tsc_hz()
    if exact and hz:
        detail["tsc_cycles_between_tags"] = {p: round(own[p] / 1e9 * hz / exact[p]["points"], 1) for p in PROGRAMS}
        detail["instructions_between_tags"] = {p: round(exact[p]["instructions"] / exact[p]["points"], 1) for p in PROGRAMS}
    print(json.dumps({"name": name, "value": round(mean(slow.values()), 2), "unit": "% slowdown, geometric mean",
                      "target": target, "noise": round(interval(list(ratios.values())), 2), "detail": detail}))
