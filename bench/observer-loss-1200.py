# SPDX-License-Identifier: GPL-2.0-or-later
"""What being observed costs real programs that publish method tags (built with the plugin): how much longer from one tag point
to the next the program takes while its line is read every 1200 cycles (and at 30, 300, 12000) than while the observer's CPU
sleeps, in slices of 1 to 2 ms that follow each other in random order within one run (_observer_loss.c says how). Whole
runs can't tell: the same run takes 15 % more or less at a host's whim, which changes within minutes; a round of four slices
takes 6 ms, there are thousands, and what the host does cancels in each. A round gives the logarithm of the ratio of
two of its slices; a figure is their mean without the lowest and highest tenth, the noise 1.65 standard errors (90 %).

The value is read - idle, the target's loss to being observed, however it comes. `detail` takes it apart: add - idle is lost to
a neighbour that adds in a register (the machine's: two busy CPUs on one host), read - add to being read."""
import collections
import json
import math
import os
import re
import statistics
import struct
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import lib_plugin_cost as plugin  # noqa: E402

quick = "--quick" in sys.argv
PROGRAMS = [a for a in sys.argv[1:] if not a.startswith("-")] or (["bzip2", "lua5.4"] if quick else plugin.PROGRAMS)
SECONDS = 5 if quick else 88 / len(PROGRAMS)
WAYS = ["0", "300", "1200", "12000", "apart", "add"]
FAR = 2  # a slice that many times faster or slower than its round's median: the program had no CPU, or ended


def trimmed(values):
    """Mean without the tails and its standard error (Tukey and McLaughlin 1963)."""
    values, cut = sorted(values), len(values) // 10
    kept = values[cut:len(values) - cut]
    mean = statistics.fmean(kept)
    ends = [kept[0]] * cut + kept + [kept[-1]] * cut
    return mean, statistics.stdev(ends) / 0.8 / math.sqrt(len(values))


def compare(rounds, way, other):
    """Per cent by which `way` takes longer than `other`, and its noise; None where too few rounds have both."""
    logs = [math.log(r[way] / r[other]) for r in rounds if way in r and other in r]
    if len(logs) < 30:
        return None
    mean, error = trimmed(logs)
    return 100 * (math.exp(mean) - 1), 165 * error


def rounds_of(text):
    """Lists of rounds by program: cycles a point by way. Rounds in which the program was away or ended are left out."""
    rows = collections.defaultdict(dict)
    for line in text.splitlines():
        program, number, way, cycles, points = line.split()
        rows[int(program), int(number)][way] = int(cycles) / int(points) if int(points) else math.inf
    kept, dropped = [[] for _ in PROGRAMS], 0
    for (program, _), r in sorted(rows.items()):
        middle = statistics.median(r.values())
        if len(r) == 4 and all(middle / FAR < v < middle * FAR for v in r.values()):
            kept[program].append(r)
        else:
            dropped += 1
    return kept, dropped / max(1, len(rows))


def over_all(rounds, way, other):
    """Geometric mean over the programs, and its noise."""
    each = [compare(r, way, other) for r in rounds]
    if not each or None in each:
        return None
    mean = 100 * (statistics.geometric_mean(1 + v / 100 for v, _ in each) - 1)
    return mean, math.sqrt(sum(n * n for _, n in each)) / len(each)


def rounded(pair):
    return pair and [round(x, 2) for x in pair]


def counting(program):
    """The program with its count of points 1 KiB behind the line where the plugin has it: beside the tag, reading the one would
    take the other away as well. (addq $1, %fs:disp32)"""
    plugin.programs("build", program, "points", f"-fplugin={plugin.BUILD}/plugin/cyclescope.so", "-fplugin-arg-cyclescope-methods",
                    "-fplugin-arg-cyclescope-count=points", LINK=plugin.RUNTIME)
    path = f"{plugin.BUILD}/programs/{program}/points/{program}"
    code = bytearray(open(path, "rb").read())
    adds = [m.start() for m in re.finditer(re.escape(bytes.fromhex("6448830425")) + b"....\x01", code, re.DOTALL)]
    assert len({bytes(code[at + 5:at + 9]) for at in adds}) == 1, "one word is added to"
    for at in adds:
        code[at + 5:at + 9] = struct.pack("<i", struct.unpack("<i", code[at + 5:at + 9])[0] + 1024)
    with open(path + ".apart", "wb") as f:
        f.write(code)
    os.chmod(path + ".apart", 0o755)
    return plugin.programs("command", program, path + ".apart")


def main():
    subprocess.run(["make", "-s", "CS_DEPS_DONE=1", f"BUILD={os.path.relpath(plugin.BUILD, plugin.TOP)}",
                    f"{os.path.relpath(plugin.BUILD, plugin.TOP)}/bench/_observer_loss"],
                   check=True, cwd=plugin.TOP, stdout=sys.stderr)
    commands = [counting(p) for p in PROGRAMS]
    done = subprocess.run([plugin.BUILD + "/bench/_observer_loss", str(SECONDS), *commands], stdout=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit("observer-loss-1200: a run failed")
    with open(plugin.BUILD + "/bench/observer-loss.txt", "w") as f:  # for whoever wants every slice
        f.write(done.stdout)
    rounds, dropped = rounds_of(done.stdout)
    loss = {w: over_all(rounds, w, "idle") for w in WAYS}
    if not loss["1200"]:
        sys.exit("observer-loss-1200: hardly any rounds: the machine was too busy")
    by_program = {p: {w: rounded(compare(rounds[i], w, "idle")) for w in WAYS} for i, p in enumerate(PROGRAMS)}
    for p, ways in by_program.items():
        print(p, {w: f"{v[0]:.2f} ± {v[1]:.2f} %" for w, v in ways.items() if v})
    detail = {"read_minus_idle_percent": {w: rounded(loss[w]) for w in WAYS if w != "add"},
              "add_minus_idle_percent": rounded(loss["add"]),
              "read_minus_add_percent": {w: rounded(over_all(rounds, w, "add")) for w in WAYS if w != "add"},
              "read_minus_add_by_program_percent": {p: rounded(compare(rounds[i], "1200", "add"))
                                                    for i, p in enumerate(PROGRAMS)},
              "by_program_percent": by_program,
              "cycles_a_point": {p: round(statistics.median(r["idle"] for r in rounds[i]), 1) for i, p in enumerate(PROGRAMS)},
              "rounds": {p: len(rounds[i]) for i, p in enumerate(PROGRAMS)}, "dropped_rounds": round(dropped, 3)}
    value, noise = loss["1200"]
    print(json.dumps({"name": "observer-loss-1200", "value": round(value, 2), "unit": "%", "target": 1.0,
                      "noise": round(noise, 2), "detail": detail}))


main()
