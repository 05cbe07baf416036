# SPDX-License-Identifier: GPL-2.0-or-later
"""What the compiler plugin costs real programs: CPU time with and without, in alternating short runs of one
measurement. Machines of this kind lend their time away in gaps, so a run's time is that of its undisturbed ones: the
20th percentile of many short runs; `noise` is half the width of a bootstrap's 90 % interval of the geometric mean."""
import json
import math
import os
import random
import shlex
import subprocess
import sys
import time

PROGRAMS = ["bzip2", "zstd", "lua5.4", "sqlite3"]
TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.path.abspath(os.environ.get("BUILD", "build"))


def programs(*args, **env):
    return subprocess.run([TOP + "/bench/programs", *args], check=True, text=True, stdout=subprocess.PIPE,
                          env={**os.environ, "BUILD": BUILD, **env}).stdout.strip()


def build(level):
    plugin = f"-fplugin={BUILD}/plugin/cyclescope.so"
    for name in PROGRAMS:
        programs("build", name)
        programs("build", name, level, plugin, f"-fplugin-arg-cyclescope-{level}", LINK=BUILD + "/libcyclescope.a")


def cpu_seconds(command):
    pid = os.fork()
    if pid == 0:
        null = os.open("/dev/null", os.O_WRONLY)
        os.dup2(null, 1)
        os.execv(command[0], command)
    _, status, usage = os.wait4(pid, 0)
    if status != 0:
        sys.exit(f"{command[0]} failed")
    return usage.ru_utime + usage.ru_stime


def low(times):
    return sorted(times)[len(times) // 5]


def instructions(command):
    out = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", *command],
                         stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True).stderr
    return int(out.split("Collected : ")[1].split()[0])


def tsc_hz():
    for row in subprocess.run(["dmesg"], capture_output=True, text=True).stdout.splitlines():
        if "tsc: Detected" in row or "tsc: Refined" in row:
            return float(row.split("Detected")[-1].split()[0]) * 1e6 if "Detected" in row else 0
    return 0


def main(name, level, target):
    quick = "--quick" in sys.argv
    build(level)
    if "--build" in sys.argv:
        return
    runs, seconds = (12, 4) if quick else (200, 22)
    commands = {p: [shlex.split(programs("command", p, label, "small")) for label in ("plain", level)] for p in PROGRAMS}
    times = {p: ([], []) for p in PROGRAMS}
    for p in PROGRAMS:
        end = time.monotonic() + seconds
        for i in range(runs):
            for k in (0, 1) if i % 2 else (1, 0):
                times[p][k].append(cpu_seconds(commands[p][k]))
            if time.monotonic() > end and i >= 8:
                break

    def slowdowns(sample):
        return {p: 100 * (low(sample(times[p][1])) / low(sample(times[p][0])) - 1) for p in PROGRAMS}

    def mean(slow):
        return 100 * (math.exp(sum(math.log1p(s / 100) for s in slow.values()) / len(slow)) - 1)

    slow = slowdowns(lambda t: t)
    boot = sorted(mean(slowdowns(lambda t: random.choices(t, k=len(t)))) for _ in range(400))
    detail = {"slowdown_percent": {p: round(s, 2) for p, s in slow.items()}, "worst_percent": round(max(slow.values()), 2),
              "worst_target_percent": 5, "runs": {p: len(times[p][0]) for p in PROGRAMS}}
    if not quick and "--no-distance" not in sys.argv:
        hz = tsc_hz()
        extra, distance = {}, {}
        for p in PROGRAMS:
            plain, tagged = (instructions(c) for c in commands[p])
            extra[p] = round(100 * (tagged / plain - 1), 2)
            distance[p] = round(low(times[p][0]) * hz / max(1, tagged - plain)) if hz else None
        detail["extra_instructions_percent"] = extra
        detail["tsc_cycles_between_tags"] = distance
    print(json.dumps({"name": name, "value": round(mean(slow), 2), "unit": "% slowdown, geometric mean", "target": target,
                      "noise": round((boot[379] - boot[20]) / 2, 2), "detail": detail}))
