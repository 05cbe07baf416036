#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Changes that `diff` calls real between a binary and itself, per 100 comparisons, and whether it finds a planted change. Runs of one
program are recorded in turn with runs of another; each comparison takes five runs a side at random. The planted change is 3 % more
work in a function that has 5 % of the time: DIFF_PLANTED_SECONDS of CPU time a run give it the samples to see that by, and the two
programs run at the same time, on CPUs that change from run to run."""
import json, os, random, shutil, subprocess, sys, tempfile

cyclescope, build = os.environ["CYCLESCOPE"], os.environ["BUILD"]
quick = "--quick" in sys.argv
RUNS, COMPARISONS, A_SIDE = (12, 60, 4) if quick else (30, 1000, 5)
RUNS = int(os.environ.get("DIFF_RUNS", RUNS))
seconds, rate = float(os.environ.get("DIFF_SECONDS", "1" if quick else "4")), os.environ.get("DIFF_RATE", "4000")
planted_seconds, planted_rate = os.environ.get("DIFF_PLANTED_SECONDS", "1" if quick else "40"), os.environ.get("DIFF_PLANTED_RATE", "8000")
random.seed(1)
work = tempfile.mkdtemp()
planted = os.path.abspath(f"{build}/bench/_planted")
subprocess.run(["make", "-s", "CS_DEPS_DONE=1", f"BUILD={build}", f"{build}/bench/_planted"], check=True)
with open(f"{work}/text", "w") as f:
    f.writelines(f"{random.random()} {random.randrange(10**6)} some words of a line\n" for _ in range(60000))

programs = {
    "same": [planted, str(seconds), "1000"],
    "sort": ["sh", "-c", f"for i in 1 2 3 4; do sort -k2n {work}/text | gzip -5 | sha1sum; done"],
    "python": ["python3", "-c", "import json, re; d = {i: str(i * i) for i in range(40000)}\nfor _ in range(6): s = json.dumps(d); json.loads(s); re.findall('[0-9]+5', s)"],
}


def record(name, run, rate, command, cpu=None):
    pinned = [] if cpu is None else ["taskset", "-c", str(cpu)]
    return subprocess.Popen([*pinned, cyclescope, "record", "--no-bursts", "--no-chains", "-F", rate, "-o", f"{work}/all.{name}.{run}", "--", *command],
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


cpus = sorted(os.sched_getaffinity(0))[:2]
for run in range(RUNS):
    for name, command in programs.items():
        record(name, run, rate, command).wait()
    for recorder in [record(name, run, planted_rate, [planted, planted_seconds, per_mille], cpus[(run + i) % len(cpus)])
                     for i, (name, per_mille) in enumerate((("before", "1000"), ("more", "1030")))]:
        recorder.wait()


def side(name, runs, to):
    shutil.rmtree(to, ignore_errors=True)
    os.makedirs(to)
    for run in runs:
        store = f"{work}/all.{name}.{run}"
        for entry in os.listdir(store):
            target = f"{to}/{entry}-{run}" if os.path.isdir(f"{store}/{entry}") and not entry.startswith(".") else f"{to}/{entry}"
            if not os.path.exists(target):
                subprocess.run(["cp", "-al", f"{store}/{entry}", target], check=True)
    return to


def compare(a, b):
    first = random.sample(range(RUNS), A_SIDE)
    second = random.sample([r for r in range(RUNS) if a != b or r not in first], A_SIDE)
    said = subprocess.run([cyclescope, "diff", side(a, first, f"{work}/A"), side(b, second, f"{work}/B"), "--json", "--all", "--top", "0"],
                          capture_output=True, text=True)
    if said.returncode:
        sys.exit(f"diff: {said.stderr}")
    return json.loads(said.stdout)["rows"]


false, comparisons, examples = 0, 0, {}
for name in ("same", "sort", "python"):
    for _ in range(COMPARISONS // 3):
        real = [r for r in compare(name, name) if r["significant"] in ("yes", True)]
        false += len(real)
        comparisons += 1
        for r in real:
            examples[f'{name}: {r["procedure"]}'] = examples.get(f'{name}: {r["procedure"]}', 0) + 1
found = others = 0
trials = 20 if quick else 100
for _ in range(trials):
    real = [r["procedure"] for r in compare("before", "more") if r["significant"] in ("yes", True)]
    found += "five_percent" in real
    others += len([r for r in real if r != "five_percent"])
shutil.rmtree(work)
value = 100 * false / comparisons
print(json.dumps({"name": "diff-false", "value": round(value, 2), "unit": "changes called real per 100 comparisons of a binary with itself", "target": 1,
                  "noise": round(100 * max(false, 1) ** 0.5 / comparisons, 2),
                  "detail": {"comparisons": comparisons, "examples": examples, "runs_a_side": A_SIDE, "planted_found_percent": round(100 * found / trials, 1),
                             "planted_target": 90, "planted_seconds": float(planted_seconds), "planted_rate": int(planted_rate), "others_called_real_beside_it": others}}))
