# SPDX-License-Identifier: GPL-2.0-or-later
"""What `record --budget 3% --bursts` costs the program that it follows: everything together, of a budget of 3 %.

Whole runs with and without it tell nothing: on a virtual machine the same run takes 10 % more or less. So a program notes when
each of its pieces is done, and two parts are measured within one run. *Bursts*: the recorder is stopped (SIGSTOP; the program
isn't) every other half second, and what was done in one slice is compared with the mean of the slices before and behind it.
That has all that bursts do to the program, later and beside it: caches, the runner's work on the other CPU. *Interrupts* of
samples and of moments go on in a recorder that is stopped: their part is the share of gaps of 5 to 100 us in the program's
time before the slices begin, away from bursts, beyond that of a run that nobody looks at.

The value is the program's with the highest sum; the noise is 1.65 standard errors (90 %)."""
import array, bisect, os, signal, statistics, subprocess, sys, tempfile, time
import lib_bursts as lib

CYCLESCOPE = os.environ.get("CYCLESCOPE", lib.BUILD + "/cyclescope")
PIECES = lib.BUILD + "/bench/_burst_loss"
BUDGET = 3
SLICE_NS = 500_000_000
WARM_S, WHOLE_S, SLICES = 3, 4 if lib.QUICK else 12, 12 if lib.QUICK else 80
KILOBYTES = [16, 1024]
GAP_NS, HELD_NS, NEAR_NS = 5000, 100_000, 2_000_000


def read(path):
    times = array.array("Q")
    with open(path, "rb") as f:
        times.frombytes(f.read())
    return times


def gaps(times, begin, end):
    """Share of the time lost in gaps of some microseconds, pieces beside longer ones (held threads) left out."""
    first, last = bisect.bisect_left(times, begin), bisect.bisect_left(times, end) - 1
    took = [times[i + 1] - times[i] for i in range(first, last)]
    piece = statistics.median(took)
    held = [times[first + i] for i, t in enumerate(took) if t > piece + HELD_NS]
    lost = seen = 0
    for i, t in enumerate(took):
        k = bisect.bisect_left(held, times[first + i])
        if any(abs(h - times[first + i]) < NEAR_NS for h in held[max(k - 1, 0):k + 1]):
            continue
        seen += t
        lost += t - piece if t > piece + GAP_NS else 0
    return lost / seen


def done(times, at):
    i = bisect.bisect_left(times, at)
    return i - 1 + (at - times[i - 1]) / (times[i] - times[i - 1])


def mean(values):
    return statistics.fmean(values), 1.65 * statistics.stdev(values) / len(values) ** 0.5


def measure(kilobytes, folder):
    """Per cent lost to bursts, its noise, per cent lost to interrupts."""
    log, store = folder + "/log", folder + "/store"
    subprocess.run([PIECES, log, "4", str(kilobytes)], check=True)
    alone = read(log)
    plain = gaps(alone, alone[0] + 10**9, alone[-1])
    seconds = WARM_S + WHOLE_S + SLICES * SLICE_NS / 1e9 + 2
    subprocess.run(["rm", "-rf", store, log], check=True)
    recorder = subprocess.Popen([CYCLESCOPE, "record", "-v", "--budget", f"{BUDGET}%", "--bursts", "-o", store, "--",
                                 PIECES, log, str(seconds), str(kilobytes)], stderr=subprocess.PIPE, text=True)
    while not os.path.exists(log) and recorder.poll() is None:  # it makes the file when it has its memory
        time.sleep(0.01)
    time.sleep(WARM_S)
    whole = time.monotonic_ns()
    time.sleep(WHOLE_S)
    begin = time.monotonic_ns()
    for k in range(SLICES):  # even ones with the recorder at work
        left = begin + (k + 1) * SLICE_NS - time.monotonic_ns()
        time.sleep(max(left, 0) / 1e9)
        recorder.send_signal(signal.SIGSTOP if k % 2 == 0 else signal.SIGCONT)
    recorder.send_signal(signal.SIGCONT)
    said = recorder.communicate()[1]
    if recorder.returncode:
        sys.exit(said)
    times = read(log)
    work = [done(times, begin + (k + 1) * SLICE_NS) - done(times, begin + k * SLICE_NS) for k in range(SLICES)]
    bursts = [100 * (1 - work[k] / ((work[k - 1] + work[k + 1]) / 2)) for k in range(2, SLICES - 1, 2)]
    return *mean(bursts), 100 * (gaps(times, whole, begin) - plain), said


subprocess.run(["make", "-s", "BUILD=" + lib.BUILD, "CS_DEPS_DONE=1", PIECES], check=True, stdout=sys.stderr)
worst, detail = None, {}
with tempfile.TemporaryDirectory() as folder:
    for kilobytes in KILOBYTES:
        bursts, noise, interrupts, said = measure(kilobytes, folder)
        detail[f"{kilobytes} KB"] = {"bursts": round(bursts, 2), "noise": round(noise, 2), "interrupts": round(interrupts, 2)}
        print(f"{kilobytes} KB: {bursts:.2f} +- {noise:.2f} % to bursts, {interrupts:.2f} % to interrupts; "
              + " ".join(line for line in said.splitlines() if "bursts," in line))
        if worst is None or bursts + interrupts > worst[0]:
            worst = bursts + interrupts, noise
lib.report("burst-loss", round(worst[0], 2), f"% of the program's time at a budget of {BUDGET} %", BUDGET, round(worst[1], 2), detail)
