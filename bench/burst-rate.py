# SPDX-License-Identifier: GPL-2.0-or-later
"""Bursts a second of a busy CPU within a *measured* loss of 0.5 % and 3 %: the time that a fixed piece of work takes with
and without bursts, alternating; both with the sampler, so that only the bursts differ."""
import os, re, statistics, subprocess, tempfile
import lib_bursts as lib

CYCLESCOPE = os.environ.get("CYCLESCOPE", lib.BUILD + "/cyclescope")
RATE = 200
WORK = {
    "lua5.4": ["lua5.4", "-e", lib.LUA.replace("while true do", "local start = os.clock() for round = 1, 400 do", 1)],
    "python3": ["/usr/bin/python3", "-c", lib.PYTHON.replace("while True:", "for _ in range(3000):")],
}
pairs = 2 if lib.QUICK else 6


# The work's own time: record's start and its last merge are nobody's loss.
TIMED = 'b=$EPOCHREALTIME; "$@"; e=$EPOCHREALTIME; echo $b $e >"$0"'


def run(command, folder, *flags):
    times = folder + "/times"
    r = subprocess.run([CYCLESCOPE, "record", "-F", "100", "-o", folder + "/store", *flags, "--", "bash", "-c", TIMED, times,
                        *command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=True)
    found = re.search(r"^(\d+) bursts", r.stderr, re.M)
    begin, end = map(float, open(times).read().split())
    return end - begin, int(found.group(1)) if found else 0


detail, costs = {}, []
with tempfile.TemporaryDirectory() as folder:
    for name, command in WORK.items():
        losses = []
        for _ in range(pairs):
            plain, _none = run(command, folder, "--no-bursts")
            with_bursts, bursts = run(command, folder, "--burst-rate", str(RATE))
            losses.append((with_bursts - plain) / max(bursts, 1) * 1e6)
        cost = statistics.median(losses)
        costs.append(cost)
        spread = statistics.pstdev(losses) / len(losses) ** 0.5
        detail[name] = {"us a burst": round(cost, 1), "spread": round(spread, 1), "bursts a run": bursts,
                        "a second at 0.5 %": round(5000 / max(cost, 1), 1), "at 3 %": round(30000 / max(cost, 1), 1)}
        print(f"{name:10} a burst of 16,000 costs {cost:.0f} +- {spread:.0f} us: {5000 / max(cost, 1):.0f} a second at 0.5 %, "
              f"{30000 / max(cost, 1):.0f} at 3 %")
worst = max(max(costs), 1)
lib.report("burst-rate", round(30000 / worst, 1), "bursts/s at 3 % loss", 76, None, detail)
