# SPDX-License-Identifier: GPL-2.0-or-later
"""budget-trees: what `record --budget 5% --bursts -- PROGRAM` costs programs that switch, fork and fault: a build by gcc -j2 (many
short processes), 500 threads, a program that serves its own page faults, two processes and a pipe, pgbench. Runs without and with
us take turns; each tells its own seconds, so that our start and end are not among them. The value is the highest loss of the
five over the budget; the noise, a quarter of the middle half of that program's pairs. A virtual machine's runs differ by some
per cent from one to the next: nine pairs tell a loss of twice the budget, not one of a per cent more."""
import os, shutil, statistics, subprocess, sys, tempfile
import lib_bursts as lib

BUDGET, PAIRS = 5, 3 if lib.QUICK else 9
CYCLESCOPE = os.path.realpath(os.environ.get("CYCLESCOPE", lib.BUILD + "/cyclescope"))
WORK, PING = lib.BUILD + "/bench/_budget_trees", lib.BUILD + "/tests/programs/ping_pong"
TIMED = 's=$EPOCHREALTIME; {}; e=$EPOCHREALTIME; echo $(((${{e/./}} - ${{s/./}})))e-6'
BUILD_GCC = """mkdir -p {0}; for r in 1 2; do rm -f {0}/*; ls dte/*.c store/text.c store/error.c analysis/statistics/*.c | \
xargs -P 2 -I F sh -c 'gcc -O2 -std=gnu11 -D_GNU_SOURCE -I. -w -c -o {0}/$(echo F | tr / _).o F'; done"""


def programs(folder):
    yield "gcc -j2", ["bash", "-c", TIMED.format(BUILD_GCC.format(folder + "/o"))]
    yield "500 threads", [WORK, "threads", "500"]
    yield "userfaultfd", [WORK, "faults", "100000"]
    yield "pipe", ["sh", "-c", f"{PING} 150000 | tail -n 1"]
    server = postgres(folder)
    if server:
        yield "pgbench", ["bash", "-c", TIMED.format(f"pgbench -h {folder}/pg -S -n -c 4 -j 2 -t 10000 postgres >/dev/null")]
        server()


def postgres(folder):
    """A server of its own, not profiled but through what pgbench asks of it; None: none here."""
    found = sorted(f"/usr/lib/postgresql/{v}/bin" for v in os.listdir("/usr/lib/postgresql")) if os.path.isdir("/usr/lib/postgresql") else []
    if not found or not shutil.which("pgbench") or os.getuid() != 0:
        return None
    place = folder + "/pg"
    os.chmod(folder, 0o755)
    os.mkdir(place)
    shutil.chown(place, "postgres")
    run = lambda *c: subprocess.run(["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", *c], check=True, cwd=place,
                                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    ctl = [found[-1] + "/pg_ctl", "-D", place + "/data", "-w", "-l", place + "/log"]
    run(found[-1] + "/initdb", "-D", place + "/data", "-A", "trust", "-U", "root")
    run(*ctl, "-o", f"-c listen_addresses='' -k {place} -c fsync=off", "start")
    subprocess.run(["pgbench", "-h", place, "-q", "-i", "-s", "2", "postgres"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return lambda: run(*ctl, "-m", "immediate", "stop")


def seconds(command, *before):
    run = subprocess.run([*before, *command], capture_output=True, text=True)
    if run.returncode:
        sys.exit(f"{command}: exit {run.returncode}: {run.stderr[-500:]}")
    return float(run.stdout.split()[-1].rstrip("s")), run.stderr


subprocess.run(["make", "-s", "BUILD=" + lib.BUILD, "CS_DEPS_DONE=1", WORK, PING], check=True, stdout=sys.stderr)
worst, detail = None, {}
with tempfile.TemporaryDirectory() as folder:
    for name, command in programs(folder):
        losses = []
        seconds(command)  # warm
        for _ in range(PAIRS):
            shutil.rmtree(folder + "/store", ignore_errors=True)
            alone, _ = seconds(command)
            with_us, said = seconds(command, CYCLESCOPE, "record", "--budget", f"{BUDGET}%", "--bursts", "-o", folder + "/store", "--")
            losses.append(100 * (with_us / alone - 1))
        q = statistics.quantiles(losses, n=4)
        loss, noise = statistics.median(losses), (q[2] - q[0]) / 4
        stopped = " ".join(w for line in said.splitlines() if "bursts," in line for w in line.split()[-4:])
        detail[name] = {"loss": round(loss, 1), "noise": round(noise, 1)}
        print(f"{name:14} {loss:6.1f} % +- {noise:.1f}  ({', '.join(f'{x:.1f}' for x in losses)}); a stop: {stopped}", flush=True)
        if worst is None or loss > worst[0]:
            worst = loss, noise
lib.report("budget-trees", round(worst[0] / BUDGET, 2), f"times the budget of {BUDGET} %", 1, round(worst[1] / BUDGET, 2), detail)
