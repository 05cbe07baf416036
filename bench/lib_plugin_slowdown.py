# SPDX-License-Identifier: GPL-2.0-or-later
"""What the compiler plugin costs real programs in CPU time, from a run's first to its last line.

Where code happens to lie is worth more than a tag, so it is averaged out and held fixed, both. A visit runs, in one random
order of the program's functions (a layout), `plain`; `tagged`; `one`, the tagged executable with an instruction of the same
size in the place of each tag's, that stores nothing; `two`, with two such instructions. The four of a visit run at once and
take turns on one CPU every few milliseconds, so that whatever slows this CPU for a while slows all of them: runs one after
the other strayed by 12 % from each other on a virtual machine where these stray by 1.2 %. Then

    slowdown       tagged over plain     the value: all that the plugin does to the program, layout included
    store          tagged over one       the stores alone: everything else is the same, byte by byte
    instruction    two over one          one instruction more a point on its way through the core, in the same bytes
    layout         one over plain        the code lies elsewhere (and one instruction a point, and what GCC does differently)

Each is a mean of logarithms over visits without the tenth at both ends, then over programs (a geometric mean); `noise` and
the figures behind +- are half a bootstrap's 90 % interval over visits."""
import json
import math
import os
import random
import shlex
import statistics
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from lib_plugin_cost import BUILD, PROGRAMS, SECTIONS, build, by_callgrind, programs

RATIOS = {"slowdown": ("tagged", "plain"), "store": ("tagged", "one"), "instruction": ("two", "one"), "layout": ("one", "plain")}


def start(command):
    back, front = os.pipe()
    pid = os.fork()
    if pid == 0:
        null = os.open("/dev/null", os.O_WRONLY)
        os.dup2(null, 1)
        os.dup2(front, 3)
        os.execv(command[0], command)
    os.close(front)
    return pid, back


def cpu_ns(command, pid, back):
    text = os.read(back, 64)
    os.close(back)
    if os.waitpid(pid, 0)[1] != 0 or not text:
        sys.exit(f"{command[0]} failed")
    return int(text)


def tsc_hz():
    """Of the time-stamp counter, as far as the kernel says: the processor's nominal frequency."""
    for row in open("/proc/cpuinfo"):
        if row.startswith("cpu MHz"):
            return float(row.split(":")[1]) * 1e6
    return None


def visit(linked, arguments, seconds):
    """Times in ns, [{label: ns}, one a visit]."""
    visits, end = [], time.monotonic() + seconds
    while len(visits) < 3 or time.monotonic() < end:
        exes = linked[len(visits) % len(linked)]
        commands = {label: [exes[label], *arguments] for label in random.sample(sorted(exes), len(exes))}
        started = {label: start(command) for label, command in commands.items()}
        visits.append({label: cpu_ns(commands[label], *child) for label, child in started.items()})
    return visits


def trimmed(values):
    values, out = sorted(values), len(values) // 10
    return statistics.mean(values[out:len(values) - out])


def percent(by_program):
    """Of logarithms of ratios, [[one a visit], one a program], the geometric mean."""
    return 100 * math.expm1(statistics.mean(map(trimmed, by_program)))


def interval(by_program):
    boot = sorted(percent([random.choices(logs, k=len(logs)) for logs in by_program]) for _ in range(1000))
    return (boot[949] - boot[50]) / 2


def told(by_program):
    return f"{percent(by_program):.2f} +- {interval(by_program):.2f}"


def main(name, level, target):
    quick = "--quick" in sys.argv
    linked = build(level)
    arguments = {p: shlex.split(programs("command", p, SECTIONS + "plain", "small"))[1:] for p in PROGRAMS}
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        exact = {} if quick else dict(zip(PROGRAMS, pool.map(lambda p: [by_callgrind(
            f"{BUILD}/programs/{p}/{SECTIONS}{label}/{p}", arguments[p], label != "plain") for label in (level, "plain")], PROGRAMS)))
    if "--build" in sys.argv:
        return
    for each in linked.values():
        for exes in each:
            exes["tagged"] = exes.pop(level)
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    seconds = float(os.environ.get("SECONDS_EACH", 1 if quick else 14))
    visits = {p: visit(linked[p], arguments[p], seconds) for p in PROGRAMS}
    logs = {what: [[math.log(v[a] / v[b]) for v in visits[p]] for p in PROGRAMS] for what, (a, b) in RATIOS.items()}
    detail = {f"{what}_percent": {"all": told(each), **{p: told([one]) for p, one in zip(PROGRAMS, each)}} for what, each in logs.items()}
    slowest = max(range(len(PROGRAMS)), key=lambda i: percent([logs["slowdown"][i]]))
    detail["worst_percent"] = round(percent([logs["slowdown"][slowest]]), 2)
    detail["worst_target_percent"] = 5
    # How far a single visit strays: where the layout is another, and where it is the same.
    detail["spread_percent"] = {p: {what: round(100 * statistics.stdev(logs[what][i]), 2) for what in ("layout", "store")} for i, p in enumerate(PROGRAMS)}
    detail["visits"] = {p: len(v) for p, v in visits.items()}
    detail["layouts"] = len(linked[PROGRAMS[0]])
    hz = tsc_hz()
    if exact:
        detail["instructions_more_percent"] = {p: round(100 * (e["instructions"] / plain["instructions"] - 1), 2) for p, (e, plain) in exact.items()}
        detail["points_of_instructions_percent"] = {p: round(100 * e["points"] / plain["instructions"], 2) for p, (e, plain) in exact.items()}
        detail["instructions_between_tags"] = {p: round(e["instructions"] / e["points"], 1) for p, (e, _) in exact.items()}
    if exact and hz:
        own = {p: statistics.median(v["plain"] for v in visits[p]) for p in PROGRAMS}
        detail["tsc_cycles_between_tags"] = {p: round(own[p] / 1e9 * hz / exact[p][0]["points"], 1) for p in PROGRAMS}
    print(json.dumps({"name": name, "value": round(percent(logs["slowdown"]), 2), "unit": "% slowdown, geometric mean",
                      "target": target, "noise": round(interval(logs["slowdown"]), 2), "detail": detail}))
