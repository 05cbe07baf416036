#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""How long requests of 5 µs and more take, as the observer tells it from a tag that holds their number (tags --lengths), against the
program's own log: the value is how far the worst of the quantiles 50, 90, 99 and 99.9 is off, in %. Nothing tells the observer of the
program's clock. Where both lose their CPUs at the same moments (a busy machine, a hypervisor) the longest requests are the ones that
aren't seen: the detail has how much of the time wasn't looked at."""
import json, os, subprocess, sys, tempfile

TOOL, BUILD = os.environ["CYCLESCOPE"], os.path.realpath(os.environ["BUILD"])
N = "60000" if "--quick" in sys.argv else "400000"
subprocess.run(["make", "-s", f"BUILD={os.environ['BUILD']}", f"{os.environ['BUILD']}/tests/programs/requests"], check=True)
with tempfile.TemporaryDirectory() as work:
    run = lambda *words: subprocess.run(words, check=True, capture_output=True, text=True).stdout
    run(TOOL, "observe", "-s", "request", "--period", "1000", "--log", f"{work}/log", "--", f"{BUILD}/tests/programs/requests", N, f"{work}/truth")
    said = json.loads(run(TOOL, "tags", "--log", f"{work}/log", "--lengths", "--json"))
    truth = sorted(int(line) / 1000 for line in open(f"{work}/truth"))
row = said["lengths"][0]
quantiles = {"50": ("p50_us", 0.5), "90": ("p90_us", 0.9), "99": ("p99_us", 0.99), "99.9": ("p999_us", 0.999)}
off = {name: 100 * (row[key] / truth[int(q * len(truth))] - 1) for name, (key, q) in quantiles.items()}
print(json.dumps({"name": "request-lengths", "value": round(max(map(abs, off.values())), 2), "unit": "%", "target": 5, "noise": None,
                  "detail": {"quantiles, µs: the program's": {n: round(truth[int(q * len(truth))], 1) for n, (_, q) in quantiles.items()},
                             "off, %": {n: round(v, 2) for n, v in off.items()}, "requests": len(truth), "whole": row["lengths"],
                             "cut": row["cut"], "not looked, %": round(said["not_looked_percent"], 1),
                             "waiting, %": row["waiting_percent"] and round(row["waiting_percent"], 1)}}))
