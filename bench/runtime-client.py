#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A real runtime as a client: Debian's Lua 5.4, with signals/examples/lua5.4.patch. Shares of time by Lua function as the observer
sees them, against the sampler's of another run, which unwinds the interpreter's own frames: the value is the largest difference, in
points, over functions of 1 % and more. Beside it: what the tags cost (least CPU time of runs in turn), the instructions that take most
time, and what the change that they led to saves (bench/workloads/lua.lua: its sieve fills a table from the middle, so that each store of
it goes through the hash part)."""
import collections, json, os, re, subprocess, sys, tempfile

TOOL, BUILD = os.environ["CYCLESCOPE"], os.path.realpath(os.environ["BUILD"])
TOP = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
TURNS = 3 if "--quick" in sys.argv else 11
SLOW = "local composite, count = {}, 0"
MENDED = SLOW + "\n  for i = 1, limit do composite[i] = false end"


def run(*words, **more):
    return subprocess.run(words, check=True, capture_output=True, text=True, **more).stdout


def build(work, name, patched):
    """An interpreter that is called lua5.4, for the sampler knows it by that."""
    source = f"{work}/{name}.source"
    run("cp", "-r", os.path.realpath(os.environ.get("CS_PROGRAMS_CACHE", BUILD + "/programs")) + "/source/lua5.4", source)
    if patched:
        run("patch", "-s", "-p1", "-d", source, "-i", f"{TOP}/signals/examples/lua5.4.patch")
    os.mkdir(f"{work}/{name}")
    files = [f"{source}/src/{f}" for f in sorted(os.listdir(source + "/src")) if f.endswith(".c") and f != "luac.c"]
    run("gcc", "-O2", "-g", "-DLUA_USE_LINUX", "-DCS_EXECUTABLE", f"-I{TOP}/signals", "-o", f"{work}/{name}/lua5.4", *files,
        *([BUILD + "/libcyclescope.a"] if patched else []), "-lm", "-ldl")
    return f"{work}/{name}/lua5.4"


def cpu_seconds(*words):
    run = subprocess.Popen(words, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(run.pid, 0)
    assert status == 0, words
    return usage.ru_utime + usage.ru_stime


def shares(parts):
    whole = sum(parts.values())
    return {name: 100 * n / whole for name, n in parts.items()}


def observed(lua, script, log, tag):
    run(TOOL, "observe", "-s", "function,opcode", "--period", "20000", "--jitter", "20000", "--log", log, "--", lua, script)
    seen = collections.Counter()
    said = json.loads(run(TOOL, "tags", "--log", log, "--tag", tag, "--json", "-n", "0"))
    for row in said.get("tags") or said["tags2"]:
        if row["percent"] and row["name"]:
            seen[re.sub(r".*/", "", row["name"])] += row["cycles"]
    return shares(seen)


def sampled(lua, script, store):
    run(TOOL, "record", "--no-bursts", "-F", "4000", "-o", store, "--", lua, script)
    seen = collections.Counter()
    for line in run(TOOL, "export", "--store", store, "--format", "folded").splitlines():
        frames, n = line.rsplit(" ", 1)
        within = re.findall(r"\((?:[^;()]*/)?([\w.]+\.lua(?::\d+)?)\)", frames)
        if within:
            seen[within[-1] if ":" in within[-1] else within[-1] + ":0"] += int(n)
    return shares(seen)


subprocess.run([f"{TOP}/bench/programs", "build", "lua5.4"], check=True, stdout=subprocess.DEVNULL)
with tempfile.TemporaryDirectory() as work:
    plain, tagged = build(work, "plain", False), build(work, "tagged", True)
    workload = open(f"{TOP}/bench/workloads/lua.lua").read()
    assert SLOW in workload
    for name, text in ("slow", workload), ("mended", workload.replace(SLOW, MENDED)):
        open(f"{work}/{name}.lua", "w").write(text)
    open(f"{work}/again.lua", "w").write(f"arg = {{'full'}}\nlocal run = loadfile('{work}/slow.lua')\nfor _ = 1, 6 do run() end\n")
    assert run(plain, f"{work}/slow.lua", "full") == run(plain, f"{work}/mended.lua", "full")
    ours, theirs = observed(tagged, f"{work}/again.lua", f"{work}/log", "function"), sampled(tagged, f"{work}/again.lua", f"{work}/store")
    opcodes = observed(tagged, f"{work}/again.lua", f"{work}/log", "opcode")
    times = collections.defaultdict(list)
    for _ in range(TURNS):
        for key, words in {"plain": (plain, "slow"), "tagged": (tagged, "slow"), "mended": (plain, "mended")}.items():
            times[key].append(cpu_seconds(words[0], f"{work}/{words[1]}.lua", "full"))
slow = min(times["plain"])
rows = {name: (round(ours.get(name, 0), 2), round(theirs.get(name, 0), 2)) for name in sorted(theirs, key=theirs.get, reverse=True) if theirs[name] >= 1}
print(json.dumps({"name": "runtime-client", "value": round(max(abs(a - b) for a, b in rows.values()), 2), "unit": "points", "target": 1, "noise": None,
                  "detail": {"by function, observed and sampled, %": rows,
                             "instructions, %": {k: round(opcodes[k], 1) for k in sorted(opcodes, key=opcodes.get, reverse=True)[:8]},
                             "tags cost, %": round(100 * (min(times["tagged"]) / slow - 1), 1),
                             "the change saves, %": round(100 * (1 - min(times["mended"]) / slow), 1)}}))
