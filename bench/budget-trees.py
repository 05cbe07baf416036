# SPDX-License-Identifier: GPL-2.0-or-later
"""budget-trees: what `record --budget 5% --bursts` costs programs that switch, fork and fault: a build by gcc -j2 (many short
processes), 500 threads, a program that serves its own page faults, two processes and a pipe, and a database server under pgbench
(`-p`, with its backends). Short runs without and with us take turns, and each pair is one measurement of two losses:

  CPU   CPU time of the whole tree, and of all processes of ours, over the tree's alone: what we cost where no CPU is idle
  wall  the time that it took: what its user sees

`--account` runs with us alone, and sums up what the kernel tells of each run: CPU time of our processes (what is below: /proc, at the
run's begin and end) and the time that threads stood for us (lib_stops.py), over the tree's CPU time. Nothing else of the machine
is in there, and no noise of wall times; but a few wake-ups a second are ours by the clock, so a tree that gets a tenth of a CPU
beside others' work pays ten times as much for them. What interrupts take from the tree isn't either (`sampler-budget` has that).

Our start and end are not among them. A loss is the median of the pairs; beside it stands the half width of that median's 90 %
confidence interval. The value is the highest loss over the budget, CPU or wall; one whose interval is wider than the budget
tells nothing, is said to, and left out. A virtual machine's wall times differ by tens of per cent from run to run."""
import glob, os, re, shutil, signal, statistics, subprocess, sys, tempfile, time
import lib_bursts as lib
import lib_postgres
import lib_stops

BUDGET, SECONDS = 5, 50 if lib.QUICK else 600  # in all
PAIRS_MOST = 60
ACCOUNT = "--account" in sys.argv
ONLY = [a for a in sys.argv[1:] if not a.startswith("-")]  # of the programs; none: all
CYCLESCOPE = os.path.realpath(os.environ.get("CYCLESCOPE", lib.BUILD + "/cyclescope"))
WORK, PING = lib.BUILD + "/bench/_budget_trees", lib.BUILD + "/tests/programs/ping_pong"
RECORD = [CYCLESCOPE, "record", "-v", "--budget", f"{BUDGET}%", "--bursts"]
os.environ["CCACHE_DISABLE"] = "1"  # what a compiler's cache answers is no build
BUILD_GCC = """mkdir -p {0}; for r in {1}; do rm -f {0}/*; ls dte/*.c store/base/text.c store/base/error.c analysis/statistics/*.c | \
xargs -P 2 -I F sh -c 'gcc -O2 -std=gnu11 -D_GNU_SOURCE -I. -w -c -o {0}/$(echo F | tr / _).o F'; done"""


def around(command, before=(), **env):
    """Seconds by the clock, of the tree's CPU time, of ours."""
    run = subprocess.run([*before, WORK, "around", *command], capture_output=True, text=True, env=dict(os.environ, **env))
    if run.returncode:
        sys.exit(f"{command}: exit {run.returncode}: {run.stderr[-500:]}")
    return [float(x) for x in run.stdout.split()[-3:]], run.stderr


def recorded(command, store):
    return around(command, [*RECORD, "-o", store, "--"])


def account(name, command, folder, seconds, server, stops):
    """Sums over all runs: what we took of what the tree did."""
    tree = cpu = stood = wall = 0.0
    runs, of_runs, end = 0, [], time.monotonic() + seconds
    while runs < 3 or (time.monotonic() < end and runs < PAIRS_MOST):
        shutil.rmtree(folder + "/store", ignore_errors=True)
        if server:
            took, said = recorded_server(command, folder + "/store", server, stops.before(server, *backends(server)))
        else:
            took, said = around(command, [*stops.before(), *RECORD, "-o", folder + "/store", "--"])
        stopped = stops.seconds() or 0.0
        of_runs.append(100 * (took[2] + stopped) / took[1])
        tree, cpu, stood, wall, runs = tree + took[1], cpu + took[2], stood + stopped, wall + took[0], runs + 1
    share, (_, noise) = 100 * (cpu + stood) / tree, median_of(of_runs) if runs > 4 else (0, None)
    burst_line = next((line for line in said.splitlines() if re.search(r" bursts?, ", line)), "no bursts")
    print(f"{name:12} {share:5.2f} % of {tree:.2f} s of CPU time in {runs} runs: our processes {100 * cpu / tree:.2f} %, stops "
          f"{100 * stood / tree:.2f} %; it had {tree / wall:.2f} CPUs; single runs {min(of_runs):.1f} to {max(of_runs):.1f} %\n             the last: {burst_line}", flush=True)
    return {"runs": runs, "account": round(share, 2), "processes": round(100 * cpu / tree, 2), "stops": round(100 * stood / tree, 2), "cpus": round(tree / wall, 2),
            "noise": round(noise, 2) if noise is not None else None}


def backends(server):
    with open(f"/proc/{server}/task/{server}/children") as f:
        return f.read().split()


def has_events(pid):
    links = []
    for fd in glob.glob(f"/proc/{pid}/fd/*"):
        try:
            links.append(os.readlink(fd))
        except OSError:
            pass
    return sum("perf_event" in link for link in links) >= 2 * (os.cpu_count() or 1)


