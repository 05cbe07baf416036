# SPDX-License-Identifier: GPL-2.0-or-later
"""Kernels on the emulated processor's stated caches, TLB and predictor whose right cause stands first in `calc`, %, with counters:
hits of the first, second and third level, of memory, walks of the page table, mispredicted conditional branches and calls
(tests/vm/culprits on x86-intel3). Without bursts, and where bursts were asked for. In the detail what stood first, and its share."""
import json, os, re, subprocess, sys

build = os.environ.get("BUILD", "build")
row = {"name": "culprit-counted", "value": None, "unit": "% of kernels", "target": 100, "noise": 0}
subprocess.run(["make", "-s", "CS_DEPS_DONE=1", "all", "vm-programs"], check=True, stdout=subprocess.DEVNULL)
command = "sh /tests/culprits 100 --no-bursts" + ("" if "--quick" in sys.argv else "; echo WITH-BURSTS; sh /tests/culprits 100 --bursts --burst-rate 300 --burst-length 500")
run = subprocess.run(["tests/vm/command", "x86-intel3", command, "tests/vm/culprits"], capture_output=True, text=True,
                     env={**os.environ, "BUILD": build, "CS_PMU_CACHES": "1"})
detail = {}
for how, text in zip(("without bursts", "with bursts"), run.stdout.split("WITH-BURSTS")):
    detail[how] = {kernel: {"right": cause, "first": first, "share": float(share), "bursts": int(bursts or 0)}
                   for kernel, cause, first, share, bursts in re.findall(r"^CULPRIT (\S+) (\S+) (\S+) (\S+) ?(\d*)", text, re.M)}
judged = [k for kernels in detail.values() for k in kernels.values()]
if judged:
    row["value"] = round(100 * sum(k["right"] == k["first"] for k in judged) / len(judged), 1)
    row["detail"] = {"kernels": len(judged), **detail}
else:
    row["detail"] = {"why": (run.stdout + run.stderr).strip().splitlines()[-1:]}
print(json.dumps(row))
