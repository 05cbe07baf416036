# SPDX-License-Identifier: GPL-2.0-or-later
"""How well a place's rate is timed: a program of seven phases knows how much CPU time each took, and callgrind how many
instructions it ran. Beside that stands the mean of the stretches (`burst-paces`) that lie in each phase, of one recording: bursts
begin in proportion to time, so their rates' mean is instructions over time.

The value is how far the phases lie apart, the highest of rate timed / rate of its own over the lowest: that is what makes one part
of a program too frequent beside another. Its noise is what drawing the stretches anew makes of it (90 %)."""
import glob, os, random, re, statistics, subprocess, sys, tempfile
import lib_bursts as lib

CYCLESCOPE = os.environ.get("CYCLESCOPE", lib.BUILD + "/cyclescope")
PROGRAM = lib.BUILD + "/bench/_burst_pace"
COUNTED = 3
SECONDS = 20 if lib.QUICK else 120


def instructions(folder):
    """Of each phase, a round."""
    out = folder + "/callgrind"
    subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=" + out, PROGRAM, str(COUNTED)],
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    said = subprocess.run(["callgrind_annotate", "--threshold=100", out], check=True, capture_output=True, text=True).stdout
    return {name: int(n.replace(",", "")) / COUNTED for n, name in re.findall(r"^ *([\d,]+) \(.*:(phase_\w+) ", said, re.M)}


def symbols():
    said = subprocess.run(["nm", "-S", PROGRAM], check=True, capture_output=True, text=True).stdout
    return {name: range(int(at, 16), int(at, 16) + int(size, 16))
            for at, size, name in re.findall(r"^(\w+) (\w+) t (phase_\w+)$", said, re.M)}


def stretches(store, where):
    """Instructions a ns, by phase."""
    rates = {name: [] for name in where}
    for path in glob.glob(store + "/*/*/burst-paces*"):
        said = subprocess.run([CYCLESCOPE, "store", "dump", path], check=True, capture_output=True, text=True).stdout
        for line in said.splitlines()[1:]:
            offset, _, after, ns, n = line.split()
            for name, at in where.items():
                if int(offset, 16) in at and int(after, 16):
                    rates[name].append(int(n.replace(",", "")) / int(ns.replace(",", "")))
    return rates


def apart(ratios):
    return max(ratios) / min(ratios)


subprocess.run(["make", "-s", "BUILD=" + lib.BUILD, "CS_DEPS_DONE=1", PROGRAM], check=True, stdout=sys.stderr)
with tempfile.TemporaryDirectory() as folder:
    counted, where = instructions(folder), symbols()
    took = dict(line.split() for line in subprocess.run([PROGRAM, "20"], check=True, capture_output=True, text=True).stdout.splitlines())
    rounds = int(SECONDS * 20 / sum(map(float, took.values())))
    recorded = subprocess.run([CYCLESCOPE, "record", "--bursts", "--budget", "3%", "-o", folder + "/store", "--", PROGRAM, str(rounds)],
                              capture_output=True, text=True)
    if recorded.returncode:
        sys.exit(recorded.stderr)
    own = {name: counted[name] * rounds / 1e9 / float(s) for name, s in (line.split() for line in recorded.stdout.splitlines())}
    timed = {name: rates for name, rates in stretches(folder + "/store", where).items() if len(rates) >= 5}
detail = {}
for name, rates in timed.items():
    mean, error = statistics.fmean(rates), statistics.stdev(rates) / len(rates) ** 0.5
    detail[name] = {"own": round(own[name], 3), "timed": round(mean, 3), "error": round(error, 3), "stretches": len(rates)}
    print(f"{name[6:]:12} {own[name]:6.2f} instructions a ns by its own clock, {mean:6.2f} +- {error:.2f} timed ({len(rates)} stretches): {mean / own[name]:.2f}")
if len(timed) < 2:
    print("too few bursts could be timed: " + recorded.stderr.strip())
    lib.report("burst-pace", None, "ratio", 1.1, None, detail)
    sys.exit()
value = apart([statistics.fmean(rates) / own[name] for name, rates in timed.items()])
again = [apart([statistics.fmean(random.choices(rates, k=len(rates))) / own[name] for name, rates in timed.items()]) for _ in range(400)]
lib.report("burst-pace", round(value, 3), "ratio", 1.1, round(1.65 * statistics.pstdev(again), 3), detail)
