# SPDX-License-Identifier: GPL-2.0-or-later
"""Rates under a tag against the program's own, which changes its phase every few microseconds, at periods from 300 to 100,000
cycles. A rate may be wrong where `observe` marks it (rates: mixed, few). Value: the largest error of the others."""
import collections, json, os, subprocess, sys, tempfile
from libsampler import CYCLESCOPE, row

PHASES = os.path.realpath(os.environ.get("BUILD", "build")) + "/signals/examples/phases"
PERIODS = (300, 1000, 3000, 10000, 30000, 100000)


def truth(path, span_us):
    """Work per 1000 cycles by phase, of visits that nothing interrupted."""
    cycles, work = collections.Counter(), collections.Counter()
    lines = [line.split() for line in open(path)]
    most = 2 * span_us * float(lines[0][1])
    for now, then in zip(lines[1:], lines[2:]):
        if int(then[2]) - int(now[2]) < most:
            cycles[now[3]] += int(then[2]) - int(now[2])
            work[now[3]] += int(then[4]) - int(now[4])
    return {phase: 1000 * work[phase] / cycles[phase] for phase in cycles if work[phase]}


errors, marked, shown, worst = [], 0, 0, {}
with tempfile.TemporaryDirectory() as place:
    for span_us in (3, 20):
        for period in PERIODS:
            ran = subprocess.run([CYCLESCOPE, "observe", "-s", "phase,work", "--period", str(period), "--json", "--", PHASES,
                                  "--seconds", "1", "--span-us", str(span_us), "--truth", place + "/truth"],
                                 capture_output=True, text=True)
            if ran.returncode:
                sys.exit(ran.stderr)
            right = truth(place + "/truth", span_us)
            for tag in json.loads(ran.stdout)["tags"]:
                if tag["name"] not in right or tag["percent"] < 1:
                    continue
                seen = tag["per_1000_cycles"]["work"]
                error = 100 * abs(seen - right[tag["name"]]) / right[tag["name"]] if seen is not None else 0
                print(span_us, period, tag["name"], tag["rates"], seen, round(right[tag["name"]], 2), file=sys.stderr)
                if tag["rates"] != "ok":
                    marked += 1
                    continue
                shown += 1
                worst[f"{span_us} us every {period}"] = max(worst.get(f"{span_us} us every {period}", 0), round(error, 1))
                errors.append(error)
if not errors:
    sys.exit("no rate was shown without a mark")
row("rates-mixed", round(max(errors), 1), "%", 10, 2, {"shown": shown, "marked": marked, "worst": worst})
