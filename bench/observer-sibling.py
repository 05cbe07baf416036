# SPDX-License-Identifier: GPL-2.0-or-later
"""Kept intervals in which the program's instructions are exact, %: the core's counter less the observer's own share, read from the
core's other thread, against the emulated processor's own counts (tests/vm/sibling.c in the x86-64 machine of check-vm). Each
period is a run; the detail has the length of an interval at each."""
import json, os, re, subprocess, sys

build = os.environ.get("BUILD", "build")
periods = [500, 5000] if "--quick" in sys.argv else [500, 1000, 2000, 5000]
row = {"name": "observer-sibling", "value": None, "unit": "% of kept intervals", "target": 100, "noise": 0}
program = build + "/tests/vm/sibling"
subprocess.run(["make", "-s", "CS_DEPS_DONE=1", "vm-programs"], check=True, stdout=subprocess.DEVNULL)
command = "export CS_EXACT=1; " + "; ".join("/tests/sibling 1500 %d" % p for p in periods)
run = subprocess.run(["tests/vm/command", "x86-intel3", command, program], capture_output=True, text=True, env={**os.environ, "BUILD": build})
found = re.findall(r"SIBLING kept (\d+) exact (\d+) judged-to-the-instruction (\d+) of \d+, (\d+) cycles and ([0-9.]+) instructions each", run.stdout)
if len(found) == len(periods):
    kept, exact = (sum(int(f[i]) for f in found) for i in (0, 1))
    row["value"] = round(100 * exact / kept, 3)
    row["detail"] = [{"period_cycles": p, "kept": int(f[0]), "exact": int(f[1]), "to_the_instruction": int(f[2]), "interval_cycles": int(f[3]),
                      "interval_instructions": float(f[4])} for p, f in zip(periods, found)]
else:
    row["detail"] = {"why": (run.stdout + run.stderr).strip().splitlines()[-1:]}
print(json.dumps(row))
