# SPDX-License-Identifier: GPL-2.0-or-later
"""A phase in step with the period: 200 us of every millisecond in one procedure, 800 in another, sampled every
millisecond. Value: the error of the first one's share by default settings, in points, mean of the runs; in the detail
each run, the same without randomising the period, and what chance alone allows (two standard deviations)."""
import json, math, os, shutil, statistics, subprocess, sys, tempfile
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import libsampler as lib

TARGET = lib.program("sampler_target")
SECONDS, RUNS = (3, 2) if lib.QUICK else (12, 3)


def run(options):
    """(measured share, true share, samples), in percent."""
    work = tempfile.mkdtemp()
    try:
        out = subprocess.run([lib.CYCLESCOPE, "record", "-c", "1000000", "-o", work + "/s"] + options +
                             ["--", "taskset", "-c", "1", TARGET, "phases", str(SECONDS)], check=True,
                             capture_output=True, text=True).stdout
        rows = json.loads(subprocess.run([lib.CYCLESCOPE, "prof", "--store", work + "/s", "--top", "0", "--json"],
                                         check=True, capture_output=True, text=True).stdout)["rows"]
        n = {name: sum(sum(r["samples"].values()) for r in rows if r["procedure"].startswith(name))
             for name in ("short_phase", "long_phase")}
        both = sum(n.values())
        return 100 * n["short_phase"] / both, 100 * float(out.split()[0]), both
    finally:
        shutil.rmtree(work)


detail = {}
errors = {}
for name, options in (("default", []), ("exact period", ["--exact-period"])):
    runs = [run(options) for _ in range(RUNS)]
    errors[name] = [m - t for m, t, _ in runs]
    chance = 200 * math.sqrt(0.16 / sum(n for _, _, n in runs))
    detail[name] = {"shares": [round(m, 2) for m, _, _ in runs], "true": [round(t, 2) for _, t, _ in runs],
                    "errors": [round(e, 2) for e in errors[name]], "chance": round(chance, 2),
                    "error of the mean": round(statistics.mean(errors[name]), 2)}
lib.row("sampler-bias", abs(detail["default"]["error of the mean"]), "points of share", "at most 1",
        detail["default"]["chance"], detail)
