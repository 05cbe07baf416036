#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Ten programs with a planted bottleneck (tests/programs/bottleneck.c): what `waits --critical-path` says that half of its time saves,
against the time that the program takes when it does. Times are medians of runs in turn; other programs of the machine leave
these the CPUs. The value is the median error over the programs, in points of the slow one's time."""
import json, os, statistics, subprocess, sys, tempfile

from lib_ahead import before_others

cyclescope, build = os.environ["CYCLESCOPE"], os.environ["BUILD"]
runs = 3 if "--quick" in sys.argv else 7
program = f"{build}/tests/programs/bottleneck"
CASES = "serial pool lock sleep-lock pipeline queue phases server file hidden".split()


def seconds(case, how, scratch):
    run = subprocess.run([program, case, how, scratch], capture_output=True, text=True, check=True, preexec_fn=before_others)
    return float(run.stdout)


def predicted(case, work):
    store = f"{work}/{case}"
    run = subprocess.run([cyclescope, "record", "--waits", "--no-bursts", "-o", store, "--", program, case, "slow", work + "/scratch"],
                         capture_output=True, text=True, preexec_fn=before_others)
    if run.returncode or "can't be recorded" in run.stderr:
        raise SystemExit(run.stderr)
    said = json.loads(subprocess.run([cyclescope, "waits", "--critical-path", "--json", "--top", "0", "--store", store],
                                     capture_output=True, text=True, check=True).stdout)
    return sum(r["half_saves_percent"] for r in said["procedures"] if r["procedure"].startswith("bottleneck"))


subprocess.run(["make", "-s", f"BUILD={build}", "CS_DEPS_DONE=1", program], check=True)
with tempfile.TemporaryDirectory() as work:
    rows = {}
    for case in CASES:
        pairs = [(seconds(case, "slow", work + "/scratch"), seconds(case, "mended", work + "/scratch")) for _ in range(runs)]
        slow, mended = (statistics.median(p[i] for p in pairs) for i in (0, 1))
        told = statistics.median(predicted(case, f"{work}") for _ in range(1 if runs == 3 else 3))
        rows[case] = {"saved_percent": round(100 * (1 - mended / slow), 1), "told_percent": round(told, 1)}
        rows[case]["error_points"] = round(told - rows[case]["saved_percent"], 1)
        print(case, rows[case], file=sys.stderr)
errors = [abs(r["error_points"]) for r in rows.values()]
print(json.dumps({"name": "what-if", "value": round(statistics.median(errors), 1), "unit": "points", "target": 10, "noise": None,
                  "detail": {"worst": max(errors), "programs": rows}}))
