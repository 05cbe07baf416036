# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether tags tell the truth: shares of time by function of real programs built with the plugin (methods and loops), as
the observer sees them by tag, against those of random interrupts in the very same runs (bench/workloads/tag_and_pc.c). A
function without points (too small, or of the C library) belongs to the innermost caller that has some; inlined code is
its function's. Value: the largest over programs of half the sum of all differences, in % of the program's time; noise: what
that many interrupts would differ by if nothing were wrong. An interrupt notes instruction and tag together, so that the
error falls in two: tags that name another function than the instruction's (the plugin's), and tags that the observer sees for
longer or shorter than they stand (stores wait behind others on their way to the cache, and an interrupt comes where the CPU has run
ahead to). `halves_percent` is what the interrupts' two halves say of their own noise. `ordered_percent` is the same distance where the
CPU may not run ahead of a tag (workloads/ordered_cc.sh): what is left there is the plugin's and the observer's."""
import bisect
import json
import math
import os
import shlex
import struct
import subprocess
import sys
import tempfile
import time
from collections import Counter

import lib_plugin_cost as programs

CYCLESCOPE = os.environ.get("CYCLESCOPE", programs.BUILD + "/cyclescope")


class Image:
    """Functions by symbol, tag points by offset."""

    def __init__(self, exe):
        self.points = {}
        rows, texts = programs.tag_table(exe)
        for row in rows:
            self.points[row[0]] = programs.plain_name(texts[row[2]:texts.index(b"\0", row[2])].decode())
        self.tagged = set(self.points.values())
        words = [row.split() for row in subprocess.run(["nm", exe], check=True, capture_output=True, text=True).stdout.splitlines()]
        self.symbols = sorted((int(w[0], 16), programs.plain_name(w[2])) for w in words if len(w) == 3 and w[1] in "tTwW")
        self.starts = [s[0] for s in self.symbols]

    def function(self, offset):
        at = bisect.bisect_right(self.starts, offset) - 1
        return self.symbols[at][1] if at >= 0 else ""

    def running(self, pcs):
        """The innermost function with points of an instruction and its callers' return addresses."""
        for i, pc in enumerate(pcs):
            if pc and (found := self.function(pc - (i > 0))) in self.tagged:
                return found
        return None


def run(command, image, found):
    """One run, observed and interrupted: adds to found's Counters by function."""
    with tempfile.NamedTemporaryFile("r") as notes:
        seen = subprocess.run([CYCLESCOPE, "observe", "-s", "code", "--period", "2000", "--jitter", "2000", "--top", "0", "--json", "--", "sh", "-c",
                               f'exec "$@" >/dev/null 3>{notes.name}', "sh", *command], check=True, capture_output=True, text=True).stdout
        for row in json.loads(seen[seen.index("{"):])["tags"]:
            if not row["name"].startswith("(") and row["value"]:
                found["observed"][programs.plain_name(row["name"].split(" ")[0])] += row["cycles"]
        for k, row in enumerate(notes):
            ns, *rest = row.split()
            tag, *pcs = (int(w, 16) for w in rest)
            function = image.running(pcs)
            if function and tag in image.points:
                found["pc"][function] += int(ns)
                found["half" if k % 2 else "other half"][function] += int(ns)
                found["tag"][image.points[tag]] += int(ns)
                found["notes"][""] += 1


def apart(a, b):
    """Half the sum of differences of shares, and where the largest is, in %."""
    off = {f: 100 * (a[f] / a.total() - b[f] / b.total()) for f in {*a, *b}}
    return sum(map(abs, off.values())) / 2, max(off, key=lambda f: abs(off[f]))


def chance(truth, n):
    """Expected distance of the shares of n random moments from the true ones."""
    shares = [v / truth.total() for v in truth.values()]
    return 50 * sum(math.sqrt(2 / math.pi * p * (1 - p) / n) for p in shares)


def build(name, ordered):
    label = "ordered-loops" if ordered else "sections-loops"
    if ordered:
        programs.programs("build", name, label, "-ffunction-sections", f"-fplugin={programs.BUILD}/plugin/cyclescope.so",
                          "-fplugin-arg-cyclescope-loops", CC=programs.TOP + "/bench/workloads/ordered_cc.sh", LINK=programs.RUNTIME)
    else:
        programs.build_one(name, "loops")
    folder = f"{programs.BUILD}/programs/{name}/{label}"
    noter, exe = folder + "/tag_and_pc.obj", f"{folder}/{name}.noted"
    subprocess.run(["gcc", "-std=gnu11", "-D_GNU_SOURCE", "-I", programs.TOP, "-O2", "-c", "-o", noter,
                    programs.TOP + "/bench/workloads/tag_and_pc.c"], check=True)
    programs.programs("link", name, label, exe, noter, LINK=programs.RUNTIME)
    return exe


def measure(p, ordered, seconds):
    """Runs of one program for so long: what was found by function, and how many runs."""
    exe, found, runs = build(p, ordered), {k: Counter() for k in ("observed", "pc", "tag", "notes", "half", "other half")}, 0
    image, end = Image(exe), time.monotonic() + seconds
    command = [exe, *shlex.split(programs.programs("command", p, exe, "full"))[1:]]
    while runs == 0 or time.monotonic() < end:
        run(command, image, found)
        runs += 1
    if not found["notes"][""]:
        sys.exit(f"no interrupt was noted in {p}")
    return found, runs


def main():
    quick = "--quick" in sys.argv
    names = ["lua5.4"] if quick else programs.PROGRAMS
    for p in names:
        build(p, False)
    if "--build" in sys.argv:
        return
    detail = {key: {} for key in ("distance_percent", "chance_percent", "halves_percent", "plugin_percent", "on_the_way_percent", "ordered_percent",
                                  "largest_difference", "interrupts", "runs")}
    for p in names:
        found, runs = measure(p, False, 5 if quick else 17)
        n = found["notes"][""]
        far, most = apart(found["observed"], found["pc"])
        share = {k: 100 * found[k][most] / found[k].total() for k in ("observed", "pc")}
        detail["distance_percent"][p] = round(far, 2)
        detail["chance_percent"][p] = round(chance(found["pc"], n), 2)
        detail["halves_percent"][p] = round(apart(found["half"], found["other half"])[0] / 2, 2)
        detail["plugin_percent"][p] = round(apart(found["tag"], found["pc"])[0], 2)
        detail["on_the_way_percent"][p] = round(apart(found["observed"], found["tag"])[0], 2)
        if not quick:
            ordered, _ = measure(p, True, 12)
            detail["ordered_percent"][p] = round(apart(ordered["observed"], ordered["pc"])[0], 2)
        detail["largest_difference"][p] = f"{most}: observed {share['observed']:.1f} %, interrupted {share['pc']:.1f} %"
        detail["interrupts"][p], detail["runs"][p] = n, runs
    worst = max(detail["distance_percent"], key=detail["distance_percent"].get)
    print(json.dumps({"name": "signals-shares", "value": detail["distance_percent"][worst], "unit": "% of time at another function, worst program",
                      "target": 5, "noise": detail["chance_percent"][worst], "detail": detail}))


main()
