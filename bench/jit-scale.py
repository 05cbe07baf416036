# SPDX-License-Identifier: GPL-2.0-or-later
"""A JIT compiler with 50,000, 100,000 and 200,000 methods (tests/programs/jit_methods.c), named by a perf map and by a jitdump
file with bytes and lines: CPU seconds and peak memory of a session above the program itself, and of reports on it, least of
three. Value: seconds of session and reports together at 200,000, the worse way. It fails where more than 200 MB were taken, or
where JIT samples have no name. The exponent is that of the cost above the smallest program's (1,000 methods)."""
import json, math, os, re, shutil, subprocess, sys, tempfile
from libsampler import CYCLESCOPE, QUICK, program, row

SECONDS = 4
SIZES = [1000, 50000, 100000, 200000]
MOST_MB = 200
at = tempfile.mkdtemp(prefix="jit-scale.")
methods = program("jit_methods")


def run(*command):
    """CPU seconds of a command with its children, peak MB of any of them, what it printed."""
    with open(f"{at}/out", "w+") as out:
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.DEVNULL)
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        text = out.read()
    if child.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit {child.returncode}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, text


def once(way, n):
    store = f"{at}/store"
    shutil.rmtree(store, ignore_errors=True)
    cpu, mb, text = run(CYCLESCOPE, "record", "-F", "4000", "-o", store, "--", methods, str(n), str(SECONDS), way, at)
    own = float(re.search(r"^cpu (\S+)", text, re.M)[1])
    reports, most = {}, mb
    if way == "map":
        os.remove(f"/tmp/perf-{re.search(r'^pid (.+)', text, re.M)[1]}.map")
    for name, words in {"prof": ["prof", "--store", store, "--top", "0", "--json"], "by image": ["prof", "--store", store, "--by", "image"],
                        "pprof": ["export", "--format", "pprof", "--store", store, "--to", f"{at}/pprof"]}.items():
        reports[name], mb, text = run(CYCLESCOPE, *words)
        most = max(most, mb)
        if name == "prof":
            rows = [r for r in json.loads(text)["rows"] if r["image"].startswith("[jit]")]
            samples = [(sum(n for event, n in r["samples"].items() if event != "burst-starts"), r["procedure"]) for r in rows]
            everything = sum(n for n, _ in samples)
            if everything < 1000:
                sys.exit(f"{everything} samples in JIT code: too few to judge")
            nameless = sum(n for n, procedure in samples if "::method" not in procedure)
    for f in os.listdir(at):
        if f.endswith(".dump"):
            os.remove(f"{at}/{f}")
    return {"session s": cpu - own, "reports s": sum(reports.values()), "MB": most, "methods seen": len(rows),
            "nameless %": 100 * nameless / max(everything, 1)}


try:
    table = {}
    for way in "map", "dump":
        for n in SIZES:
            times = [once(way, n) for _ in range(1 if QUICK else 3)]
            table[way, n] = {k: min(t[k] for t in times) if k.endswith(" s") else max(t[k] for t in times) for k in times[0]}
            print(f"{way:5} {n:7,} methods:", ", ".join(f"{k} {v:.3g}" for k, v in table[way, n].items()), flush=True)
finally:
    shutil.rmtree(at)
worst = max(table["map", SIZES[-1]], table["dump", SIZES[-1]], key=lambda r: r["session s"] + r["reports s"])
most = max(r["MB"] for r in table.values())
detail = {"MB": round(most), "nameless %": round(max(r["nameless %"] for r in table.values()), 2)}
for way in "map", "dump":
    total = {n: table[way, n]["session s"] + table[way, n]["reports s"] for n in SIZES}
    rise = [total[n] - total[SIZES[0]] for n in SIZES[1:]]
    if rise[0] > 0.02:
        detail[f"exponent, {way}"] = round(math.log(rise[-1] / rise[0]) / math.log(SIZES[-1] / SIZES[1]), 2)
row("jit-scale", round(worst["session s"] + worst["reports s"], 2), "s", 5, None, detail)
if most > MOST_MB or detail["nameless %"] > 1:
    sys.exit(f"more than {MOST_MB} MB, or methods without a name")
