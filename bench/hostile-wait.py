# SPDX-License-Identifier: GPL-2.0-or-later
"""hostile-wait: how long anybody waits for memory and files that are never served (tests/integration/unanswered.sh): the longest
time that a target stands (promised: 0.1 s), that a status isn't answered (0.5 s), that a stop isn't heard (1 s), over all rounds.
The value is the worst of the three, in multiples of what is promised. What a target waits for a CPU isn't counted.
--quick: one round."""
import os, re, subprocess, sys
import lib_bursts as lib

PROMISED = {"target": 0.1, "status": 0.5, "stop": 1.0}
ROUNDS = 1 if lib.QUICK else 5
build = os.path.realpath(lib.BUILD)
subprocess.run(["make", "-s", "BUILD=" + lib.BUILD, "CS_DEPS_DONE=1", lib.BUILD + "/tests/hostile/silent"], check=True, stdout=sys.stderr)
worst = dict.fromkeys(PROMISED, 0.0)
for turn in range(ROUNDS):
    run = subprocess.run(["tests/integration/unanswered.sh"], capture_output=True, text=True,
                         env={**os.environ, "BUILD": build, "CYCLESCOPE": build + "/cyclescope", "CS_UNANSWERED_SECONDS": "4" if lib.QUICK else "8"})
    found = re.search(r"^waits ([\d.]+) ([\d.]+) ([\d.]+)", run.stdout, re.M)
    if not found:
        sys.exit(f"nothing was measured (exit {run.returncode}): {(run.stdout + run.stderr)[-500:]}")
    for name, text in zip(PROMISED, found.groups()):
        worst[name] = max(worst[name], float(text))
    print(f"round {turn + 1}: " + ", ".join(f"{name} {text} s" for name, text in zip(PROMISED, found.groups())))
lib.report("hostile-wait", round(max(worst[n] / PROMISED[n] for n in PROMISED), 2), "times promised", 1, 0.3,
           {f"{n}_s": round(worst[n], 3) for n in PROMISED})
