#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""100 random programs, and those that the tests of waits record: what `waits`, `prof --wall` and `waits --critical-path` print of each
has to be possible. A random program's threads compute, sleep, lock, wait for conditions, pipes and one another. At their end they
print what the kernel counted (getrusage) and how long they lived. The value is the number of findings: sums that don't add up or
are above wall time or CPUs times wall time, medians and lengths that no waits can have, lives and counts of switches that the
program's own contradict."""
import json, os, random, subprocess, sys, tempfile, time

from lib_ahead import before_others

cyclescope, build = os.environ["CYCLESCOPE"], os.environ["BUILD"]
PROGRAMS = 10 if "--quick" in sys.argv else 100
CPUS = os.sysconf("SC_NPROCESSORS_CONF")
MODES = ["sleeping-lock 1", "short-sleeps 1", "convoy 1", "pipe 1", "phases 1", "switches 1"]

C = r"""
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
static pthread_mutex_t m[3] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static pthread_mutex_t cm = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static int p[2];
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec + t.tv_nsec * 1e-9; }
__attribute__((noinline)) static void compute(long us) { for (double end = now() + us * 1e-6; now() < end;) ; }
__attribute__((noinline)) static void holding(int k, long us) { pthread_mutex_lock(&m[k]); us & 1 ? compute(us) : (void)usleep(us); pthread_mutex_unlock(&m[k]); }
__attribute__((noinline)) static void in_time(long us) {
    struct timespec t; clock_gettime(CLOCK_REALTIME, &t); t.tv_nsec += us * 1000; t.tv_sec += t.tv_nsec / 1000000000; t.tv_nsec %= 1000000000;
    pthread_mutex_lock(&cm); pthread_cond_timedwait(&c, &cm, &t); pthread_mutex_unlock(&cm); }
static void work(unsigned seed) {
    for (int n = 6 + rand_r(&seed) % 60; n > 0; n--) {
        long us = 1L << rand_r(&seed) % 15; us += rand_r(&seed) % us; char b;
        switch (rand_r(&seed) % 7) {
        case 0: case 1: compute(us); break;
        case 2: usleep(us); break;
        case 3: holding(rand_r(&seed) % 3, us); break;
        case 4: in_time(us); break;
        case 5: pthread_cond_broadcast(&c); if (write(p[1], "x", 1) < 0) exit(1); break;
        case 6: { struct pollfd f = {p[0], POLLIN, 0}; if (poll(&f, 1, us / 1000) > 0 && read(p[0], &b, 1) < 0) compute(1); }
        } } }
static void tell(double born) { struct rusage u; getrusage(RUSAGE_THREAD, &u);
    printf("%ld %.6f %ld %ld\n", syscall(SYS_gettid), now() - born, u.ru_nvcsw, u.ru_nivcsw); fflush(stdout); }
static void *thread(void *seed) { double born = now(); work((unsigned)(long)seed); tell(born); return 0; }
int main(int n, char **v) { double born = now(); unsigned seed = atoi(v[1]); pthread_t t[12]; int threads = rand_r(&seed) % 12;
    int q[2]; if (pipe2(p, 04000) < 0 || pipe(q) < 0 || n > 2) return 1;
    if (fork() == 0) { char b; close(q[1]); _exit(read(q[0], &b, 1) != 0); } /* it ends when the recording does */
    close(q[0]);
    for (int i = 0; i < threads; i++) pthread_create(&t[i], 0, thread, (void *)(long)rand_r(&seed));
    work(seed); for (int i = 0; i < threads; i++) pthread_join(t[i], 0); tell(born); return 0; }
"""


def ask(*words):
    run = subprocess.run([cyclescope, *words], capture_output=True, text=True)
    if run.returncode:
        raise SystemExit(run.stderr)
    return json.loads(run.stdout)


def near(a, b, part=0.001, least=0.001):
    return abs(a - b) <= max(least, part * max(abs(a), abs(b)))


