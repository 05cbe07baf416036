#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A real runtime as a client: Debian's Lua 5.4, with signals/examples/lua5.4.patch. What the observer says of the time of each
instruction and of each function, against the interpreter's own account of the same run: a build of it (bench/workloads/lua_clock.h)
counts the executions of each instruction and reads the clock before each store of a tag. The value is the largest difference of shares,
in points of the time that it had a CPU. That build is slowed down by its clock; so the interpreter without one is observed, too, and
sampled at once, which unwinds its frames and needs no tag: the largest difference by function, and what that many samples may be off by.
Callgrind's instructions can't be the weights: a store that misses the caches is one instruction.
Beside it: what the tags cost (least CPU time of runs in turn), the instructions that take most time, and what the change that they led to
saves (bench/workloads/lua.lua: its sieve fills a table from the middle, so that each store of it goes through the hash part)."""
import collections, json, math, os, re, subprocess, sys, tempfile, time
from lib_lua import TOP, build, fetch, run

TOOL = os.environ["CYCLESCOPE"]
TURNS = 3 if "--quick" in sys.argv else 11
SLOW = "local composite, count = {}, 0"
MENDED = SLOW + "\n  for i = 1, limit do composite[i] = false end"


def cpu_seconds(*words):
    run = subprocess.Popen(words, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(run.pid, 0)
    assert status == 0, words
    return usage.ru_utime + usage.ru_stime


def shares(parts):
    """In %, without the script that waits and calls the others."""
    parts = {name: n for name, n in parts.items() if not name.startswith("again.lua")}
    whole = sum(parts.values())
    return {name: 100 * n / whole for name, n in parts.items()}


def base(name):
    return re.sub(r".*/", "", name)


def seen(log, tag):
    """Cycles by name, of the time in which the program ran."""
    said = json.loads(run(TOOL, "tags", "--log", log, "--tag", tag, "--json", "-n", "0"))
    cycles = collections.Counter()
    for row in said.get("tags") or said["tags2"]:
        if row["name"] and not row["name"].startswith("("):
            cycles[base(row["name"])] += row["cycles"]
    return shares(cycles)


OBSERVE = ("observe", "-s", "function,opcode", "--period", "20000", "--jitter", "20000", "--log")


def by_its_clock(lua, script, log, path):
    """The interpreter's own account of one observed run: shares by instruction and by function; executions."""
    run(TOOL, *OBSERVE, log, "--", lua, script, env={**os.environ, "LUA_CLOCK": path})
    cycles, count = {"opcode": collections.Counter(), "function": collections.Counter()}, {}
    for kind, *words in map(str.split, open(path)):
        if kind in cycles:
            cycles[kind][base(words[0])] += int(words[2])
            count[words[0]] = int(words[1])
    return {kind: shares(of) for kind, of in cycles.items()}, count


def at_once(lua, script, log, store):
    """One run, observed and sampled: the sampler's shares by function, and how many samples they are of."""
    program = subprocess.Popen([lua, script], stdout=subprocess.DEVNULL, env={**os.environ, "LUA_GO": store + ".go"})
    time.sleep(0.2)
    watching = [subprocess.Popen([TOOL, *words, "-p", str(program.pid)], stdout=subprocess.DEVNULL)
                for words in (("record", "--no-bursts", "-F", "4000", "-o", store), (*OBSERVE, log))]
    time.sleep(5)  # both are there when it begins
    open(store + ".go", "w").close()
    assert not program.wait() and not any(w.wait() for w in watching)
    samples = collections.Counter()
    for line in run(TOOL, "export", "--store", store, "--format", "folded").splitlines():
        frames, n = line.rsplit(" ", 1)
        within = re.findall(r"\((?:[^;()]*/)?([\w.]+\.lua(?::\d+)?)\)", frames)
        if within:
            samples[within[-1] if ":" in within[-1] else within[-1] + ":0"] += int(n)
    return shares(samples), sum(samples.values())


def worst(ours, truth):
    return round(max(abs(ours.get(name, 0) - truth[name]) for name in truth), 2)


def beside(ours, truth, least):
    return {name: (round(ours.get(name, 0), 2), round(truth[name], 2)) for name in sorted(truth, key=truth.get, reverse=True)
            if truth[name] >= least}


fetch()
with tempfile.TemporaryDirectory() as work:
    plain, tagged, timed = build(work, "plain", patched=False), build(work, "tagged"), build(work, "timed", clock=True)
    workload = open(f"{TOP}/bench/workloads/lua.lua").read()
    assert SLOW in workload
    for name, text in ("slow", workload), ("mended", workload.replace(SLOW, MENDED)):
        open(f"{work}/{name}.lua", "w").write(text)
    again = f"{work}/again.lua"
    open(again, "w").write(f"local go = os.getenv('LUA_GO')\nwhile go and not io.open(go) do end\narg = {{'full'}}\nlocal run = loadfile('{work}/slow.lua')\nfor _ = 1, 6 do run() end\n")
    assert run(plain, f"{work}/slow.lua", "full") == run(plain, f"{work}/mended.lua", "full")
    log = f"{work}/log"
    own, executions = by_its_clock(timed, again, log, f"{work}/truth")
    ours = {tag: seen(log, tag) for tag in own}
    sampled, samples = at_once(tagged, again, log, f"{work}/store")
    free = {tag: seen(log, tag) for tag in own}
    times = collections.defaultdict(list)
    for _ in range(TURNS):
        for key, words in {"plain": (plain, "slow"), "tagged": (tagged, "slow"), "mended": (plain, "mended")}.items():
            times[key].append(cpu_seconds(words[0], f"{work}/{words[1]}.lua", "full"))
slow = min(times["plain"])
off = {tag: worst(ours[tag], own[tag]) for tag in own}
print(json.dumps({"name": "runtime-client", "value": max(off.values()), "unit": "points", "target": 1, "noise": None,
                  "detail": {"worst, by opcode and by function": off,
                             "opcodes, observed and by its clock, %": beside(ours["opcode"], own["opcode"], 3),
                             "functions, observed and by its clock, %": beside(ours["function"], own["function"], 1),
                             "instructions executed": sum(n for name, n in executions.items() if ":" not in name),
                             "without its clock, functions, observed and sampled at once, %": beside(free["function"], sampled, 1),
                             "worst of these": worst(free["function"], sampled),
                             "samples may be off by, points (two sigma)": round(100 / math.sqrt(samples), 2),
                             "instructions, %": {k: round(v, 1) for k, v in collections.Counter(free["opcode"]).most_common(8)},
                             "tags cost, %": round(100 * (min(times["tagged"]) / slow - 1), 1),
                             "the change saves, %": round(100 * (1 - min(times["mended"]) / slow), 1)}}))
