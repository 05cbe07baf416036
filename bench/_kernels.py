#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Cells of the kernel matrix that are as they should be, of all: `make check-kernels`. A cell that isn't judged counts as wrong."""
import json, os, re, subprocess

make = ["make", "-s", f"BUILD={os.environ['BUILD']}", "CS_DEPS_DONE=1", "check-kernels"]
run = subprocess.run(make, stdout=subprocess.PIPE, text=True)
print(run.stdout, end="")
row = {"name": "kernels", "value": None, "unit": "% of cells", "target": 100, "noise": 0}
counts = re.search(r"^(\d+) passed, (\d+) failed, (\d+) skipped", run.stdout, re.M)
if counts:
    passed, failed, skipped = map(int, counts.groups())
    row["value"] = round(100 * passed / (passed + failed + skipped), 1)
    row["detail"] = {"passed": passed, "failed": failed, "not_judged": skipped}
print(json.dumps(row))