def possible(said, wall):
    """What is wrong with `waits`."""
    bad, threads = [], said["threads"]
    totals = {t["what"]: t for t in said["time"]}
    if not near(sum(t["seconds"] for t in totals.values()), said["seconds"]) or not near(sum(t["seconds"] for t in threads), said["seconds"]):
        bad.append(f"kinds {sum(t['seconds'] for t in totals.values())} and threads {sum(t['seconds'] for t in threads)} of {said['seconds']}")
    on = sum(t["seconds"] for w, t in totals.items() if w in ("on-cpu", "stolen"))
    if on > CPUS * wall * 1.001:
        bad.append(f"{on} s on {CPUS} CPUs in {wall}")
    for t in threads:
        if t["seconds"] > wall * 1.001 + 0.001 or not near(sum(t["time"].values()), t["seconds"]):
            bad.append(f"thread {t['tid']}: {t['seconds']} s of {wall}, of which {sum(t['time'].values())}")
        if not near(t["on_cpu_percent"] + t["stolen_percent"] + t["run_queue_percent"] + t["waiting_percent"], 100, 0.001):
            bad.append(f"thread {t['tid']}: its percents")
    rows = sum(r["seconds"] for r in said["rows"])
    if rows > said["seconds"] * 1.1 + 0.05: # short waits are drawn
        bad.append(f"rows have {rows} s of {said['seconds']}")
    for r in said["rows"]:
        name, ms = f"{r['kind']} in {r['where']}", r["seconds"] * 1e3
        if r["seconds"] > said["seconds"] or r["longest_ms"] > wall * 1001 or not 0 <= r["median_ms"] <= r["longest_ms"] + 1e-6:
            bad.append(f"{name}: {r['seconds']} s, longest {r['longest_ms']}, median {r['median_ms']}")
        if r["waits"] == 1 and not near(r["median_ms"], ms, 0.001, 0.001):
            bad.append(f"{name}: one wait of {ms} has median {r['median_ms']}")
        if r["waits"] >= 1 and (ms > r["waits"] * r["longest_ms"] * 1.01 + 0.1 or ms + 0.1 < r["longest_ms"] * 0.999):
            bad.append(f"{name}: {r['waits']} waits, the longest {r['longest_ms']}, are {ms}")
        if r["waits"] and r["median_ms"] * r["waits"] / 2 > ms * 1.05 + 0.1:
            bad.append(f"{name}: half of {r['waits']} waits of {r['median_ms']} or more in {ms}")
        if sum(d["waits"] for d in r["distribution"]) != r["waits"]:
            bad.append(f"{name}: its distribution")
    return bad


def agrees(said, told):
    """With what the program's threads say: number, life, switches."""
    bad, of = [], {t["tid"]: t for t in said["threads"]}
    for tid, life, _, _ in told:
        if tid not in of:
            bad.append(f"thread {tid} is missing")
        elif not life - 0.001 <= of[tid]["seconds"] <= life + 0.03:
            bad.append(f"thread {tid} lived {life} s, not {of[tid]['seconds']}")
    whole = max(life for _, life, _, _ in told)
    bad += [f"thread {t['tid']} has {t['seconds']} s in a program of {whole}" for t in of.values() if t["seconds"] > whole + 0.05]
    counted = sum(t["times"] or 0 for t in said["time"])
    switches = sum(t[2] + t[3] for t in told)
    if not switches * 0.98 - 3 * len(told) - 6 <= counted <= switches * 1.02 + 5 * len(told):
        bad.append(f"{counted} times off the CPU, {switches} by the kernel")
    return bad


def wholes(store, said):
    wall, path = ask("prof", "--wall", "--json", "--top", "0", "--store", store), ask("waits", "--critical-path", "--json", "--top", "0", "--store", store)
    sums = sum((r[k] or 0) for r in wall["rows"] for k in ("on_cpu_seconds", "waiting_seconds", "idle_seconds")) + (wall["stolen_seconds"] or 0)
    bad = [] if near(sums, said["seconds"], 0.002) else [f"prof --wall: {sums} of {said['seconds']}"]
    whole = sum(r["percent"] for r in path["rows"])
    return bad + ([] if near(whole, 100, 0.005) else [f"critical path: {whole} %"])


def judge(work, name, command):
    store = f"{work}/{name}"
    begin = time.monotonic()
    run = subprocess.run([cyclescope, "record", "--waits", "--no-bursts", "-o", store, "--", *command], capture_output=True, text=True, preexec_fn=before_others)
    wall = time.monotonic() - begin
    if run.returncode or "can't be recorded" in run.stderr:
        raise SystemExit(run.stderr)
    said = ask("waits", "--json", "--top", "0", "--store", store)
    bad = possible(said, wall) + wholes(store, said)
    if name.startswith("random"):
        bad += agrees(said, [(int(a), float(b), int(c), int(d)) for a, b, c, d in (line.split() for line in run.stdout.splitlines())])
    if bad:
        print(name, *bad, sep="\n    ", file=sys.stderr)
    return bad


def main():
    first = random.randrange(1 << 20)
    subprocess.run(["make", "-s", f"BUILD={build}", "CS_DEPS_DONE=1", f"{build}/tests/programs/waiting"], check=True)
    findings = {}
    with tempfile.TemporaryDirectory() as work:
        with open(f"{work}/random.c", "w") as f:
            f.write(C)
        subprocess.run(["gcc", "-D_GNU_SOURCE", "-O1", "-g", "-pthread", "-o", f"{work}/program", f"{work}/random.c"], check=True)
        for i in range(PROGRAMS):
            findings[f"random {first + i}"] = judge(work, f"random{first + i}", [f"{work}/program", str(first + i)])
        for mode in MODES:
            findings[mode] = judge(work, mode.replace(" ", "-"), [f"{build}/tests/programs/waiting", *mode.split()])
    bad = {name: found for name, found in findings.items() if found}
    print(json.dumps({"name": "waits-possible", "value": sum(map(len, bad.values())), "unit": f"findings in {len(findings)} recordings", "target": 0,
                      "noise": None, "detail": {"seed": first, "findings": bad}}))


main()
