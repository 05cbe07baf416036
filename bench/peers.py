# SPDX-License-Identifier: GPL-2.0-or-later
"""The same work under cyclescope and under its peers, in one run: how much slower (start-up included; callgrind on a tenth
of the work), what it leaves on disk, what the report costs. How each was run is in the row's detail. Value: slowdown by `cyclescope record` at the peers' rate, %."""
import json, os, random, shlex, shutil, statistics, subprocess, sys, tempfile, time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import lib_plugin_cost as plugin  # noqa: E402

quick = "--quick" in sys.argv
CYCLESCOPE = os.environ.get("CYCLESCOPE", plugin.BUILD + "/cyclescope")
ROUNDS = 3 if quick else 9
plugin.programs("build", "bzip2")
plugin.programs("build", "bzip2", "gprof", "-pg", "-fno-pie", "-no-pie")
plugin.programs("build", "bzip2", "methods", f"-fplugin={plugin.BUILD}/plugin/cyclescope.so",
                "-fplugin-arg-cyclescope-methods", LINK=plugin.BUILD + "/libcyclescope.a")
at = tempfile.mkdtemp(prefix="peers.")
os.environ["CYCLESCOPE_CACHE"] = at + "/cache"  # the first run of record measures the machine, the others recall it


def command(label, size="full"):
    return shlex.split(plugin.programs("command", "bzip2", label, size))


plain, perf = command("plain"), shutil.which("perf")
# name: how it is run, what it leaves, how its report is made, how often at most
WAYS = {
    "alone": (plain, None, None, ROUNDS),
    "alone, a tenth of the work": (command("plain", "small"), None, None, ROUNDS),
    "cyclescope record -F 1000": ([CYCLESCOPE, "record", "--no-bursts", "-F", "1000", "-o", "store", "--", *plain], "store",
                                  [CYCLESCOPE, "prof", "--store", "store"], ROUNDS),
    "cyclescope record (bursts)": ([CYCLESCOPE, "record", "-o", "bursts", "--", *plain], "bursts",
                                   [CYCLESCOPE, "prof", "--store", "bursts"], ROUNDS),
    "cyclescope observe (methods)": ([CYCLESCOPE, "observe", "--period", "1200", "-s", "code", "--", *command("methods")], None, None, ROUNDS),
    "gprof (-pg)": (command("gprof"), "gmon.out", ["gprof", "-b", "-p", command("gprof")[0], "gmon.out"], ROUNDS),
    "callgrind": (["valgrind", "-q", "--tool=callgrind", "--callgrind-out-file=cg.out", *command("plain", "small")], "cg.out",
                  ["callgrind_annotate", "cg.out"], 1 if quick else 2),
}
if perf:
    WAYS["perf record -F 1000"] = ([perf, "record", "-q", "-e", "cpu-clock", "-F", "1000", "-o", "perf.data", "--", *plain], "perf.data",
                                   [perf, "report", "--stdio", "-i", "perf.data"], ROUNDS)
    WAYS["perf record -g"] = ([perf, "record", "-q", "-g", "-e", "cpu-clock", "-F", "1000", "-o", "perfg.data", "--", *plain], "perfg.data",
                              [perf, "report", "--stdio", "-g", "none", "-i", "perfg.data"], ROUNDS)
ABSENT = {"likwid-perfctr": "counts hardware events only; this machine shows none" if not any(
              n.startswith(("cpu", "armv8")) for n in os.listdir("/sys/bus/event_source/devices")) else "not installed" if
          not shutil.which("likwid-perfctr") else "counts by region, takes no profile",
          "AutoFDO": "reads branch records (LBR) of perf.data; see bench/run pgo-gain"}


def run(how):
    start = time.monotonic()
    subprocess.run(how, cwd=at, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.monotonic() - start


def size(name):
    path = os.path.join(at, name)
    return sum(os.path.getsize(os.path.join(d, f)) for d, _, fs in os.walk(path) for f in fs) if os.path.isdir(path) else os.path.getsize(path)


times = {w: [] for w in WAYS}
for i in range(ROUNDS):
    for w in random.sample(list(WAYS), len(WAYS)):
        if i < WAYS[w][3]:
            if WAYS[w][1]:
                shutil.rmtree(os.path.join(at, WAYS[w][1]), ignore_errors=True)
            times[w].append(run(WAYS[w][0]))
alone, detail = statistics.median(times["alone"]), {}
print(f"{'wall time of bzip2 under':30} {'slowdown':>9} {'left, bytes':>12} {'report, s':>10}")
for w, (how, left, report, _) in WAYS.items():
    base = statistics.median(times["alone, a tenth of the work"]) if w == "callgrind" else alone
    slow = 100 * (statistics.median(times[w]) / base - 1)
    one = {"slowdown_percent": round(slow, 1), "how": " ".join(os.path.basename(h) if h.startswith("/") else h for h in how)}
    if left:
        one["bytes"] = size(left)
    if report:
        one["report_seconds"] = round(statistics.median(run(report) for _ in range(3)), 3)
    detail[w] = one
    print(f"{w:30} {slow:8.1f}% {one.get('bytes', ''):>12} {one.get('report_seconds', ''):>10}")
for name, why in ABSENT.items():
    print(f"{name:30} {why}")
q = statistics.quantiles(times["alone"], n=4)
shutil.rmtree(at)
print(json.dumps({"name": "peers", "value": detail["cyclescope record -F 1000"]["slowdown_percent"], "unit": "%", "target": 3,
                  "noise": round(100 * (q[2] - q[0]) / alone, 1), "detail": {**detail, **{k: {"how": v} for k, v in ABSENT.items()}}}))
