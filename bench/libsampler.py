# SPDX-License-Identifier: GPL-2.0-or-later
"""What the sampler's benchmarks share: programs to build, CPU time of a process, JSON rows."""
import json, os, subprocess, sys

BUILD = os.path.realpath(os.environ.get("BUILD", "build"))
CYCLESCOPE = os.path.join(BUILD, "cyclescope")
QUICK = "--quick" in sys.argv[1:]


def program(name):
    path = os.path.join(BUILD, "tests/programs", name)
    subprocess.run(["make", "-s", "CS_DEPS_DONE=1", "BUILD=" + os.environ.get("BUILD", "build"),
                    os.path.relpath(path)], check=True, stdout=sys.stderr)
    return path


def row(name, value, unit, target, noise, detail):
    print(json.dumps({"name": name, "value": value, "unit": unit, "target": target, "noise": noise,
                      "detail": detail}))


def cpu_ns(pid):
    """CPU time of all threads of a process, in ns."""
    return sum(int(open(f"/proc/{pid}/task/{t}/schedstat").read().split()[0])
               for t in os.listdir(f"/proc/{pid}/task"))
