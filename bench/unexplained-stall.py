#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Unexplained stall, % of the samples that `sum` explains, over programs that are installed anyway. Frequencies without a
counter are relative, so the scale is fitted to the model: what is measured is how much of the distribution within
procedures the rules' bounds can't hold, not the scale (DCPI: 8.6 %)."""
import json
import os
import shutil
import subprocess
import sys
import tempfile

cyclescope = os.environ.get("CYCLESCOPE", os.path.abspath("build/cyclescope"))
seconds = 2 if "--quick" in sys.argv else 6
programs = {
    "xz": "tar c /usr/include 2>/dev/null | head -c 60M | xz -6 -c >/dev/null",
    "gzip": "tar c /usr/lib/gcc 2>/dev/null | head -c 200M | gzip -9 -c >/dev/null",
    "sort": "seq 1 3000000 | sort -R --random-source=/dev/zero | sort -n >/dev/null",
    "python3": "python3 -c 'd={}\nfor i in range(9000000): d[i*7919%100003]=d.get(i%5003,0)+i'",
    "sqlite3": "sqlite3 :memory: 'with recursive c(x) as (select 1 union all select x+1 from c limit 4000000) "
               "select sum(x*x%7), count(distinct x%1009) from c'",
}
rows, total, unexplained = [], 0.0, 0.0
for name, command in programs.items():
    if not shutil.which(name):
        continue
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([cyclescope, "record", "-o", folder + "/s", "-F", "1000", "--bursts", "--seconds", str(seconds),
                        "--", "sh", "-c", command], capture_output=True)
        out = subprocess.run([cyclescope, "sum", "--store", folder + "/s", "--json"], capture_output=True, text=True)
    if out.returncode:
        print(name, out.stderr.strip(), file=sys.stderr)
        continue
    s = json.loads(out.stdout)["summary"]
    rows.append({"program": name, "samples": s["samples"], "unexplained": round(s["unexplained"], 1),
                 "gain": round(s["gain"], 1), "no_frequency": round(s["no_frequency"], 1), "first": s["first"],
                 "first_share": round(s["first_share"], 1)})
    print(rows[-1], file=sys.stderr)
    total += s["samples"]
    unexplained += s["samples"] * s["unexplained"] / 100
print(json.dumps({"name": "unexplained-stall", "value": round(100 * unexplained / max(1, total), 1), "unit": "%", "target": 10,
                  "noise": 2, "detail": rows}))
