#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What got slower since another revision.

usage: bench/_compare.py BASE [--quick]        (make bench-compare BASE=REV)

Builds BASE beside this tree and gives both the same inputs. What only computes is compared by instructions, counted
by callgrind: exact, so a difference of 2 % is a finding. What meets the kernel is compared by paired ratios of
alternating runs; there a difference counts only if the 90 % interval of its median lies above 1. Inputs are made
by this tree's build. Exit 1 if something got slower."""
import json, os, random, re, shutil, statistics, subprocess, sys

os.chdir(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("BUILD", "build")
QUICK = "--quick" in sys.argv
SLOWER = 1.02


def sh(*command, **options):
    return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, **options).stdout


def build_base(revision):
    commit = sh("git", "rev-parse", "--verify", revision + "^{commit}").strip()
    tree = f"{BUILD}/compare/{commit[:12]}"
    if not os.path.exists(tree + "/Makefile"):
        os.makedirs(tree, exist_ok=True)
        archive = subprocess.Popen(["git", "archive", commit], stdout=subprocess.PIPE)
        subprocess.run(["tar", "-x", "-C", tree], stdin=archive.stdout, check=True)
    subprocess.run(["make", "-s", "-C", tree, "CS_DEPS_DONE=1", "BUILD=build", "all"], check=True, stdout=subprocess.DEVNULL)
    return commit, os.path.abspath(tree + "/build/cyclescope")


def work(at, text="/text"):
    return ["sh", "-c", "exec xz -T1 -k -c \"$0\" >/dev/null", at + text]


def make_inputs(cyclescope):
    """A recording to import, a store with samples and bursts of a real program, and a log of samples."""
    at = os.path.abspath(f"{BUILD}/compare/inputs")
    shutil.rmtree(at, ignore_errors=True)
    os.makedirs(at)
    filler = f"{BUILD}/tests/programs/perfdata_filler"
    sh("make", "-s", "CS_DEPS_DONE=1", f"BUILD={BUILD}", filler)
    sh(filler, "100000" if QUICK else "400000", "50", at + "/perf.data", stderr=subprocess.DEVNULL)
    sh(cyclescope, "import", "-o", at + "/imported", at + "/perf.data")
    random.seed(1)
    for name, lines in (("/text", 300000), ("/short", 80000)):
        with open(at + name, "w") as f:
            f.writelines(f"{random.randrange(10**9)}\n" for _ in range(lines))
    sh(cyclescope, "record", "-o", at + "/recorded", "--", *work(at), stderr=subprocess.DEVNULL)
    sh(cyclescope, "observe", "-t", "2", "--period", "4000", "-s", "phase,work", "--log", at + "/log", "--",
       f"{BUILD}/signals/examples/phases", stderr=subprocess.DEVNULL)
    rows = json.loads(sh(cyclescope, "prof", "--json", "--store", at + "/recorded"))["rows"]
    hot = next(r["procedure"] for r in rows if ".ko" not in r.get("image", "") and "kernel" not in r.get("image", "kernel"))
    return at, hot


def instructions(command, scratch):
    """Of the command's second run: what the first one keeps for the next is there."""
    os.environ["CYCLESCOPE_CACHE"] = scratch + ".cache"
    shutil.rmtree(scratch, ignore_errors=True)
    shutil.rmtree(scratch + ".cache", ignore_errors=True)
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
    shutil.rmtree(scratch, ignore_errors=True)
    done = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", *command],
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL)
    found = re.search(r"Collected : (\d+)", done.stderr)
    return int(found.group(1)) if done.returncode == 0 and found else None


def computing(at, hot):
    scratch = at + "/scratch"
    return scratch, [
        ("import of perf.data", ["import", "-o", scratch, at + "/perf.data"]),
        ("prof", ["prof", "--store", at + "/imported"]),
        ("prof --by line", ["prof", "--by", "line", "--store", at + "/recorded"]),
        ("store verify", ["store", "verify", at + "/imported"]),
        ("cfg", ["cfg", "--store", at + "/recorded", hot]),
        ("edges", ["edges", "--store", at + "/recorded", hot]),
        ("list", ["list", "--store", at + "/recorded", hot]),
        ("export --format pprof", ["export", "--format", "pprof", "--store", at + "/recorded", "--to", scratch + ".pprof"]),
        ("hist", ["hist", "--log", at + "/log"]),
        ("tags", ["tags", "--log", at + "/log"]),
    ]


def sampling_seconds(cyclescope, at):
    """CPU time of a fixed work and of its being sampled."""
    before = os.times()
    sh(cyclescope, "record", "--no-bursts", "-F", "4000", "-o", at + "/scratch", "--", *work(at, "/short"), stderr=subprocess.DEVNULL)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def sample_cycles(cyclescope, at):
    run = json.loads(sh(cyclescope, "observe", "--json", "-t", "1", "--no-follow", "-s", "phase,work", "--",
                        f"{BUILD}/signals/examples/phases", stderr=subprocess.DEVNULL))
    return run["mean_period_cycles"]


def paired(measure, base, head, at, rounds):
    ratios = []
    for i in range(rounds):
        pair = [(head, measure(head, at)), (base, measure(base, at))] if i % 2 else [(base, measure(base, at)), (head, measure(head, at))]
        times = dict(pair)
        ratios.append(times[head] / times[base])
    draws = sorted(statistics.median(random.choices(ratios, k=len(ratios))) for _ in range(1000))
    return statistics.median(ratios), draws[50], draws[949]


def main():
    names = [a for a in sys.argv[1:] if not a.startswith("-")]
    if len(names) != 1:
        sys.exit("usage: make bench-compare BASE=REVISION (for example BASE=HEAD~10)")
    head = os.path.abspath(f"{BUILD}/cyclescope")
    try:
        commit, base = build_base(names[0])
    except subprocess.CalledProcessError as failed:
        sys.exit(f"bench-compare: {names[0]} can't be built here: {' '.join(failed.cmd[:4])} failed")
    at, hot = make_inputs(head)
    print(f"this tree against {commit[:12]}; procedure {hot}\n")
    print(f"{'what only computes':24} {'base':>14} {'now':>14} {'ratio':>7}   instructions, exact")
    slower = []
    scratch, commands = computing(at, hot)
    for what, arguments in commands:
        was, now = (instructions([c, *arguments], scratch) for c in (base, head))
        if was is None or now is None:
            print(f"{what:24} {was or 'fails':>14} {now or 'fails':>14}")
            continue
        if now > SLOWER * was:
            slower.append(what)
        print(f"{what:24} {was:14,} {now:14,} {now / was:7.3f}{'   slower' if now > SLOWER * was else ''}", flush=True)
    print(f"\n{'what meets the machine':24} {'median':>8} {'90 % interval':>16}   ratio of alternating runs")
    for what, measure in (("sampling, CPU time", sampling_seconds), ("observer, cycles a sample", sample_cycles)):
        median, low, high = paired(measure, base, head, at, 4 if QUICK else 12)
        if low > 1:
            slower.append(what)
        print(f"{what:24} {median:8.3f} {low:7.3f} to {high:5.3f}{'   slower' if low > 1 else ''}", flush=True)
    print("\nslower: " + ", ".join(slower) if slower else "\nnothing got slower")
    sys.exit(1 if slower else 0)


main()
