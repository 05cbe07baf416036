# SPDX-License-Identifier: GPL-2.0-or-later
"""Worst error of an event, %, against the emulator's own count of it, on the x86-64 machines of check-vm with caches and predictor:
the count when more events than counters run at a time (tests/vm/events.c), and samples times period of each function that has at
least 100 of them (tests/vm/counted). A function's first and last period are shared: 100 samples are exact to 1 %."""
import json, os, re, subprocess, sys

LEAST_SAMPLES = 100
build = os.environ.get("BUILD", "build")
models = ["x86-amd"] if "--quick" in sys.argv else ["x86-intel3", "x86-amd"]
row = {"name": "counters-truth", "value": None, "unit": "% of an event's count", "target": 1, "noise": 0}
subprocess.run(["make", "-s", "CS_DEPS_DONE=1", "all", "vm-programs"], check=True, stdout=subprocess.DEVNULL)
command = "export CS_EXACT=1; sh /tests/counted"
environment = {**os.environ, "BUILD": build, "CS_PMU_CACHES": "1"}
runs = {m: subprocess.Popen(["tests/vm/command", m, command], stdout=subprocess.PIPE, text=True, env=environment) for m in models}
detail = {}
for model, run in runs.items():
    text = run.communicate()[0]
    errors = {}
    for event, where, period, true, got in re.findall(r"^COUNTED (\S+) (\S+) (\d+) (\d+) (\d+)", text, re.M):
        if int(true) >= LEAST_SAMPLES * int(period):
            errors[f"{event} {where}"] = 100 * abs(int(got) / int(true) - 1)
    kinds = {"multiplexed": [k for k in errors if k.endswith(" multiplexed")], "by_function": [k for k in errors if not k.endswith(" multiplexed")]}
    if run.returncode or not all(kinds.values()):
        row["detail"] = {"why": f"{model}: " + (text.strip().splitlines() or ["no output"])[-1]}
        print(json.dumps(row))
        sys.exit(1)
    detail[model] = {kind: {"of": len(names), "worst": max(names, key=errors.get), "percent": round(max(errors[n] for n in names), 3)}
                     for kind, names in kinds.items()}
row["value"] = max(k["percent"] for m in detail.values() for k in m.values())
row["detail"] = detail
print(json.dumps(row))
