# SPDX-License-Identifier: GPL-2.0-or-later
"""The loss at budgets of 0.2, 0.5, 1 and 3 %, measured from outside by programs that add up the gaps of 1 to 100 us in
their own time, plus the sampler's CPU time over all CPUs: on a busy machine (a program on every CPU) and a nearly idle
one (5 ms of work in 100). Value: the worst loss over its budget. Noise: the largest difference of two measurements
without the sampler, halved, over the smallest budget. `slower`: the work done in a second of its time, by itself."""
import json, os, shutil, subprocess, sys, tempfile, time
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import libsampler as lib

METER = lib.program("gap_meter")
SECONDS = 2.5 if lib.QUICK else 5


def measure(idle):
    """(lost share, steps a second of work) over all CPUs."""
    extra = ["5", "95"] if idle else []
    runs = [subprocess.Popen([METER, str(c), str(SECONDS)] + extra, stdout=subprocess.PIPE, text=True)
            for c in range(os.cpu_count())]
    got = [list(map(int, p.communicate()[0].split())) for p in runs]
    ran, lost, steps = (sum(g[i] for g in got) for i in range(3))
    return 100 * lost / ran, steps / (ran * 1e-9)


detail = {}
worst = 0
differences = []
for idle in (False, True):
    for percent in (0.2, 0.5, 1, 3):
        work = tempfile.mkdtemp()
        before = measure(idle)
        p = subprocess.Popen([lib.CYCLESCOPE, "record", "-a", "--budget", str(percent), "-o", work + "/s", "--json"],
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        time.sleep(2.5)
        cpu = lib.cpu_ns(p.pid)
        on = measure(idle)
        collector = 100 * (lib.cpu_ns(p.pid) - cpu) * 1e-9 / SECONDS / os.cpu_count()
        p.send_signal(2)
        d = json.loads(p.communicate()[0])
        after = measure(idle)
        shutil.rmtree(work)
        loss = on[0] - (before[0] + after[0]) / 2 + collector
        differences.append(abs(before[0] - after[0]) / 2)
        worst = max(worst, loss / percent)
        detail[f"{'idle' if idle else 'busy'}, {percent} %"] = {
            "loss_percent": round(loss, 3), "collector_percent": round(collector, 3), "rate_hz": round(d["rate_hz"]), "cost_us": round(d["sample_cost_us"], 1),
            "said_percent": round(100 * d["loss"], 3), "without_percent": round((before[0] + after[0]) / 2, 3),
            "slower_percent": round(100 * (1 - on[1] / ((before[1] + after[1]) / 2)), 2)}
lib.row("sampler-budget", round(worst, 2), "worst loss over its budget", "at most 1",
        round(max(differences) / 0.2, 2), detail)
