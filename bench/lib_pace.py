# SPDX-License-Identifier: GPL-2.0-or-later
"""CPU time of commands on a virtual machine whose neighbours take half of a core away, a few milliseconds at a time.

Where a hypervisor runs somebody else on the core's other hardware thread, CPU time goes on while the program gets less: the same
run takes up to twice as long, and no counter says why. So a loop of known length runs on the same CPU every INTERVAL_S, ahead of the
program (50 us each time, for every program alike): its speed, loops a second, is the pace of that run. A run of time t at pace v
would have taken t * (1 - q * (1 - v / fastest)) at the fastest pace: speed falls in proportion. q is how much a program suffers beside
how much the loop does; it is what makes a program's runs agree best. What is then common to all runs of a round (they follow
one another within seconds) is taken out as well, by medians.
"""
import math, os, statistics, threading, time

INTERVAL_S = 0.0025
TURNS = 3000
TYPICAL = 0.8 # q where few runs tell nothing of it


def loop(turns=TURNS):
    start = time.perf_counter_ns()
    for _ in range(turns):
        pass
    return time.perf_counter_ns() - start


def run(words, cpu):
    """(user and system seconds, pace) of a command on that CPU; only the sum of both times is exact."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {cpu})
    stop, seen = threading.Event(), []
    beside = threading.Thread(target=watch, args=(stop, seen))
    null = os.open(os.devnull, os.O_RDWR)
    actions = [(os.POSIX_SPAWN_DUP2, null, 1), (os.POSIX_SPAWN_DUP2, null, 2)]
    try:
        beside.start()
        pid = os.posix_spawn("/bin/sh", ["sh", "-c", "exec " + words], os.environ, file_actions=actions)
        _, status, used = os.wait4(pid, 0)
    finally:
        stop.set()
        beside.join()
        os.close(null)
        os.sched_setaffinity(0, before)
    if status:
        raise RuntimeError(f"{words[:200]} failed")
    return used.ru_utime + used.ru_stime, statistics.mean(1e9 / s for s in seen)


def watch(stop, seen):
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))  # this thread only
    except OSError:
        pass  # it comes a little later then
    while not stop.wait(INTERVAL_S) or not seen:
        loop(TURNS // 6)  # its code and data back in the caches
        seen.append(loop())


def polished(rounds):
    """(deviations, [{name: log seconds}]): what is common to a round taken out, and how far a build's runs then lie apart."""
    common = [0.0] * len(rounds)
    for _ in range(4):
        middle = {}
        for name in {n for r in rounds for n in r}:
            middle[name] = statistics.median(r[name] - c for r, c in zip(rounds, common) if name in r)
        common = [statistics.median(r[n] - middle[n] for n in r) for r in rounds]
    clean = [{n: t - c for n, t in r.items()} for r, c in zip(rounds, common)]
    return sum(abs(t - middle[n]) for r in clean for n, t in r.items()), clean


def alone(rounds):
    """`rounds` of one program's builds: [{name: (seconds, pace)}]. Returns ([{name: seconds at the fastest pace}], q)."""
    fastest = max(pace for r in rounds for _, pace in r.values())
    best = None
    for step in range(31):
        q = step * 0.05
        logs = [{n: math.log(t * max(0.05, 1 - q * (1 - pace / fastest))) for n, (t, pace) in r.items()} for r in rounds]
        deviations, clean = polished(logs)
        deviations += 0.01 * abs(q - TYPICAL)
        if best is None or deviations < best[0]:
            best = (deviations, clean, q)
    return [{n: math.exp(t) for n, t in r.items()} for r in best[1]], best[2]
