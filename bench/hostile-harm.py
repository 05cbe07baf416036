# SPDX-License-Identifier: GPL-2.0-or-later
"""hostile-harm: programs harmed by us, over all that tries: the hostile programs under daemon, record and observe, a program that
takes its replayer over, programs that look for bursts, chaos (our processes are killed, stopped and frozen), and real programs
under bursts at five times the budget. A program is harmed that ends otherwise than alone, prints another result, or stays
stopped. Target: 0. The value is what these tests say; --quick: their short forms."""
import os, re, subprocess, sys
import lib_bursts as lib

ROUNDS, SECONDS = (12, 2) if lib.QUICK else (300, 20)
env = {**os.environ, "BUILD": os.path.realpath(lib.BUILD), "CYCLESCOPE": os.path.realpath(lib.BUILD) + "/cyclescope",
       **({"CS_QUICK": "1", "REAL_WITHIN": "40"} if lib.QUICK else {})}
TESTS = {  # command -> what a line of harm looks like in what it prints
    "hostile_storms": (["tests/integration/hostile_storms.sh"], r"^not ok: target"),
    "burst_takeover": (["tests/integration/burst_takeover.sh"], r"^not ok"),
    "burst": (["tests/integration/burst.sh"], r"^not ok: (noticed|calls|the target noticed)|^not ok: .*(harmed|died)"),
    "observe_affinity": (["tests/integration/observe_affinity.sh"], r"^not ok"),
    "chaos": (["tests/chaos", str(ROUNDS)], r"^not ok: (harmed|stopped)"),
    "real": (["tests/real/run", str(SECONDS)], r"^FAILED"),
}
programs = subprocess.run(["sh", "-c", "ls tests/programs/*.c tests/hostile/*.c"], capture_output=True, text=True).stdout.split()
subprocess.run(["make", "-s", "BUILD=" + lib.BUILD, "CS_DEPS_DONE=1", *(f"{lib.BUILD}/{p[:-2]}" for p in programs)], check=True, stdout=sys.stderr)
harmed, ran, detail = 0, 0, {}
for name, (command, pattern) in TESTS.items():
    run = subprocess.run(command, capture_output=True, text=True, env=env, stdin=subprocess.DEVNULL)
    said = run.stdout + run.stderr
    found = re.findall(pattern, said, re.M)
    harmed += len(found)
    ran += run.returncode != 77
    detail[name] = "skipped" if run.returncode == 77 else len(found)
    print(f"{name}: exit {run.returncode}, {len(found)} harmed")
    if run.returncode not in (0, 77):
        print("\n".join(line for line in said.splitlines() if re.match("not ok|FAILED", line))[-1500:])
if not ran:
    sys.exit("nothing ran")
lib.report("hostile-harm", harmed, "programs", 0, 0, detail)
