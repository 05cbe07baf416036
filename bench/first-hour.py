#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Ten slow programs (bench/hour/), each with a guilty line that its author knows. How many commands lead there: ours, following
the `next:` lines as a user would; perf's, over the ways that its users know. A command counts when its output names the guilty
line (or what the task asks for instead); `record` is one. Never more than perf, and right in all ten: no sentence may name
another line before. --quick: shorter runs. TASKS=a,b: these alone. PERF=0: ours alone. Prints what each command was, with -v what it said."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
CYCLESCOPE = os.environ.get("CYCLESCOPE", os.path.abspath(os.environ.get("BUILD", "build") + "/cyclescope"))
SECONDS = "1.5" if "--quick" in sys.argv else "4"
TOLD = "-v" in sys.argv
RUST = shutil.which("rustc") or (os.path.exists("/root/.cargo/bin/rustc") and "/root/.cargo/bin/rustc")
STEPS_MAX = 5  # then a user gives up
ENVIRONMENT = dict(os.environ, NO_COLOR="1", COLUMNS="120", PATH=os.path.dirname(CYCLESCOPE) + ":" + os.environ["PATH"])


def run(command, folder, seconds=60):
    try:
        p = subprocess.run(command, shell=True, cwd=folder, capture_output=True, text=True, errors="replace", timeout=seconds,
                           env=ENVIRONMENT, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        return "(no answer within a minute)"
    if TOLD:
        print("$ " + command + "\n" + "\n".join((p.stdout + p.stderr).split("\n")[:40]), file=sys.stderr)
    return p.stdout + p.stderr


def guilty(name, mark="GUILTY"):
    for n, text in enumerate(open(f"{HERE}/hour/{name}"), 1):
        if re.search(mark + r"( \*/)?$", text.rstrip()):
            return f"{name}:{n}"
    raise SystemExit(f"{name} has no line marked {mark}")


def named(place):
    """The line as a report writes it; perf's source lines and a JIT's names, too."""
    return re.compile(r"(?<![\w.])" + re.escape(place) + r"(?!\d)")


def listed(name, line):
    """In a listing of source: the guilty row has the greatest share of all rows."""
    def found(text):
        rows = re.findall(r"^ *[\d,]+ +([\d.]+).*? (\d+)  .*$", text, re.M)
        best = max(rows, key=lambda r: float(r[0]), default=None)
        return name in text and best is not None and best[1] == line
    return found


# A task: how to build, what to run, what must be named. `before`: commands that belong to the story, for both alike.
class Task:
    def __init__(self, name, source, command, build=None, place=None, before=(), wanted=None, record="", perf=None, needs=None):
        self.__dict__.update(locals())


def stripped_ranges(folder):
    """Where blur() is, from the program before it was stripped: [from, to)."""
    for line in subprocess.run(["nm", "-S", folder + "/whole"], capture_output=True, text=True).stdout.split("\n"):
        if line.endswith(" blur"):
            start, size = (int(x, 16) for x in line.split()[:2])
            return range(start, start + size)


def in_blur(text, folder):
    """The hottest row is an address within the procedure that has no name any more."""
    rows = re.findall(r"^ *[\d,.]+ ?%? .*?(?:sub_|0x0*)([0-9a-f]{3,16})\b", text, re.M)
    return bool(rows) and int(rows[0], 16) in stripped_ranges(folder)


C = "gcc -O2 -g -o {0} {1}/hour/{0}.c -pthread"
SYMBOLS = "perf record -q --buildid-mmap -o p.data -- {c}; perf report -i p.data --stdio --sort symbol,srcline"
# --buildid-mmap: without it perf 6.1 ends in an assertion of its own on newer kernels
CHAINS = "perf record -q --buildid-mmap --call-graph dwarf,8192 -F 300 -o p.data -- {c}; perf report -i p.data --stdio --children -g none --sort symbol,srcline"
ANNOTATE = "perf record -q --buildid-mmap -o p.data -- {c}; perf report -i p.data --stdio --sort symbol; perf annotate -i p.data --stdio -l"
TASKS = [
    Task("regex compiled for each request (C++)", "router.cc", "./router {s}", "g++ -O2 -g -o router {1}/hour/router.cc", perf=[CHAINS, SYMBOLS]),
    Task("fsync under a lock", "journal.c", "./journal 2 file", C, record="--waits "),
    Task("Python service", "basket.py", "python3 basket.py {s}", "cp {1}/hour/basket.py .", place="price_of"),
    Task("node", "report.js", "node --perf-basic-prof report.js {s}", "cp {1}/hour/report.js .", perf=[
        "perf record -q --buildid-mmap -o p.data -- {c}; perf report -i p.data --stdio --sort symbol"]),
    Task("Rust", "words.rs", "./words {s}", f"{RUST} -O -g -o words {{1}}/hour/words.rs", perf=[SYMBOLS, ANNOTATE, CHAINS]),
    Task("a rebuilt binary: the second recording", "thumbs.c", "./thumbs {s}", C + " -DMENDED", place="GUILTY-MENDED",
         before=["gcc -O2 -g -o thumbs {1}/hour/thumbs.c", "{record}", "gcc -O2 -g -DMENDED -o thumbs {1}/hour/thumbs.c"]),
    Task("a stripped binary", "thumbs.c", "./thumbs {s}", "gcc -O2 -g -o whole {1}/hour/thumbs.c && strip -o thumbs whole", wanted=in_blur,
         perf=["perf record -q --buildid-mmap -o p.data -- {c}; perf report -i p.data --stdio --sort symbol"]),
    Task("threads, one of them hot", "workers.c", "./workers {s}", C, record="--label thread ",
         perf=["perf record -q --buildid-mmap -o p.data -- {c}; perf report -i p.data --stdio --sort comm,symbol,srcline"]),
    Task("slower than the version before", "prices.c", "./prices {s}", "gcc -O2 -g -DBEFORE -o prices {1}/hour/prices.c", wanted=lambda text, _: bool(
        re.search(r"^ *[+-]?[\d.,]+%? .*\bround_all\b", text, re.M)) and "diff" in text[:10],
         before=["{record}", "gcc -O2 -g -o prices {1}/hour/prices.c"],
         perf=["perf record -q --buildid-mmap -o p.data -- {c}; perf diff p.old p.data"]),
    Task("a container's binary", "workers.c", "chroot root /workers {s}", "mkdir -p root/proc && gcc -O2 -g -static -o root/workers {1}/hour/workers.c -pthread"),
]


def follow(task, folder, command):
    """Ours: record, then what each output says to type next. -> (commands, which showed it, what was wrong)."""
    said, steps, seen = f"cyclescope record {task.record}-- {command}", 0, []
    place = task.place if task.place == "price_of" else guilty(task.source, task.place or "GUILTY")
    name, _, line = place.partition(":")
    while said and steps < STEPS_MAX:
        steps += 1
        text = run(said, folder)
        seen.append(said)
        sentence = re.search(r"(?:most of it at|samples are at|begins at|calls it:|with source is [^:]*(?:::[^:]*)*:)\s+([\w./-]+:\d+)"
                             r"(?: \([^)]*\)\s+or\s+([\w./-]+:\d+))?", text)
        said_first = [p.split("/")[-1] for p in sentence.groups() if p] if sentence else []
        if task.wanted:
            if task.wanted("diff" + text if " diff" in said else text, folder):
                return steps, said, ""
        elif named(place).search(text) or (line and "list" in said and listed(name, line)(text)):
            if said_first and place != "price_of" and place not in said_first:
                return steps, said, f"named {said_first[0]} first"
            return steps, said, ""
        elif said_first:
            return None, said, f"named {said_first[0]} instead of {place}"
        following = re.findall(r"^(?:next:|     ) (cyclescope .*?)(?:  +\(.*)?$", text, re.M)
        if "version" in task.name: # what changed is the question
            following.sort(key=lambda hint: not hint.startswith("cyclescope diff"))
        said = following[0] if following and following[0] not in seen else None
    return None, said, "not found: " + "; ".join(seen)


def with_perf(task, folder, command):
    best, how, place = None, "", task.place if task.place == "price_of" else guilty(task.source, task.place or "GUILTY")
    for way in task.perf or [SYMBOLS, ANNOTATE]:
        for n, step in enumerate(way.format(c=command).split("; "), 1):
            text = run(step, folder)
            rows = "\n".join([l for l in text.split("\n") if l.strip() and l[0] != "#"][:30 if "annotate" not in step else None])
            shown = task.wanted("diff" + rows if "diff" in step else rows, folder) if task.wanted else named(place).search(rows)
            if shown and n > 1:
                if best is None or n < best:
                    best, how = n, step
                break
    return best, how


def main():
    rows, chosen = [], os.environ.get("TASKS")
    have_perf = "PERF" not in os.environ and subprocess.run("perf record -q --buildid-mmap -o /dev/null true", shell=True, capture_output=True).returncode == 0
    for task in TASKS:
        if chosen and not any(w in task.name for w in chosen.split(",")):
            continue
        if task.needs:
            rows.append({"task": task.name, "open": f"needs: {task.needs}"})
            continue
        missing = (task.name == "Rust" and not RUST and "no rustc") or (task.name == "node" and not shutil.which("node") and "no node") or \
            ("container" in task.name and os.geteuid() != 0 and "chroot needs root")
        if missing:
            rows.append({"task": task.name, "skipped": missing})
            continue
        folder = tempfile.mkdtemp()
        command = task.command.format(s=SECONDS)

        def prepare(record):
            for step in [task.build] + list(task.before):
                step = step.replace("{record}", record)
                if step:
                    run(step.format(task.source.split(".")[0], HERE), folder)
        prepare(f"cyclescope record {task.record}-- {command}")
        ours, how, wrong = follow(task, folder, command)
        row = {"task": task.name, "ours": ours, "command": how, "wrong": wrong}
        if have_perf:
            prepare(f"perf record -q --buildid-mmap -o p.old -- {command}")
            row["perf"], row["perf_command"] = with_perf(task, folder, command)
        rows.append(row)
        shutil.rmtree(folder, ignore_errors=True)
        print(json.dumps(row), flush=True)
    done = [r for r in rows if "ours" in r]
    for r in rows:
        print(f"  {r['task']:42} " + (f"ours {r['ours'] or '-'}, perf {r.get('perf') or '-'}   {r['command']}   {r['wrong']}" if "ours" in r else r.get("open") or r["skipped"]))
    right = sum(1 for r in done if r["ours"] and not r["wrong"])
    worse = sum(1 for r in done if not r["ours"] or (r.get("perf") and r["ours"] > r["perf"]))
    print(json.dumps({"name": "first-hour", "value": right, "unit": f"of {len(TASKS)} tasks right", "target": 10, "noise": 0, "detail": {
        "worse_than_perf": worse, "wrong": [r["task"] for r in done if r["wrong"]], "open": [r["task"] for r in rows if "open" in r], "skipped": [r["task"] for r in rows if "skipped" in r]}}))


main()
