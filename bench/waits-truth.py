#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Six programs that log their own waits by the clock: a lock convoy, a file on a slow disk (FUSE), sleeping in a lock, more threads
than CPUs, a pipe stage that is too slow, a priority inversion. The first row of `waits` (of an inversion the first that is no wait for a CPU) has to have the
reason and the place, and name the guilty one: who ended the wait, and what was done meanwhile. Its time, with the wait for a CPU in the same place that
follows, against the log's. Other programs of the machine leave them the CPUs (nice -15). The value is the worst difference, in percent; a case that isn't named first counts as 100."""
import json, os, re, subprocess, sys, tempfile

from lib_ahead import before_others

cyclescope, build = os.environ["CYCLESCOPE"], os.environ["BUILD"]
seconds = "2" if "--quick" in sys.argv else "6"
programs = [f"{build}/tests/programs/waiting", f"{build}/tests/programs/waiting_disk"]
subprocess.run(["make", "-s", f"BUILD={build}", "CS_DEPS_DONE=1", *programs], check=True)
# name: kind, place, who waits, who ended it, what was done meanwhile (patterns)
CASES = {
    "convoy": ("mutex", "take_lock", "waiting", "waiting: compute_under_lock", r"^waiting: "),
    "slow-disk": ("file", "read_a_block", "victim", "slow-disk: ", r"^slow-disk: sleep in turn_the_platter"),
    "sleeping-lock": ("mutex", "take_lock", "victim", "guilty: hold_and_sleep", r"^guilty: sleep in "),
    "run-queue": ("run-queue", None, "waiting", "", r"^waiting: running"),
    "pipe": ("pipe", "consume", "victim", "guilty: produce_slowly", r"^guilty: (running|run-queue) in "),
    # Who waits for the lock, and the lock's holder for the CPU: who computes is to blame for both.
    "inversion": ("mutex", "take_lock", "high", "low: hold_and_compute", r"^middle: running"),
}

def measure(name, work):
    kind, where, thread, ended, meanwhile = CASES[name]
    program = [programs[1], seconds, work] if name == "slow-disk" else [programs[0], name, seconds]
    store = f"{work}/{name}.store"
    run = subprocess.run([cyclescope, "record", "--waits", "--no-bursts", "-o", store, "--", *program], capture_output=True, text=True,
                         preexec_fn=before_others)
    if run.returncode == 77:
        return {"case": name, "skipped": run.stdout.strip()}
    if run.returncode != 0 or "can't be recorded" in run.stderr:
        raise SystemExit(f"{name}: {run.stderr}")
    shown = json.loads(subprocess.run([cyclescope, "waits", "--json", "--top", "0", "--store", store], capture_output=True, text=True, check=True).stdout)
    truth, rows = float(re.search(r"^waited \S+ ([\d.]+)", run.stdout, re.M)[1]), shown["rows"]
    if name == "inversion" and rows[0]["kind"] == "run-queue": # low and middle both wait for the CPU: the same guilty one, or
        rows = rows[1:]                                          # on a busy machine other programs
    first = rows[0]
    named = (first["kind"] == kind and where in (None, first["where"]) and thread in (first["thread"] or "")
             and (first["ended_by"] or "").startswith(ended) and re.search(meanwhile, first["meanwhile"] or "") is not None)
    said = sum(r["seconds"] for r in shown["rows"] if r["kind"] in (kind, "run-queue") and r["where"] == first["where"] and r["image"] == first["image"])
    if kind == "run-queue":
        said = next(t["seconds"] for t in shown["time"] if t["what"] == kind)
    return {"case": name, "named_first": named, "logged_s": round(truth, 4), "said_s": round(said, 4), "off_percent": round(100 * (said / truth - 1), 2),
            "row": {k: first[k] for k in ("seconds", "kind", "where", "thread", "object", "ended_by", "meanwhile")}}

with tempfile.TemporaryDirectory() as work:
    os.mkdir(f"{work}/disk")
    rows = []
    for name in CASES:
        rows.append(measure(name, f"{work}/disk" if name == "slow-disk" else work))
        print(rows[-1], file=sys.stderr)
made = [r for r in rows if "skipped" not in r]
print(json.dumps({"name": "waits-truth", "value": max(abs(r["off_percent"]) if r["named_first"] else 100 for r in made), "unit": "%", "target": 3, "noise": 0,
                  "detail": {"judged": len(made), "of": len(rows), "cases": rows}}))
