#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Waits in other tools' formats: ns by call chain, as time, behind the samples. The program's own log says how much of them is its
# lock's; protoc and Python read.
set -u
command -v protoc >/dev/null || { echo "protoc is missing"; exit 77; }
here=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. "$(dirname "$0")/../waits_possible.sh"
cd "$work" || exit 1
"$CYCLESCOPE" record --waits --no-bursts -o store -- "$BUILD/tests/programs/waiting" convoy 3 >log 2>/dev/null || { echo "not ok: record"; exit 1; }
for format in pprof folded speedscope firefox; do
    "$CYCLESCOPE" export --store store --format $format --to all.$format || { echo "not ok: export as $format"; exit 1; }
    "$CYCLESCOPE" export --store store --event waits --format $format --to waits.$format || { echo "not ok: waits as $format"; exit 1; }
done
"$CYCLESCOPE" export --store store --event wakers --format folded --to wakers.folded || { echo "not ok: wakers"; exit 1; }
"$CYCLESCOPE" waits --json --top 0 --store store >shown || exit 1
python3 "$here/viewer_files.py" firefox all.firefox >samples || { echo "not ok: the Firefox Profiler's rules"; exit 1; }
for which in all waits; do
    zcat $which.pprof | protoc -I "$here" --decode=Profile profile.proto >$which.text || { echo "not ok: protoc"; exit 1; }
done
python3 - <<'PY'
import json, re
bad = []
def near(what, have, want, part=0.03):
    if abs(have - want) > part * want:
        bad.append(f"{what}: {have}, expected {want}")
def profile(name):
    text = open(name).read()
    strings = [s for s in re.findall(r'^string_table: "(.*)"$', text, re.M)]
    blocks = lambda what: re.findall(rf"^{what} \{{\n(.*?)^\}}", text, re.M | re.S)
    number = lambda block, key: int((re.findall(rf"^ *{key}: (\d+)", block, re.M) or [0])[0])
    functions = {number(f, "id"): strings[number(f, "name")] for f in blocks("function")}
    locations = {number(l, "id"): [functions[int(f)] for f in re.findall(r"function_id: (\d+)", l)] for l in blocks("location")}
    types = [(strings[number(t, "type")], strings[number(t, "unit")]) for t in blocks("sample_type")]
    samples = [([n for l in re.findall(r"location_id: (\d+)", s) for n in locations[int(l)]], [int(v) for v in re.findall(r"value: (\d+)", s)]) for s in blocks("sample")]
    default = re.search(r"^default_sample_type: (\d+)", text, re.M)
    return types, samples, strings[int(default[1])] if default else None
lock = float(re.search(r"^waited \S+ ([\d.]+)", open("log").read(), re.M)[1]) * 1e9
shown = json.load(open("shown"))
whole = sum(r["seconds"] for r in shown["rows"]) * 1e9

types, samples, default = profile("all.text")
if types != [("samples", "count"), ("off_cpu", "nanoseconds")] or default != "samples": # as Go's PGO calls them
    bad.append(f"pprof's types are {types}, the first shown {default}")
else:
    near("pprof, all", sum(v[1] for _, v in samples), whole)
    near("pprof, in the lock", sum(v[1] for names, v in samples if "take_lock" in names), lock)
    counted = sum(v[0] for _, v in samples)
    if counted != int(open("samples").read()):
        bad.append(f"pprof has {counted} samples, the Firefox Profiler {open('samples').read()}")
types, samples, default = profile("waits.text")
if types != [("off_cpu", "nanoseconds")] or default != "off_cpu":
    bad.append(f"pprof's types of waits alone are {types}, the first shown {default}")
near("pprof, waits alone", sum(v[0] for _, v in samples), whole)

for which in ("all", "waits"):
    folded = [line.rsplit(" ", 1) for line in open(f"{which}.folded").read().splitlines()]
    if {stack.split(";")[0] for stack, _ in folded} != ({"cpu-clock", "waits"} if which == "all" else {"waits"}):
        bad.append(f"roots of folded stacks: {({s.split(';')[0] for s, _ in folded})}")
    near("folded, in the lock", sum(int(n) for stack, n in folded if stack.startswith("waits;") and ";take_lock;" in stack), lock)
if not all(line.startswith("wakers;") for line in open("wakers.folded")):
    bad.append("wakers, asked for, are others, too")

scope = json.load(open("all.speedscope"))
units = [(p["name"], p["unit"]) for p in scope["profiles"]]
if units != [("cpu-clock", "none"), ("waits", "nanoseconds")]:
    bad.append(f"speedscope has {units}")
else:
    names = [f["name"] for f in scope["shared"]["frames"]]
    p = scope["profiles"][1]
    near("speedscope, in the lock", sum(w for s, w in zip(p["samples"], p["weights"]) if any(names[f] == "take_lock" for f in s)), lock)

threads = json.load(open("all.firefox"))["threads"]
kinds = [(t["name"], t["samples"]["weightType"]) for t in threads]
if kinds != [("cpu-clock", "samples"), ("waits", "tracing-ms")]:
    bad.append(f"the Firefox Profiler has {kinds}")
else:
    near("firefox, all, ms", sum(threads[1]["samples"]["weight"]), whole * 1e-6)
print("\n".join("not ok: " + b for b in bad) or "ok")
raise SystemExit(bool(bad))
PY
