#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Time and memory of the reports on stores of large programs, the first time (empty caches), and how the time of `calc`
grows with the branches that bursts saw. Records cc1plus, clang, PostgreSQL and Chromium for a minute each, bursts on;
what isn't installed is left out and named. STORES=NAME:DIR,... takes recordings that exist. --quick: 10 s each."""
import json
import math
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time

CYCLESCOPE = os.environ.get("CYCLESCOPE", os.path.abspath(os.environ.get("BUILD", "build") + "/cyclescope"))
SECONDS = 10 if "--quick" in sys.argv else 60
SOURCE = """#include <regex>
#include <map>
#include <iostream>
#include <future>
#include <random>
#include <algorithm>
int main(int c, char **v) { std::map<std::string, std::vector<double>> m; std::regex r("(a|b)*c[0-9]+");
for (int i = 0; i < c; i++) { std::smatch s; std::string t = v[i]; if (std::regex_match(t, s, r)) m[s[1]].push_back(i); }
auto f = std::async([&] { return m.size(); }); std::mt19937 g; std::vector<double> x(100);
for (auto &y : x) y = std::normal_distribution<>()(g); std::sort(x.begin(), x.end()); std::cout << f.get() << x[0]; }
"""
PAGE = """<canvas id=c width=800 height=600></canvas><div id=d></div><script>let t=0;function f(){let c=document.getElementById('c')
.getContext('2d');for(let i=0;i<200;i++){c.fillStyle='hsl('+((i*7+t)%360)+',80%,50%)';c.beginPath();c.arc(Math.random()*800,
Math.random()*600,20,0,7);c.fill();}let h='';for(let i=0;i<300;i++)h+='<p><b>row '+i+'</b> text '+Math.random()+'</p>';
document.getElementById('d').innerHTML=h;document.body.offsetHeight;t++;setTimeout(f,0);}f();</script>"""


def compiler(name, folder):
    open(folder + "/t.cc", "w").write(SOURCE)
    return f"cd {folder}; e=$((SECONDS+{SECONDS})); while [ $SECONDS -lt $e ]; do {name} -O2 -g -std=c++20 -c t.cc -o t.o || exit 1; done"


def postgresql(folder):
    tools = "/usr/lib/postgresql/"
    tools += sorted(os.listdir(tools))[-1] + "/bin/"
    os.chmod(folder, 0o755)
    data = folder + "/data"
    os.mkdir(data)
    shutil.chown(data, "postgres")
    options = f"-o \"-k {data} -h ''\""
    ctl = f"{tools}pg_ctl -D {data} {options} -w"

    def user(command):
        return "su postgres -c '" + command.replace("'", "'\\''") + "'"
    subprocess.run(user(f"{tools}initdb -D {data} && {ctl} start && {tools}pgbench -i -s 10 -h {data} postgres; {ctl} -m fast stop"),
                   shell=True, check=True, capture_output=True)
    return (user(f"{ctl} start") + ";" + user(f"{tools}pgbench -h {data} -T {SECONDS // 2} -c 4 postgres") + ";" +
            user(f"{tools}pgbench -h {data} -S -T {SECONDS // 2} -c 4 postgres") + ";" + user(f"{ctl} -m fast stop"))


def chromium(folder):
    open(folder + "/p.html", "w").write(PAGE)
    return (f"e=$((SECONDS+{SECONDS})); while [ $SECONDS -lt $e ]; do timeout 20 chromium --headless --no-sandbox --disable-gpu "
            f"--user-data-dir={folder}/u --virtual-time-budget=8000 --screenshot={folder}/x.png file://{folder}/p.html || exit 1; done")


