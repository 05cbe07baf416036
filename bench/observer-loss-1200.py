# SPDX-License-Identifier: GPL-2.0-or-later
"""What being observed costs real programs that publish method tags (built with the plugin): CPU time of the program
observed at periods of about 30, 300, 1200 and 12000 cycles against the same program unobserved, on the same CPU, in short
runs that alternate (_observer_loss.c says how). A program's loss is the median of its ratios; the value is the geometric
mean over the programs at 1200, the noise half of its 90 % interval by resampling. `apart` tells what limits it: an
observer that spins at 1200 cycles but reads a line of its own. Where most of a program was not observed (it had no CPU, or
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
WAYS = ["0", "300", "1200", "12000", "apart", "floor"]


def percent(ratios):
    return 100 * (statistics.median(ratios) - 1)


def mean(by_program):
    """Of a list of ratios a program: the geometric mean of their medians, as %."""
    return 100 * (statistics.geometric_mean(statistics.median(r) for r in by_program) - 1)


def interval(by_program):
    """Half the 90 % interval of that mean, by resampling."""
    boot = sorted(mean([random.choices(r, k=len(r)) for r in by_program]) for _ in range(400))
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
    ratios = {w: [[] for _ in PROGRAMS] for w in WAYS}
    periods, seen, alone = {w: [] for w in WAYS}, [], [[] for _ in PROGRAMS]
    for row in done.stdout.splitlines():
        program, way, ratio, period, share, seconds = row.split()
        ratios[way][int(program)].append(float(ratio))
        alone[int(program)].append(float(seconds))
        if float(period):
            periods[way].append(float(period))
        if way == "1200":
            seen.append(float(share))
    loss = {w: [percent(r) for r in ratios[w]] for w in WAYS if all(ratios[w])}
    detail = {"geometric_mean_percent": {w: round(mean(ratios[w]), 2) for w in loss},
              "interval_percent": {w: round(interval(ratios[w]), 2) for w in loss},
              "by_program_percent": {p: {w: round(loss[w][i], 2) for w in loss} for i, p in enumerate(PROGRAMS)},
              "interval_by_program_at_1200": {p: round(interval([ratios["1200"][i]]), 2) for i, p in enumerate(PROGRAMS)},
              "achieved_period_cycles": {w: round(statistics.median(periods[w])) for w in loss if w != "floor" and w != "apart"},
              "observed_share_of_time": round(statistics.median(seen), 3),
              "runs_at_1200": {p: len(ratios["1200"][i]) for i, p in enumerate(PROGRAMS)},
              "seconds_a_run": {p: round(statistics.median(alone[i]), 3) for i, p in enumerate(PROGRAMS)}}
    for i, p in enumerate(PROGRAMS):
        print(p, {w: f"{loss[w][i]:.2f} %" for w in loss})
    print(json.dumps({"name": "observer-loss-1200", "value": round(mean(ratios["1200"]), 2), "unit": "%", "target": 1.0,
                      "noise": round(interval(ratios["1200"]), 2), "detail": detail}))


main()
