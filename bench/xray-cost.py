# SPDX-License-Identifier: GPL-2.0-or-later
"""What XRay's sleds cost real programs, built by clang. Value: instructions of programs whose sleds nobody observes, above those
without sleds, exact by callgrind, geometric mean, %. Beside it CPU time, in turns: not observed against no sleds, and with
sleds on against those; the median of the rounds' ratios and its error. For "on" this script holds the observer's lock
(signals/segment.h), without reading: the sleds alone are measured. "brief": without sleds in functions that a profile of the plain
build knows to be over within 200 ns (prof --brief-calls)."""
import fcntl
import math
import os
import shlex
import statistics
import struct
import subprocess
import time

os.environ["CS_PLUGIN_COMPILER"] = "clang"
from lib_plugin_cost import brief_list, by_callgrind
from libsampler import BUILD, QUICK, row

PROGRAMS = os.environ.get("PROGRAMS", "bzip2 lua5.4").split()
ROUNDS = int(os.environ.get("ROUNDS", 3 if QUICK else 11))
LIBRARY = f"{BUILD}/libcyclescope-xray.so.1"
COMMON = ["-gdwarf-4"]
BUILDS = {"none": [], "sleds": ["-fxray-instrument"], "all": ["-fxray-instrument", "-fxray-instruction-threshold=1"]}
BRIEF = ["-fxray-instrument", "-fxray-attr-list={}"]
LOCK = struct.pack("hhqqi", fcntl.F_RDLCK, 0, 0, 0, 0)


def programs(*args):
    return subprocess.run(["bench/programs", *args], check=True, text=True, stdout=subprocess.PIPE,
                          env={**os.environ, "CC": "clang-14"}).stdout.strip()


def never(name):
    """A list for clang of the functions that get no sled; None: a busy machine times no bursts, so the profile knows of none."""
    try:
        names = open(brief_list(name)).read().split()
    except subprocess.CalledProcessError:
        return None
    path = f"{BUILD}/programs/{name}/xray-never"
    open(path, "w").write("[never]\n" + "".join(f"fun:{n}\n" for n in names))
    return path


def segment(pid):
    for _ in range(200):
        for fd in os.listdir(f"/proc/{pid}/fd"):
            try:
                if os.readlink(f"/proc/{pid}/fd/{fd}").startswith("/memfd:cyclescope.1 "):
                    return os.open(f"/proc/{pid}/fd/{fd}", os.O_RDONLY)
            except OSError:
                pass
        time.sleep(0.001)
    raise SystemExit("xray-cost: the program publishes nothing")


def cpu_seconds(command, state):
    env = {**os.environ, **({"LD_PRELOAD": LIBRARY} if state != "none" else {})}
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=env)
    lock = None
    if state == "on":
        lock = segment(process.pid)
        fcntl.fcntl(lock, fcntl.F_OFD_SETLK, LOCK)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = status
    if lock is not None:
        os.close(lock)
    if status:
        raise SystemExit(f"xray-cost: {command[0]} failed")
    return used.ru_utime + used.ru_stime


more, detail = [], {}
for name in PROGRAMS:
    commands = {}
    for label, flags in BUILDS.items():
        programs("build", name, f"clang-xray-{label}", *COMMON, *flags)
        commands[label] = shlex.split(programs("command", name, f"clang-xray-{label}", "full"))
    exact = {}
    for label in BUILDS:
        exe, *arguments = shlex.split(programs("command", name, f"clang-xray-{label}", "small"))
        exact[label] = by_callgrind(exe, arguments, tagged=False)["instructions"]
    more.append(exact["sleds"] / exact["none"])
    if (listed := never(name)):
        programs("build", name, "clang-xray-brief", *COMMON, *(flag.format(listed) for flag in BRIEF))
        exe, *arguments = shlex.split(programs("command", name, "clang-xray-brief", "small"))
        detail[name + ", without brief functions"] = {"instructions": round(100 * by_callgrind(exe, arguments, tagged=False)["instructions"] / exact["none"] - 100, 2)}
    for built in ("sleds", "all"):
        ratios = {"off": [], "on": []}
        for _ in range(ROUNDS):
            spent = {state: cpu_seconds(commands["none" if state == "none" else built], state) for state in ("none", "off", "on")}
            ratios["off"].append(spent["off"] / spent["none"] * 100 - 100)
            ratios["on"].append(spent["on"] / spent["off"] * 100 - 100)
        middle = {k: statistics.median(v) for k, v in ratios.items()}
        spread = {k: statistics.stdev(v) / math.sqrt(len(v)) for k, v in ratios.items()}
        what = name + (", functions of clang's choice" if built == "sleds" else ", every function")
        counted = (exact[built] / exact["none"] - 1) * 100
        print(f"{what}: {counted:+.2f} % instructions; time not observed {middle['off']:+.1f} ± {spread['off']:.1f} % above no sleds; observed {middle['on']:+.1f} ± {spread['on']:.1f} % above that")
        detail[what] = {"instructions": round(counted, 2), **{k: [round(middle[k], 2), round(spread[k], 2)] for k in middle}}
value = (math.exp(statistics.mean(map(math.log, more))) - 1) * 100
row("xray-cost", round(value, 2), "%", 1.0, 0.0, detail)
