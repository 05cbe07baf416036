#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Each thread's time whole: programs that nobody here wrote are stopped, recorded with --waits, let go, and stopped again, so that
/proc/PID/task/TID/schedstat (the kernel's own account: ns run, ns runnable) counts the same time as the recording. The value is
the worst thread's greatest difference, in percent of the recording: parts against the wall, on CPU against run, run queue against
runnable. On-CPU time is raised to the same counter where switches are very many, so there only too much can show; the wall and the
run queue are independent."""
import glob, json, os, shutil, signal, subprocess, sys, tempfile, time

import lib_postgres

cyclescope, build = os.environ["CYCLESCOPE"], os.environ["BUILD"]
seconds = 2 if "--quick" in sys.argv else 4
PYTHON = """
import threading, time, zlib
def work(n):
    data = bytes(range(256)) * 400
    while True:
        zlib.compress(data); time.sleep(0.001 * n)
for n in range(4): threading.Thread(target=work, args=(n,), daemon=True).start()
time.sleep(1000)
"""
NODE = "const c=require('crypto');function f(){c.pbkdf2('a','b',2000,64,'sha512',()=>setTimeout(f,2));}for(let i=0;i<6;i++)f();"
POOL = r"""
#include <condition_variable>
#include <mutex>
#include <queue>
#include <thread>
std::mutex m; std::condition_variable c; std::queue<int> q;
static volatile unsigned long sink;
static void work() { for (;;) { std::unique_lock<std::mutex> l(m); c.wait(l, []{ return !q.empty(); }); int n = q.front(); q.pop(); l.unlock();
    for (int i = 0; i < n; i++) sink += (unsigned long)i; } }
int main() { std::thread t[4]; for (auto &x : t) x = std::thread(work);
    for (int i = 0;; i++) { { std::lock_guard<std::mutex> l(m); if (q.size() < 1000) q.push(20000 + i % 7 * 10000); } c.notify_one();
        std::this_thread::sleep_for(std::chrono::microseconds(200)); } }
"""

def account(pids):
    out = {}
    for path in (p for pid in pids for p in glob.glob(f"/proc/{pid}/task/*/schedstat")):
        try:
            run, wait, _ = open(path).read().split()
            out[int(path.split("/")[4])] = (int(run) * 1e-9, int(wait) * 1e-9)
        except (OSError, ValueError):
            pass
    return out

def all_of(pids, number):
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass # a process that has ended since

def until_attached(record):
    for _ in range(300): # a busy machine takes its time
        time.sleep(0.1)
        try:
            links = [os.readlink(f"/proc/{record.pid}/fd/{fd}") for fd in os.listdir(f"/proc/{record.pid}/fd")]
        except OSError:
            continue
        if sum("bpf_link" in l for l in links) >= 3:
            break
    time.sleep(1)

def measure(name, work, pids, load=None):
    """Of these processes; `load` runs while they do."""
    helper, store = None, f"{work}/{name}.store"
    try:
        all_of(pids, signal.SIGSTOP)
        time.sleep(0.1)
        before = account(pids)
        record = subprocess.Popen([cyclescope, "record", "--waits", "--no-bursts", "--json", "-o", store, "-p", ",".join(map(str, pids)), "-t", str(seconds + 3)],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        until_attached(record)
        all_of(pids, signal.SIGCONT)
        if load:
            helper = subprocess.Popen(load, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(seconds - 0.8)
        all_of(pids, signal.SIGSTOP)
        said, errors = record.communicate()
        after = account(pids)
    finally:
        if helper:
            helper.kill(); helper.wait()
    if record.returncode != 0:
        raise SystemExit(f"{name}: {errors}")
    window = json.loads(said)["seconds"]
    shown = json.loads(subprocess.run([cyclescope, "waits", "--json", "--store", store], capture_output=True, text=True, check=True).stdout)
    threads, worst, silent = {t["tid"]: t for t in shown["threads"]}, 0.0, 0
    for tid, (run, runnable) in after.items():
        if tid not in before:
            continue # born or gone meanwhile: its own life is another than the window
        mine = threads.get(tid)
        if not mine and run == before[tid][0]:
            silent += 1 # it never ran: it waited throughout
            continue
        if not mine:
            raise SystemExit(f"{name}: thread {tid} ran for {run - before[tid][0]:.3f} s and isn't among the waits")
        time_ = mine["time"]
        errors = (abs(mine["seconds"] - window), abs(time_.get("on-cpu", 0) - (run - before[tid][0])),
                  abs(time_.get("run-queue", 0) - (runnable - before[tid][1])))
        worst = max(worst, 100 * max(errors) / window)
    return {"program": name, "threads": len(threads), "silent": silent, "worst_percent": round(worst, 3),
            "on_cpu_s": round(sum(t["time"].get("on-cpu", 0) for t in shown["threads"]), 3)}

def of_command(name, work, command, load=None):
    program = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=work)
    try:
        time.sleep(1)
        return measure(name, work, [program.pid], load)
    finally:
        program.kill(); program.wait()

def of_postgres(work):
    """The server's processes, a backend for each of four clients that stay."""
    server = lib_postgres.start(work)
    if not server:
        return None
    first, stop = server
    pids, family = [], lambda: [first, *map(int, open(f"/proc/{first}/task/{first}/children").read().split())]
    idle = len(family())
    clients = subprocess.Popen(["pgbench", "-h", f"{work}/pg", "-n", "-c", "4", "-j", "2", "-T", "1000", "postgres"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(100):
            if len(family()) >= idle + 4:
                break
            time.sleep(0.1)
        time.sleep(1)
        pids = family()
        return measure("postgresql", work, pids)
    finally:
        clients.kill(); clients.wait()
        all_of(pids, signal.SIGCONT)
        stop()

with tempfile.TemporaryDirectory() as work:
    open(f"{work}/pool.cc", "w").write(POOL)
    subprocess.run(["g++", "-O1", "-pthread", "-o", f"{work}/pool", f"{work}/pool.cc"], check=True)
    cases = [("pool", [f"{work}/pool"], None), ("python3", ["python3", "-c", PYTHON], None)]
    if shutil.which("node"):
        cases.append(("node", ["node", "-e", NODE], None))
    if shutil.which("redis-server"):
        cases.append(("redis-server", ["redis-server", "--port", "7411", "--save", ""], ["redis-benchmark", "-p", "7411", "-q", "-n", "10000000", "-c", "8"]))
    rows = []
    for case in cases:
        rows.append(of_command(case[0], work, case[1], case[2]))
        print(rows[-1], file=sys.stderr)
    rows += [row for row in [of_postgres(work)] if row]
    print(rows[-1], file=sys.stderr)
print(json.dumps({"name": "waits-whole", "value": max(r["worst_percent"] for r in rows), "unit": "%", "target": 1, "noise": 0,
                  "detail": {"programs": rows}}))
