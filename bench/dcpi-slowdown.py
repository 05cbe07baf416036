# SPDX-License-Identifier: GPL-2.0-or-later
"""How much slower programs run while they are sampled: dcpi-1997 table 3 and figure 6, with perf record beside us. CPU
time of each program alone, under `cyclescope record` at its default rate, at DCPI's 5,200 a second, with bursts, and
under `perf record` at 1,000, in alternating runs. Value: geometric mean at the default rate, without bursts, %."""
import json, math, os, random, shlex, shutil, statistics, subprocess, sys, tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import lib_plugin_cost as plugin  # noqa: E402

quick = "--quick" in sys.argv
CYCLESCOPE = os.environ.get("CYCLESCOPE", plugin.BUILD + "/cyclescope")
PROGRAMS = ["bzip2", "lua5.4"] if quick else ["bzip2", "zstd", "lua5.4", "sqlite3", "mawk"]
ROUNDS = 3 if quick else 5
at = tempfile.mkdtemp(prefix="dcpi-slowdown.")


def inside(wrapper, command):
    """CPU seconds of the command alone, whatever runs around it."""
    times = at + "/times"
    probe = [sys.executable, "-c", "import os,sys,time\np=os.fork()\n"
             "p or (os.dup2(os.open('/dev/null',1),1),os.execvp(sys.argv[2],sys.argv[2:]))\n"
             "u=os.wait4(p,0)[2]\nopen(sys.argv[1],'w').write(str(u.ru_utime+u.ru_stime))", times, *command]
    subprocess.run([*wrapper, *probe], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
    shutil.rmtree(at + "/store", ignore_errors=True)
    return float(open(times).read())


WAYS = {"alone": [],
        "record -F 1000": [CYCLESCOPE, "record", "--no-bursts", "-F", "1000", "-o", at + "/store", "--"],
        "record -F 5200": [CYCLESCOPE, "record", "--no-bursts", "-F", "5200", "-o", at + "/store", "--"],
        "record (bursts)": [CYCLESCOPE, "record", "-o", at + "/store", "--"]}
if shutil.which("perf"):
    WAYS["perf record -F 1000"] = ["perf", "record", "-e", "cpu-clock", "-F", "1000", "-q", "-o", at + "/perf.data", "--"]

loss, spread = {w: {} for w in WAYS if w != "alone"}, []
print(f"{'slowdown, %':10}" + "".join(f"{w:>22}" for w in loss))
for program in PROGRAMS:
    plugin.programs("build", program)
    command = shlex.split(plugin.programs("command", program, "plain", "full"))
    inside([], command)
    ratios = {w: [] for w in loss}
    for i in range(ROUNDS):
        order = list(WAYS)
        random.shuffle(order)
        times = {w: inside(WAYS[w], command) for w in order}
        for w in loss:
            ratios[w].append(times[w] / times["alone"])
    for w in loss:
        loss[w][program] = 100 * (statistics.median(ratios[w]) - 1)
    q = statistics.quantiles(ratios["record -F 1000"], n=4)
    spread.append(100 * (q[2] - q[0]) / math.sqrt(ROUNDS))
    print(f"{program:10}" + "".join(f"{loss[w][program]:22.2f}" for w in loss), flush=True)
mean = {w: round(100 * (math.exp(statistics.mean(math.log1p(x / 100) for x in loss[w].values())) - 1), 2) for w in loss}
shutil.rmtree(at)
print(json.dumps({"name": "dcpi-slowdown", "value": mean["record -F 1000"], "unit": "%", "target": 3,
                  "noise": round(statistics.mean(spread), 2),
                  "detail": {"geometric_mean_percent": mean, "programs": {w: {p: round(x, 2) for p, x in v.items()} for w, v in loss.items()}}}))