def recorded_server(command, store, server, before=()):
    recorder = subprocess.Popen([*before, *RECORD, "-o", store, "-p", str(server)], stderr=subprocess.PIPE, text=True)
    until = time.monotonic() + 20
    while not has_events(recorder.pid):
        time.sleep(0.02)
        if recorder.poll() is not None or time.monotonic() > until:
            recorder.kill()
            sys.exit(f"record -p {server}: {recorder.stderr.read()}")
    time.sleep(0.3)  # they are all open, and on
    took, _ = around(command, CS_OURS=str(recorder.pid), CS_TREE=str(server))
    recorder.send_signal(signal.SIGINT)
    return took, recorder.communicate()[1]


def median_of(losses):
    """With the half width of its 90 % confidence interval, by order statistics (sign test); None where there are too few for one."""
    n, k, tail = len(losses), 0, 0.5 ** len(losses)
    ordered, below = sorted(losses), tail
    while below <= 0.05:  # P(binomial(n, 1/2) <= k)
        k += 1
        tail *= (n - k + 1) / k
        below += tail
    return statistics.median(losses), (ordered[n - k] - ordered[k - 1]) / 2 if k else None


def measure(name, command, folder, seconds, server):
    tree = {"CS_TREE": str(server)} if server else {}
    pairs, said, end = [], "", time.monotonic() + seconds
    around(command, CS_OURS="0")  # warm
    while len(pairs) < 5 or (time.monotonic() < end and len(pairs) < PAIRS_MOST):
        shutil.rmtree(folder + "/store", ignore_errors=True)
        order = ["alone", "with"] if len(pairs) % 2 else ["with", "alone"]
        took = {}
        for which in order:
            if which == "alone":
                took[which], _ = around(command, CS_OURS="0", **tree)
            elif server:
                took[which], said = recorded_server(command, folder + "/store", server)
            else:
                took[which], said = recorded(command, folder + "/store")
        alone, ours = took["alone"], took["with"]
        pairs.append({"wall": 100 * (ours[0] / alone[0] - 1), "CPU": 100 * ((ours[1] + ours[2]) / alone[1] - 1),
                      "ours": 100 * ours[2] / ours[1], "seconds": alone[1]})
    result = {"pairs": len(pairs), "ours": round(statistics.median(p["ours"] for p in pairs), 1)}
    for which in ("CPU", "wall"):
        loss, noise = median_of([p[which] for p in pairs])
        result[which], result[which + " noise"] = round(loss, 1), round(noise, 1)
    seconds = statistics.median(p["seconds"] for p in pairs)
    stops = next((line for line in said.splitlines() if re.search(r" bursts?, ", line)), "no bursts")
    print(f"{name:12} CPU {result['CPU']:5.1f} +- {result['CPU noise']:.1f} %{' (tells nothing)' if result['CPU noise'] > BUDGET else ''}, of it our processes {result['ours']:.1f} %; wall {result['wall']:5.1f} +- "
          f"{result['wall noise']:.1f} %{' (tells nothing)' if result['wall noise'] > BUDGET else ''}; {len(pairs)} pairs of {seconds:.2f} s of CPU time\n"
          f"             the last: {stops}", flush=True)
    return result


subprocess.run(["make", "-s", "BUILD=" + lib.BUILD, "CS_DEPS_DONE=1", WORK, PING], check=True, stdout=sys.stderr)
detail = {}
with tempfile.TemporaryDirectory() as folder:
    server = lib_postgres.start(folder)
    programs = {
        "gcc -j2": ["bash", "-c", BUILD_GCC.format(folder + "/o", "1" if lib.QUICK else "1 2 3")],
        "500 threads": [WORK, "threads", "500"],
        "userfaultfd": [WORK, "faults", "100000"],
        "pipe": ["sh", "-c", f"{PING} 150000 | tail -n 1"],
        **({"pgbench": ["pgbench", "-h", folder + "/pg", "-S", "-n", "-c", "4", "-j", "2", "-t", "3000" if lib.QUICK else "6000", "postgres"]} if server else {}),
    }
    programs = {name: command for name, command in programs.items() if not ONLY or name in ONLY}
    for name, command in programs.items() if not ACCOUNT else ():
        detail[name] = measure(name, command, folder, SECONDS / len(programs), server[0] if name == "pgbench" else 0)
    with lib_stops.Stops() as stops:
        if ACCOUNT and not stops.instance:
            print("the kernel doesn't tell for how long threads stood (root, tracefs): without stops", file=sys.stderr)
        for name, command in programs.items() if ACCOUNT else ():
            detail[name] = account(name, command, folder, SECONDS / len(programs), server[0] if name == "pgbench" else 0, stops)
    if server:
        server[1]()
if ACCOUNT:
    worst = max(detail.values(), key=lambda d: d["account"])
    lib.report("budget-account", round(worst["account"] / BUDGET, 2), f"times the budget of {BUDGET} %", 1,
               worst["noise"] and round(worst["noise"] / BUDGET, 2), detail)
    sys.exit()
losses = [(d[which], d[which + " noise"]) for d in detail.values() for which in ("CPU", "wall") if d[which + " noise"] <= BUDGET]
wide = [f"{name}, {which}" for name, d in detail.items() for which in ("CPU", "wall") if d[which + " noise"] > BUDGET]
if wide:
    print("noisier than the budget, so that nothing is known of them: " + "; ".join(wide))
worst, noise = max(losses) if losses else (None, None)
lib.report("budget-trees", losses and round(worst / BUDGET, 2) or None, f"times the budget of {BUDGET} %", 1,
           losses and round(noise / BUDGET, 2) or None, detail)
