# SPDX-License-Identifier: GPL-2.0-or-later
"""Bursts a second of a busy CPU within a *measured* loss of 0.5 % and 3 %, from what one burst costs its target.

Whole runs with and without bursts differ by more than bursts cost: machines change within seconds. So a program writes down
when each small piece of its work was done, and the time that passes around each burst, beyond what as many pieces take
in neighbouring stretches without one, is what the burst cost: hundreds of pairs some hundredths of a second apart, of one
process whose code the runner has met. Where the median of pairs is far below their mean, few dear bursts carry the cost;
the mean counts. Paced bursts (the longer ones, docs/bursts.md) are among them; the value is of those of 16,000 alone, `detail`
has both."""
import glob, os, random, re, statistics, subprocess, sys, tempfile
import lib_bursts as lib

sys.path.insert(0, "tests")
from store_reader import read

CYCLESCOPE = os.environ.get("CYCLESCOPE", lib.BUILD + "/cyclescope")
RATE = 10
LENGTH = 16_000
SECONDS = 5 if lib.QUICK else 60
WARM_NS = 1_500_000_000
BEFORE_NS, AFTER_NS = 15_000_000, 5_000_000  # around the moment when a burst's rows were written
PIECES = """import time, sys
{setup}
end, times = time.time() + {seconds}, []
while not times or times[-1] < end * 1e9:
    {piece}
    times.append(time.time_ns())
open(sys.argv[1], 'w').write(' '.join(map(str, times)))
"""
WORK = {
    "json": ("import json", "json.loads(json.dumps({str(i): [i, i / 3, 'a' * (i % 7)] for i in range(400)}))"),
    "objects": ("words = [str(i * i % 9973) for i in range(3000)]",
                "len({w: len(w) for w in sorted(words, key=lambda w: w[::-1])})"),
}


def record(setup, piece, folder):
    """When pieces were done, ns; bursts: when they were written down, ns, and their instructions; what record said."""
    times, store = folder + "/times", folder + "/store"
    subprocess.run(["rm", "-rf", store], check=True)
    said = subprocess.run([CYCLESCOPE, "record", "-v", "-F", "100", "-o", store, "--burst-rate", str(RATE), "--", "/usr/bin/python3", "-c",
                           PIECES.format(setup=setup, piece=piece, seconds=SECONDS), times],
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=True).stderr
    bursts = {}
    for path in glob.glob(store + "/*/*/burst-beginnings+beginnings.prof"):
        with open(path, "rb") as f:
            bursts |= {row["burst"]: row["instructions"] for row in read(f.read())["rows"]}
    return list(map(int, open(times).read().split())), sorted(bursts.items()), said


class Clock:
    """Pieces done by a time, interpolated."""

    def __init__(self, times):
        self.times = times

    def done(self, at):
        low, high = 0, len(self.times)
        while low < high:
            middle = (low + high) // 2
            if self.times[middle] < at:
                low = middle + 1
            else:
                high = middle
        a, b = self.times[low - 1], self.times[low]
        return low - 1 + (at - a) / (b - a)


def costs(times, bursts):
    """ns that each burst cost that had no other near it: plain ones and paced ones."""
    clock, plain, paced = Clock(times), [], []
    span = BEFORE_NS + AFTER_NS
    first, last = times[0] + WARM_NS, times[-1] - 3 * span
    for k, (at, instructions) in enumerate(bursts):
        begin = at - BEFORE_NS
        near = [b for b, _ in bursts[max(k - 9, 0):k + 10]
                if b != at and begin - span - AFTER_NS < b < begin + 2 * span + BEFORE_NS]
        if near or begin - span < first or begin + 2 * span > last:
            continue
        work = clock.done(begin + span) - clock.done(begin)
        pace = [span / (clock.done(b + span) - clock.done(b)) for b in (begin - span, begin + span)]
        (plain if instructions < 2 * LENGTH else paced).append((span - work * statistics.mean(pace)) / 1e3)
    return plain, paced


detail, worst, noise = {}, 1.0, 0.0
with tempfile.TemporaryDirectory() as folder:
    for name, (setup, piece) in WORK.items():
        times, bursts, said = record(setup, piece, folder)
        pairs, paced = costs(times, bursts)
        if len(pairs) < 5:
            print(f"{name:8} {len(bursts)} bursts, {len(pairs)} of them apart from others: too few to tell")
            continue
        cost = statistics.mean(pairs)
        again = [statistics.mean(random.choices(pairs, k=len(pairs))) for _ in range(400)]
        spread = statistics.pstdev(again)
        stopped = re.search(r"stopped for ([0-9.]+ [um]s)", said)
        detail[name] = {"us a burst": round(cost, 1), "spread": round(spread, 1), "median": round(statistics.median(pairs), 1),
                        "pairs": len(pairs), "us a paced one": round(statistics.mean(paced), 1) if paced else None, "stopped, median": stopped.group(1) if stopped else None,
                        "a second at 0.5 %": round(5000 / max(cost, 1), 1), "at 3 %": round(30000 / max(cost, 1), 1)}
        print(f"{name:8} a burst of 16,000 costs {cost:.0f} +- {spread:.0f} us ({len(pairs)} pairs, median {statistics.median(pairs):.0f}): "
              f"{5000 / max(cost, 1):.0f} a second at 0.5 %, {30000 / max(cost, 1):.0f} at 3 %")
        if cost > worst:
            worst, noise = cost, 30000 / cost * spread / cost
lib.report("burst-rate", round(30000 / worst, 1) if detail else None, "bursts/s at 3 % loss", 76, round(noise, 1), detail)
