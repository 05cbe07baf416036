#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Rates of one event over another, by procedure and over time (phases --per): against prof's sums of periods, and against the
# samples by interval that phases has of either event alone.
set -eu
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
export CYCLESCOPE_CACHE=$tmp/cache
"$CYCLESCOPE" record --no-bursts -F 1000 -e page-faults -e cpu-clock --intervals 100ms -o "$tmp/store" -- \
    python3 -S -c 'import mmap
for k in range(12): # pages that are new each time: what free() keeps has no faults
    m = mmap.mmap(-1, 80 << 20)
    m.madvise(mmap.MADV_NOHUGEPAGE)
    for at in range(0, 80 << 20, 4096): m[at] = 1
    m.close()
    b = sum(i * i % 7 for i in range(1000000))' >"$tmp/out" 2>&1 ||
    { cat "$tmp/out"; exit 1; }
python3 - "$CYCLESCOPE" "$tmp/store" <<'P'
import collections, json, subprocess, sys
tool, store = sys.argv[1:]
ask = lambda *words: json.loads(subprocess.run([tool, *words, "--json", "--store", store], check=True, stdout=subprocess.PIPE).stdout)
said = ask("phases", "-e", "page-faults", "--per", "cpu-clock", "-n", "0")
period, samples, of = {}, {}, {}
for event in "page-faults", "cpu-clock":
    p = ask("prof", "-e", event, "-n", "0")
    period[event] = next(e for e in p["events"] if e["name"] == event)["period_sum"] / p["total"]
    samples[event] = p["total"]
    of[event] = ask("phases", "-e", event, "-n", "0")
scale = period["page-faults"] / period["cpu-clock"] * 1e6
whole = said["rates"][0]
assert abs(whole["rate"] - scale * samples["page-faults"] / samples["cpu-clock"]) < 0.02 * whole["rate"], whole
assert whole["rate"] > 0 and said["per"] == "cpu-clock"
by = {e: {(r["procedure"], r["image"]): r["by_interval"] for r in of[e]["procedures"]} for e in of}
shift = (said["start_ms"] - of["page-faults"]["start_ms"]) // said["interval_ms"]
checked = 0
for row in said["rates"][1:]:
    name = (row["procedure"], row["image"])
    below, above = by["cpu-clock"][name], by["page-faults"].get(name, [])
    for i, rate in enumerate(row["by_interval"]):
        x = above[i + shift] if 0 <= i + shift < len(above) else 0
        assert (rate is None) == (below[i] == 0), (name, i, rate, below[i])
        if rate is not None:
            assert abs(rate - scale * x / below[i]) < 0.01 * rate + 1e-9, (name, i, rate, x, below[i])
            checked += x > 0
sums = {e: collections.Counter() for e in by}
for e in by:
    for series in by[e].values():
        sums[e].update({i: n for i, n in enumerate(series)})
for i, rate in enumerate(whole["by_interval"]):
    x, y = sums["page-faults"][i + shift], sums["cpu-clock"][i]
    assert (rate is None) == (y == 0) and (rate is None or abs(rate - scale * x / y) < 0.01 * rate + 1e-9), (i, rate, x, y)
    checked += rate is not None and x > 0
assert checked > 3, "intervals with faults and time"
assert all(r["above"] == sum(by["page-faults"].get((r["procedure"], r["image"]), [])) for r in said["rates"][1:])
print("ok", len(said["rates"]), "procedures,", checked, "rates above 0")
P
if "$CYCLESCOPE" phases --per cpu-clock --store "$tmp/store" >/dev/null 2>"$tmp/err"; then exit 1; fi
grep -q "needs --event" "$tmp/err"
