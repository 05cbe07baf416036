# SPDX-License-Identifier: GPL-2.0-or-later
"""How much the observer slows a program, as `observe` reports it, against the program's own log of its pace (tests/programs/paced.c):
work per CPU time while an observer reads its line all the time, against stretches of 50 ms in which that observer is stopped, in turns.
Slowdowns from none to two times, by how often the program waits for its line. Value: the largest difference of the two logarithms,
in %; noise: its standard error over the rounds."""
import contextlib, json, math, os, signal, statistics, subprocess, sys, tempfile, time
from libsampler import CYCLESCOPE, QUICK, program, row

SPINS = [int(s) for s in os.environ.get("SPINS", "2 10 40 100 1000").split()]
PERIOD = os.environ.get("PERIOD", "0")
ROUNDS = int(os.environ.get("ROUNDS", 2 if QUICK else 5))
TURNS = 12


def start(pid, seconds, *more):
    return subprocess.Popen([CYCLESCOPE, "observe", "-p", str(pid), "-t", str(seconds), "-s", "turn,work", "--period", PERIOD, "--json", *more],
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)


def result(observer):
    out = observer.communicate()[0]
    if observer.returncode:
        sys.exit("observe failed")
    return json.loads(out[out.index("{"):])


def observers(pid):
    """The process and its children: observe leaves its session."""
    with open(f"/proc/{pid}/task/{pid}/children") as f:
        return [pid, *(q for p in f.read().split() for q in observers(int(p)))]


def send(processes, number):
    for p in processes:
        with contextlib.suppress(ProcessLookupError):
            os.kill(p, number)


def turns(pid):
    """Stretches with an observer and without, which is stopped then: (begin, end, observed)."""
    observer, stretches = start(pid, 1.5 + TURNS * 0.1, "--no-look-away"), []
    time.sleep(0.8)
    for _ in range(TURNS):
        stopped = observers(observer.pid)
        for number, observed in ((signal.SIGSTOP, False), (signal.SIGCONT, True)):
            send(stopped, number)  # the same: who is stopped as its parent ends would stay so, and keep our pipe open
            begin = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
            time.sleep(0.05)
            stretches.append((begin, time.clock_gettime_ns(time.CLOCK_MONOTONIC), observed))
    return stretches, result(observer)["cpus"]["target"]


def pace(notes, stretches):
    """Work per ns of CPU time in all of these."""
    work = cpu = 0
    for begin, end in stretches:
        inside = [n for n in notes if begin <= n[0] <= end]
        if len(inside) > 1:
            work += inside[-1][2] - inside[0][2]
            cpu += inside[-1][1] - inside[0][1]
    return work / cpu if cpu > 20e6 else None


def one(spins, place):
    """Logarithms of the slowdown: of the reference and as reported, round by round."""
    log, stretches, reports = f"{place}/log", [], []
    target = subprocess.Popen([program("paced"), "200", str(spins), log])
    try:
        time.sleep(0.3)
        for _ in range(ROUNDS):
            more, cpu = turns(target.pid)
            stretches += [more]
            os.sched_setaffinity(target.pid, {cpu})
            reports.append(result(start(target.pid, 2)))
    finally:
        target.terminate()
        target.wait()
    notes = [tuple(map(int, line.split())) for line in open(log)]
    truth, told = [], []
    for more, report in zip(stretches, reports):
        free, seen = (pace(notes, [(b, e) for b, e, o in more if o == observed]) for observed in (False, True))
        if free and seen and report["slows_program"]:
            truth.append(math.log(free / seen))
            told.append(math.log(1 + report["slows_program"][0]["percent"] / 100))
    return truth, told


worst, detail = None, {}
with tempfile.TemporaryDirectory() as place:
    for spins in SPINS:
        truth, told = one(spins, place)
        print(spins, *(f"{100 * t:.1f}:{100 * r:.1f}" for t, r in zip(truth, told)), file=sys.stderr)
        if len(truth) < 2:
            detail[spins] = "not measured"
            continue
        apart = [r - t for t, r in zip(truth, told)]
        off, error = 100 * abs(statistics.fmean(apart)), 100 * statistics.stdev(apart) / math.sqrt(len(apart))
        detail[spins] = {"slowdown": round(100 * math.exp(statistics.fmean(truth)) - 100, 2),
                         "reported": round(100 * math.exp(statistics.fmean(told)) - 100, 2), "off": round(off, 2), "error": round(error, 2)}
        if worst is None or off > worst[0]:
            worst = off, error
if worst is None:
    sys.exit("nothing was measured: the machine was too busy")
row("observer-effect", round(worst[0], 2), "%", 5, round(worst[1], 2), detail)
