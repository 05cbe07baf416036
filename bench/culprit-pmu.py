#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Blame against a real PMU (the counterpart of dcpi-1997 figure 10): the time that `calc` lays at each branch's door for
mispredictions, by bursts here, against the mispredicted branches that a Westmere's branch records (LBR) counted there in the same
executable on another input. The value is the correlation over the branches of all procedures with samples (DCPI: 0.86 to 0.91
between I-cache stall cycles and IMISS events).

The recording is the corpus's lbr-autofdo-test; the executable (SPEC's gzip, not ours to ship) is testdata/test.binary of
github.com/google/autofdo: beside the recording, or where CS_PMU_EXECUTABLE says. Without it there is no value."""
import bisect
import glob
import json
import math
import os
import subprocess
import sys
import tempfile

quick = "--quick" in sys.argv
cyclescope = os.environ.get("CYCLESCOPE", os.path.abspath("build/cyclescope"))
recording = os.path.abspath("../shared/corpus/lbr-autofdo-test/test.lbr")
executable = os.environ.get("CS_PMU_EXECUTABLE", os.path.dirname(recording) + "/test.binary")
row = {"name": "culprit-pmu", "value": None, "unit": "correlation", "target": 0.86, "noise": 0.05}


def rows(pattern):
    """Of the largest profile that fits: the program's, not a library's."""
    files = sorted(glob.glob(pattern), key=os.path.getsize)
    return json.loads(subprocess.run([sys.executable, "tests/store_reader.py", "file", files[-1]], capture_output=True, text=True, check=True).stdout)["rows"]


def calls(*arguments):
    return json.loads(subprocess.run([cyclescope, *arguments, "--json"], capture_output=True, text=True, check=True).stdout)


def correlation(x, y):
    mx, my = sum(x) / len(x), sum(y) / len(y)
    xy = sum((a - mx) * (b - my) for a, b in zip(x, y))
    return xy / math.sqrt(sum((a - mx) ** 2 for a in x) * sum((b - my) ** 2 for b in y) or 1)


def address(offset):
    return offset if offset >= 0x400000 else offset + 0x400000  # of file offsets: the program is linked there


if not os.path.exists(recording) or not os.path.exists(executable):
    print(json.dumps({**row, "detail": {"why": "the recording or its executable isn't here: " + __doc__.split("The recording is ")[1].split("\n\n")[0].replace("\n", " ")}}))
    sys.exit()

with tempfile.TemporaryDirectory() as folder:
    program, source = folder + "/test.binary", folder + "/input.source"
    subprocess.run(["cp", executable, program], check=True)
    os.chmod(program, 0o755)
    text = b"".join(open(f, "rb").read() for f in sorted(glob.glob("[a-z]*/*.[chp]*") + glob.glob("docs/*.md")) if os.path.isfile(f))
    with open(source, "wb") as f:
        f.write(text)
    subprocess.run([cyclescope, "import", recording, "-o", folder + "/lbr"], check=True, capture_output=True)
    subprocess.run([cyclescope, "record", "-o", folder + "/run", "-F", "1000", "--burst-rate", "60", "--", program, source, "8" if quick else "48"],
                   check=True, capture_output=True, cwd=folder)
    counted = {}
    for r in rows(folder + "/lbr/*/*/lbr-mispredicts.prof"):
        counted[address(r["offset"])] = r["samples"]
    seen = {r["offset"]: r for r in rows(folder + "/run/*/*/burst-branches*.prof")}
    branches = sorted(seen)
    blame, ranges = {}, []
    for procedure in calls("prof", "--store", folder + "/run", "--image", "test.binary", "-n", "0")["rows"]:
        try:
            result = calls("calc", "--store", folder + "/run", "--image", "test.binary", procedure["procedure"])
        except subprocess.CalledProcessError:
            continue
        places = [int(i["offset"], 16) for i in result["instructions"]]
        ranges.append((min(places), max(places)))
        for i in result["instructions"]:
            for suspect in i["suspects"]:
                if suspect["cause"] != "mispredict":
                    continue
                responsible = int(suspect["responsible"], 16)
                at = bisect.bisect_left(branches, responsible)  # of a fused pair the second is the branch
                responsible = branches[at] if at < len(branches) and branches[at] - responsible <= 10 else responsible
                samples = suspect["share"] * (i["visits"] or 0) * result["executions_a_visit"] / result["cycles_a_sample"]
                blame[responsible] = blame.get(responsible, 0) + samples

inside = sorted(k for k in set(counted) | set(blame) | set(seen) if any(a <= k <= b for a, b in ranges))
blamed = [blame.get(k, 0) for k in inside]
missed = [min(seen[k]["missed"], seen[k]["missed_local"], seen[k]["missed_global"]) if k in seen else 0 for k in inside]
there = [counted.get(k, 0) for k in inside]
most = sorted(inside, key=lambda k: -blame.get(k, 0))[:10]
print(json.dumps({**row, "value": round(correlation(blamed, there), 2),
                  "detail": {"branches": len(inside), "mispredictions counted there": sum(there), "samples blamed here": round(sum(blamed)),
                             "simulated wrong guesses against counted": round(correlation(missed, there), 2),
                             "most blamed": [[hex(k), round(blame.get(k, 0), 1), counted.get(k, 0)] for k in most]}}))