def timed(arguments, cache):
    """Seconds of wall and CPU time, and the peak of memory of it and what it starts, in MB."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    # time's own account of the peak: ours only ever grows
    run = subprocess.run(["/usr/bin/time", "-f", "%M", CYCLESCOPE] + arguments, capture_output=True, text=True,
                         env=dict(os.environ, XDG_CACHE_HOME=cache))
    wall, after = time.monotonic() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return run, round(wall, 2), round(cpu, 2), int(run.stderr.split()[-1]) / 1024


def measure(store, folder):
    procedures = json.loads(subprocess.run([CYCLESCOPE, "prof", "--store", store, "--json"], capture_output=True, text=True).stdout)
    rows, branches = procedures["rows"], 0
    name = next((r["procedure"] for r in rows if r.get("procedure") and not r["procedure"].startswith("[")
                 and "vmlinux" not in r.get("image", "") and "kernel" not in r.get("image", "")), None)
    result = {}
    for command, arguments in (("prof", ["prof"]), ("calc", ["calc"]), ("sum", ["sum"]), ("list", ["list", name]),
                               ("edges", ["edges", name]), ("report", ["report", "--html", folder + "/page.html"]),
                               ("pprof", ["export", "--to", folder + "/x.pb.gz"])):
        copy = folder + "/copy"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.rmtree(folder + "/cache", ignore_errors=True)
        shutil.copytree(store, copy, ignore=shutil.ignore_patterns(".flows"))
        run, wall, cpu, peak = timed(arguments + ["--store", copy], folder + "/cache")
        result[command] = {"s": wall, "cpu_s": cpu, "mb": round(peak), "ok": run.returncode == 0}
        if run.returncode:
            result[command]["why"] = run.stderr[-200:]
        if command == "calc" and os.path.exists(copy + "/.flows"):
            branches = os.path.getsize(copy + "/.flows") // 72  # bytes of an edge there
    return branches, result


stores, missing = {}, []
work = tempfile.mkdtemp(prefix="reports-large.")
try:
    given = dict(pair.split(":") for pair in os.environ.get("STORES", "").split(",") if pair)
    programs = {"cc1plus": ("g++", lambda f: compiler("g++", f)), "clang": ("clang++", lambda f: compiler("clang++", f)),
                "postgresql": ("pg_config" if not os.path.isdir("/usr/lib/postgresql") else "sh", postgresql),
                "chromium": ("chromium", chromium)}
    for name, (needs, command) in programs.items():
        folder = f"{work}/{name}"
        os.mkdir(folder)
        if not given and shutil.which(needs):
            run = subprocess.run([CYCLESCOPE, "record", "-o", folder + "/store", "--burst-rate", "300", "--", "bash", "-c",
                                  command(folder)], capture_output=True, text=True)
            if os.path.isdir(folder + "/store"):
                given[name] = folder + "/store"
            print(name, run.stderr[-300:], file=sys.stderr)
        if name not in given:
            missing.append(name)
            continue
        branches, result = measure(given[name], folder)
        stores[name] = {"edges": branches, "reports": result}
        print(name, json.dumps(stores[name]), file=sys.stderr)
finally:
    shutil.rmtree(work, ignore_errors=True)
own = [c for s in stores.values() for k, c in s["reports"].items() if k != "pprof"]
points = [(math.log(s["edges"]), math.log(s["reports"]["calc"]["cpu_s"])) for s in stores.values() if s["edges"] > 0]
exponent = None
if len(points) > 1 and max(p[0] for p in points) - min(p[0] for p in points) > 0.7:
    mx, my = (sum(p[i] for p in points) / len(points) for i in (0, 1))
    exponent = round(sum((x - mx) * (y - my) for x, y in points) / sum((x - mx) ** 2 for x, _ in points), 2)
print(json.dumps({"name": "reports-large", "value": max((c["s"] for c in own), default=None), "unit": "s", "target": 3,
                  "noise": None, "detail": {"largest_mb": max((c["mb"] for c in own), default=None), "exponent": exponent,
                                            "not installed": missing, "failed": sum(not c["ok"] for c in own), "stores": stores}}))
