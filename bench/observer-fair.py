# SPDX-License-Identifier: GPL-2.0-or-later
"""A program shares its CPU with a competitor of another session: its share of that CPU observed, over unobserved.
Started by the observer, attached to in its own session, and attached to in the observer's; in turns, several rounds."""
import os, statistics, subprocess, tempfile
from libsampler import CYCLESCOPE, QUICK, program, row

SPIN = program("cpu_share")
SECONDS, ROUNDS = ("2", 3) if QUICK else ("4", 7)
cpus = sorted(os.sched_getaffinity(0))
TARGET, OBSERVER = str(cpus[0]), str(cpus[-1])


def pinned(*command, **kw):
    return subprocess.Popen(["taskset", "-c", TARGET, *command], stdout=subprocess.PIPE, text=True, **kw)


def observe(*rest):
    return [CYCLESCOPE, "observe", "--target-cpu", TARGET, "--observer-cpu", OBSERVER, "--wait", "0", *rest]


def plain():
    return float(pinned(SPIN, SECONDS).communicate()[0])


def started():
    with tempfile.TemporaryFile("w+") as out:
        subprocess.run(observe("--", SPIN, SECONDS), stdout=out, stderr=subprocess.DEVNULL, check=True)
        out.seek(0)
        return float(out.readline())


def attached(own_session):
    p = pinned(SPIN, SECONDS, start_new_session=own_session)
    o = subprocess.Popen(observe("-p", str(p.pid)), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    share = float(p.communicate()[0])
    o.wait()
    return share


ways = {"started": started, "attached": lambda: attached(True), "attached_same_session": lambda: attached(False)}
competitor = pinned(SPIN, "100000", start_new_session=True)
try:
    ratios = {w: [] for w in ways}
    for _ in range(ROUNDS):
        for name, way in ways.items():
            ratios[name].append(way() / plain())
finally:
    competitor.kill()
medians = {n: statistics.median(r) for n, r in ratios.items()}
worst = min(medians, key=medians.get)
spread = statistics.quantiles(ratios[worst], n=4)
row("observer-fair", round(medians[worst], 3), "ratio", 0.95, round(spread[2] - spread[0], 3),
    {n: round(m, 3) for n, m in medians.items()})
