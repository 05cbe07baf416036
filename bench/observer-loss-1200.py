# SPDX-License-Identifier: GPL-2.0-or-later
"""What being observed costs real programs that publish method tags (built with the plugin): CPU time of the program
observed at periods of about 30, 300, 1200 and 12000 cycles against the same program unobserved, on the same CPU, in short
runs that alternate (_observer_loss.c says how). The same run takes 15 % more or less at a host's whim, and never less than
its own time, so a program's time is the tenth percentile of its runs; the value is the geometric mean over the programs
at 1200, the noise half of its 90 % interval by resampling. What limits it, `detail` tells: `busy` is the loss to a thread in
the observer's place that adds in a register and touches no memory (to a second busy CPU, whatever it does), `apart` to an
observer at 1200 cycles that reads a line of its own, and `observer_minus_busy_percent` with its interval what is lost to being
read, beside a neighbour that is busy anyway. Where most of a program was not observed (it had no CPU, or
ended before the observer was there) the share says so."""
import json
import os
import random
import statistics
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import lib_plugin_cost as plugin  # noqa: E402

quick = "--quick" in sys.argv
PROGRAMS = [a for a in sys.argv[1:] if not a.startswith("-")] or (["bzip2", "lua5.4"] if quick else plugin.PROGRAMS)
SECONDS = 5 if quick else 104 / len(PROGRAMS)
WAYS = ["0", "300", "1200", "12000", "apart", "busy"]


def own(seconds):
    return sorted(seconds)[round((len(seconds) - 1) / 10)]


def mean(seen, asleep):
    """Loss in % over all programs: lists of seconds a program."""
    return 100 * (statistics.geometric_mean(own(s) / own(a) for s, a in zip(seen, asleep)) - 1)


def again(lists):
    return [random.choices(x, k=len(x)) for x in lists]


def interval(seen, asleep):
    """Half the 90 % interval of that, by resampling."""
    boot = sorted(mean(again(seen), again(asleep)) for _ in range(400))
    return (boot[379] - boot[20]) / 2


def main():
    subprocess.run(["make", "-s", "CS_DEPS_DONE=1", f"BUILD={os.path.relpath(plugin.BUILD, plugin.TOP)}",
                    f"{os.path.relpath(plugin.BUILD, plugin.TOP)}/bench/_observer_loss"],
                   check=True, cwd=plugin.TOP, stdout=sys.stderr)
    for p in PROGRAMS:
        plugin.programs("build", p, "methods", f"-fplugin={plugin.BUILD}/plugin/cyclescope.so",
                        "-fplugin-arg-cyclescope-methods", LINK=plugin.RUNTIME)
    commands = [plugin.programs("command", p, "methods", "small") for p in PROGRAMS]
    done = subprocess.run([plugin.BUILD + "/bench/_observer_loss", str(SECONDS), *commands], stdout=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit("observer-loss-1200: a run failed")
    with open(plugin.BUILD + "/bench/observer-loss.txt", "w") as f:  # for whoever wants every run
        f.write(done.stdout)
    seconds = {w: [[] for _ in PROGRAMS] for w in WAYS + ["asleep"]}
    periods, shares = {w: [] for w in WAYS}, []
    for row in done.stdout.splitlines():
        program, way, taken, period, share = row.split()
        seconds[way][int(program)].append(float(taken))
        if way != "asleep":
            periods[way].append(float(period))
        if way == "1200":
            shares.append(float(share))
    asleep, measured = seconds["asleep"], [w for w in WAYS if all(seconds[w])]
    loss = {w: [mean([s], [a]) for s, a in zip(seconds[w], asleep)] for w in measured}
    noise = {w: round(interval(seconds[w], asleep), 2) for w in measured}
    detail = {"geometric_mean_percent": {w: round(mean(seconds[w], asleep), 2) for w in measured},
              "interval_percent": noise,
              # of the same rounds, so that what the host does to both cancels
              "observer_minus_busy_percent": round(mean(seconds["1200"], seconds["busy"]), 2),
              "observer_minus_busy_interval_percent": round(interval(seconds["1200"], seconds["busy"]), 2),
              "by_program_percent": {p: {w: round(loss[w][i], 2) for w in measured} for i, p in enumerate(PROGRAMS)},
              "achieved_period_cycles": {w: round(statistics.median(periods[w])) for w in measured if w not in ("apart", "busy")},
              "observed_over_cpu_time": round(statistics.median(shares), 3),
              "runs_at_1200": {p: len(seconds["1200"][i]) for i, p in enumerate(PROGRAMS)},
              "seconds_a_run": {p: round(own(asleep[i]), 4) for i, p in enumerate(PROGRAMS)}}
    for i, p in enumerate(PROGRAMS):
        print(p, {w: f"{loss[w][i]:.2f} %" for w in measured})
    print(json.dumps({"name": "observer-loss-1200", "value": round(mean(seconds["1200"], asleep), 2), "unit": "%",
                      "target": 1.0, "noise": noise["1200"], "detail": detail}))


main()
