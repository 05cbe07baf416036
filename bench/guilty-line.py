#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""How often the line that `prof` names is the one at which a program spent most of its CPU time, libraries that it calls counted: by
the program's own clock, within a tenth. Sixty programs made from seeds, recorded by default for 0.15 to 1.2 s: few samples, flat and
steep profiles. `--choose`: forty other ones, on which constants may be chosen. --quick: ten. Recordings stay under
$BUILD/bench/guilty, for `bench/run sensitivity`."""
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import lib_guilty

cyclescope = os.environ.get("CYCLESCOPE", os.path.abspath(os.environ.get("BUILD", "build") + "/cyclescope"))
seeds = lib_guilty.CHOSEN if "--choose" in sys.argv else lib_guilty.JUDGED
seeds = list(seeds)[:10] if "--quick" in sys.argv else list(seeds)
for seed in seeds:
    lib_guilty.record(cyclescope, seed)
verdicts = {s: lib_guilty.verdict(cyclescope, s) for s in seeds}
figures = lib_guilty.figures(cyclescope, seeds)
noise = 100 * (figures["right"] / 100 * (1 - figures["right"] / 100) / len(seeds)) ** 0.5
print(json.dumps({"name": "guilty-line", "value": round(figures["right"], 1), "unit": "%", "target": 90, "noise": round(noise, 1),
                  "detail": dict({k: round(v, 1) for k, v in figures.items()}, programs=len(seeds), not_right={s: v for s, v in verdicts.items() if v != "right"})}))
