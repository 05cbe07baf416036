# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether tags tell the truth: shares of time by function of real programs built with the plugin (methods and loops), as
the observer sees them by tag, and as perf's samples of the same program have them. A function without points
(too small, or of the C library) is charged by its tags to whoever called it, so its samples are given to its callers too, in
the proportion of what it cost them in callgrind's counts. Inlined code is its function's on both sides. Value: the largest
over programs of half the sum of all differences, in % of the program's time."""
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile

import lib_plugin_cost as programs

CYCLESCOPE = os.environ.get("CYCLESCOPE", programs.BUILD + "/cyclescope")


def observed(command):
    """Share by function of the tags that an observer saw."""
    out = subprocess.run([CYCLESCOPE, "observe", "-s", "code", "--period", "2000", "--jitter", "2000", "--top", "0", "--json", "--", "sh", "-c", 'exec "$@" >/dev/null', "sh", *command], check=True,
                         capture_output=True, text=True).stdout
    cycles = {}
    for row in json.loads(out[out.index("{"):])["tags"]:
        if not row["name"].startswith("("):
            function = programs.plain_name(re.sub(r"( loop \d+)? \(.*", "", row["name"]))
            cycles[function] = cycles.get(function, 0) + row["cycles"]
    total = sum(cycles.values())
    return {f: c / total for f, c in cycles.items()}


def stacks_of(command):
    """perf's samples as text. perf 6.1 aborts on some of its own files (build-id.c), so it gets several tries."""
    for _ in range(6):
        with tempfile.TemporaryDirectory() as work:
            data = work + "/perf.data"
            subprocess.run(["perf", "record", "-q", "-B", "-N", "-g", "-e", "cpu-clock", "-F", "4999", "-o", data, "--", *command],
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ, "CYCLESCOPE_SIGNALS": "off"})
            done = subprocess.run(["perf", "script", "-i", data, "-F", "ip,sym,dso"], capture_output=True, text=True, errors="replace")
        if done.returncode == 0 and done.stdout:
            return done.stdout
    sys.exit("perf could not sample " + command[0])


def sampled(command, exe, exact):
    """Share by tagged function of perf's samples; and how many there were."""
    weights, samples = {}, 0
    for stack in stacks_of(command).split("\n\n"):
        # The kernel's time (page faults, above all) is that of the code that entered it: the first frame of user space.
        user = [row for row in stack.splitlines() if row.strip() and int(row.split()[0], 16) < 1 << 63]
        if not user:
            continue
        symbol, _, image = user[0].strip().partition(" ")[2].rpartition(" (")
        name = programs.plain_name(symbol)
        if not image.startswith(exe):
            name = name if name in exact["callers"] else "outside"
        weights[name] = weights.get(name, 0) + 1
        samples += 1
    return charge(weights, exact), samples


def charge(weights, exact):
    """Hands what untagged functions have to their callers until it is with tagged ones."""
    tagged = set(exact["tagged"])
    for _ in range(50):
        moved = {}
        for f, w in weights.items():
            callers = exact["callers"].get(f, {}) if f not in tagged else {}
            total = sum(callers.values())
            for caller, cost in callers.items() if total else [(f, 1)]:
                moved[caller] = moved.get(caller, 0) + w * (cost / total if total else 1)
        weights = moved
    found = {f: w for f, w in weights.items() if f in tagged}  # the rest is loading
    total = sum(found.values())
    return {f: w / total for f, w in found.items()}


def main():
    quick = "--quick" in sys.argv
    if subprocess.run(["sh", "-c", "command -v perf valgrind >/dev/null"]).returncode:
        print("perf and valgrind are needed")
        sys.exit(77)
    names = ["lua5.4"] if quick else programs.PROGRAMS
    programs.PROGRAMS = names
    programs.build("loops")
    distance, worst, n = {}, {}, {}
    for p in names:
        exe = f"{programs.BUILD}/programs/{p}/loops/{p}"
        small, full = (shlex.split(programs.programs("command", p, "loops", size)) for size in ("small", "small" if quick else "full"))
        exact = programs.by_callgrind(exe, small)
        seen = observed(full)
        truth, n[p] = sampled(full, exe, exact)
        off = {f: 100 * (seen.get(f, 0) - truth.get(f, 0)) for f in {*seen, *truth}}
        distance[p] = round(sum(map(abs, off.values())) / 2, 2)
        most = max(off, key=lambda f: abs(off[f]))
        worst[p] = f"{most}: observed {100 * seen.get(most, 0):.1f} %, sampled {100 * truth.get(most, 0):.1f} %"
    print(json.dumps({"name": "signals-shares", "value": max(distance.values()), "unit": "% of time at another function, worst program",
                      "target": 5, "noise": None, "detail": {"distance_percent": distance, "largest_difference": worst,
                                                              "samples": n}}))


main()
