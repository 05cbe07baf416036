#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""How long requests of 5 µs and more take that an interpreter serves, as the observer tells it (tags --lengths), against the
interpreter's own log of the same run. Lua with signals/examples/lua5.4.patch, and beside its tags a clock (bench/workloads/lua_clock.h):
a request is a visit of one function, its number is a tag, 0 between two. The value is how far the worst of the quantiles 50, 90, 99 and
99.9 is off, in %. request-lengths is the same with a C program."""
import json, os, sys, tempfile
from lib_lua import build, fetch, run

TOOL = os.environ["CYCLESCOPE"]
N = 40000 if "--quick" in sys.argv else 250000
# A request's turns of the loop: 5 µs and more, few very long; a pause is some microseconds in another function.
SCRIPT = f"""local function serve(n) local s = 0
  for i = 1, n do s = s + i % 7 end return s end
local function pause(n) local s = 0
  for i = 1, n do s = s + i % 5 end return s end
local seed = 42
local function random() seed = (seed * 1103515245 + 12345) % 2147483648 return (seed + 1) / 2147483649 end
for _ = 1, {N} do
  local turns = math.floor(math.min(170 * random() ^ -0.7, 100000))
  serve(turns)
  pause(40 + math.floor(100 * random()))
end
"""
fetch()
with tempfile.TemporaryDirectory() as work:
    lua = build(work, "timed", clock=True)
    open(f"{work}/requests.lua", "w").write(SCRIPT)
    run(TOOL, "observe", "-s", "visit", "--period", "1000", "--log", f"{work}/log", "--", lua, f"{work}/requests.lua",
        env={**os.environ, "LUA_CLOCK": f"{work}/truth", "LUA_CLOCK_VISITS": "requests.lua:1"})
    said = json.loads(run(TOOL, "tags", "--log", f"{work}/log", "--lengths", "--json"))
    truth = sorted(int(line.split()[1]) / 1000 for line in open(f"{work}/truth") if line.startswith("visit "))
row = said["lengths"][0]
assert len(truth) == N, len(truth)
quantiles = {"50": ("p50_us", 0.5), "90": ("p90_us", 0.9), "99": ("p99_us", 0.99), "99.9": ("p999_us", 0.999)}
off = {name: 100 * (row[key] / truth[int(q * N)] - 1) for name, (key, q) in quantiles.items()}
print(json.dumps({"name": "runtime-requests", "value": round(max(map(abs, off.values())), 2), "unit": "%", "target": 5, "noise": None,
                  "detail": {"quantiles, µs: the interpreter's": {n: round(truth[int(q * N)], 1) for n, (_, q) in quantiles.items()},
                             "off, %": {n: round(v, 2) for n, v in off.items()}, "shortest, µs": round(truth[0], 1), "requests": N,
                             "whole": row["lengths"], "cut": row["cut"], "not looked, %": round(said["not_looked_percent"], 1),
                             "waiting, %": row["waiting_percent"] and round(row["waiting_percent"], 1)}}))
