#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs every benchmark and prints one table: claim, paper's or peer's figure, ours, target, verdict.

usage: bench/_all.py [--quick] [--only NAME,...] [--row-seconds N] [--minutes N]
Writes build/bench/results.json, build/bench/RESULTS.md and build/bench/results.html. The machine's noise floor is measured
first: the same program against itself, in alternating pairs. Every row runs in its quick form first, so that the table
is whole; then, within --minutes (28), rows run again in full, the undecided ones before the missed and these before the
met, and the table says which form a figure comes from. What was measured is written after every row. A row whose own
noise is larger than its distance from the target is called noisy, not met or missed."""
import html, json, os, platform, statistics, subprocess, sys, time

here = os.path.dirname(os.path.abspath(__file__))
os.chdir(os.path.dirname(here))
build = os.environ.get("BUILD", "build")
quick = "--quick" in sys.argv


def argument(name, fallback):
    return sys.argv[sys.argv.index(name) + 1] if name in sys.argv else fallback


def claims():
    rows = {}
    for line in open(os.path.join(here, "claims.tsv")):
        if not line.startswith("#"):
            name, better, target, claim, peer = (line.rstrip("\n").split("\t") + [""] * 5)[:5]
            rows[name] = {"better": better, "target": float(target), "claim": claim, "peer": peer}
    return rows


def noise_floor():
    """Interquartile range of the ratio of a fixed piece of work to itself, %."""
    work = [sys.executable, "-c", "n = 0\nfor i in range(1500000): n += i"]

    def seconds():
        before = os.times()
        subprocess.run(work, check=True)
        after = os.times()
        return after.children_user - before.children_user, after.elapsed - before.elapsed

    pairs = [(seconds(), seconds()) for _ in range(5 if quick else 15)]
    spread = []
    for clock in (0, 1):
        ratios = sorted(a[clock] / b[clock] for a, b in pairs if b[clock] > 0)
        low, _, high = statistics.quantiles(ratios, n=4)
        spread.append(100 * (high - low))
    return spread


def verdict(row, result):
    value, noise = result.get("value"), result.get("noise")
    if value is None:
        return "not measured here"
    target = row["target"] if row else result.get("target")
    if target is None:
        return ""
    low = not row or row["better"] == "low"
    met = value <= target if low else value >= target
    if isinstance(noise, (int, float)) and noise > abs(value - target) > 0:
        return "noisy, would be " + ("met" if met else "missed")
    return "met" if met else "missed"


def run(name, seconds, form):
    command = ["bench/run", name] + (["--quick"] if form == "quick" else [])
    start = time.time()
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        return {"name": name, "value": None, "detail": f"stopped after {seconds} s"}, time.time() - start
    lines = [l for l in done.stdout.splitlines() if l.startswith("{")]
    if done.returncode == 77 or (done.returncode != 0 and not lines):
        said = (done.stdout + done.stderr).strip().splitlines()
        return {"name": name, "value": None, "detail": said[-1] if said else f"exit {done.returncode}"}, time.time() - start
    try:
        return json.loads(lines[-1]), time.time() - start
    except (ValueError, IndexError):
        return {"name": name, "value": None, "detail": "printed no result"}, time.time() - start


def figure(value):
    return "" if value is None else f"{value:.4g}" if isinstance(value, (int, float)) else str(value)


def machine():
    model = next((l.split(":", 1)[1].strip() for l in open("/proc/cpuinfo") if l.startswith(("model name", "CPU part"))), "?")
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
    pmu = any(n.startswith(("cpu", "armv8")) for n in os.listdir("/sys/bus/event_source/devices"))
    return (f"{model}, {os.cpu_count()} CPUs, Linux {platform.release().split('-')[0]}, {'with' if pmu else 'without'} a PMU; "
            f"{time.strftime('%Y-%m-%d')}, commit {commit}{', quick' if quick else ''}")


def page(title, rows):
    """One bar a row: how far the figure is from its target on a logarithmic axis; left of the line is better."""
    import math
    style = ("body{font:15px/1.4 system-ui;max-width:70em;margin:2em auto;padding:0 1em}td,th{padding:.2em .6em;"
             "text-align:left}td.n{text-align:right}svg{display:block}"
             "@media(prefers-color-scheme:dark){body{background:#161616;color:#ddd}}")
    out = [f"<!doctype html><meta charset=utf-8><title>cyclescope: measured claims</title><style>{style}</style>"
           f"<h1>Measured claims</h1><p>{html.escape(title)}</p>",
           "<table><tr><th>claim<th>ours<th>target<th>verdict<th>better ← target → worse"]
    for r in rows:
        bar = ""
        if r["value"] is not None and r["target"] and r["value"] > 0:
            x = math.log10(r["value"] / r["target"]) * (1 if r["better"] == "low" else -1)
            x = max(-2, min(2, x)) * 60
            bar = (f"<svg width=260 height=14 role=img aria-label='{figure(r['value'])} against {figure(r['target'])}'><line x1=130 x2=130 y2=14 stroke=gray />"
                   f"<rect x={130 + min(x, 0):.0f} width={max(abs(x), 2):.0f} y=3 height=8 fill={'#2a7' if x <= 0 else '#d60'} /></svg>")
        out.append(f"<tr><td>{html.escape(r['claim'])}<td class=n>{figure(r['value'])}<td class=n>{figure(r['target'])}<td>{r['verdict']}<td>{bar}")
    return "\n".join(out) + "</table>\n"


def write(title, cpu, wall, rows):
    with open(f"{build}/bench/results.json", "w") as f:
        json.dump({"machine": title, "noise_cpu_percent": cpu, "noise_wall_percent": wall, "rows": rows}, f, indent=1)
    with open(f"{build}/bench/RESULTS.md", "w") as f:
        f.write(f"# Measured claims\n\n{title}.\nNoise floor (the same work against itself, interquartile range): {cpu:.1f} % of CPU time, "
                f"{wall:.1f} % of wall time. Each row alone: `bench/run NAME`; all: `make bench`.\n\n"
                "| name | claim | paper or peer | ours | noise | target | verdict | form |\n|---|---|---|---:|---:|---:|---|---|\n")
        for r in rows:
            f.write(f"| `{r['name']}` | {r['claim']} | {r['peer']} | {figure(r['value'])} | {figure(r['noise'])} | "
                    f"{figure(r['target'])} | {r['verdict']} | {r['form']} |\n")
    with open(f"{build}/bench/results.html", "w") as f:
        f.write(page(title, rows))


def measure(name, known, seconds, form):
    row = known.get(name)
    if seconds < 5:
        result, took = {"value": None, "detail": "left out: the time for all rows was over"}, 0
    else:
        result, took = run(name, seconds, form)
    return {"name": name, "claim": row["claim"] if row else result.get("unit", ""), "peer": row["peer"] if row else "",
            "better": row["better"] if row else "low", "target": row["target"] if row else result.get("target"),
            "value": result.get("value"), "unit": result.get("unit"), "noise": result.get("noise"),
            "detail": result.get("detail"), "verdict": verdict(row, result), "seconds": round(took, 1), "form": form,
            "command": f"bench/run {name}" + (" --quick" if form == "quick" else "")}


def tell(entry):
    print(f"{entry['name']:22} {figure(entry['value']):>10} {figure(entry['target']):>8} {entry['verdict']:26} {entry['form']:5} "
          f"{entry['claim']}{'; ' + entry['peer'] if entry['peer'] else ''}", flush=True)
    if entry["value"] is None:
        print(f"{'':22} {entry['detail']}")


def main():
    only = argument("--only", "")
    row_seconds = int(argument("--row-seconds", "60" if quick else "300"))
    known = claims()
    there = subprocess.run(["bench/run", "--list"], capture_output=True, text=True).stdout.split()
    names = [n for n in known if n in there] + [n for n in there if n not in known]
    if only:
        names = [n for n in names if n in only.split(",")]
    os.makedirs(f"{build}/bench", exist_ok=True)
    end = time.time() + 60 * float(argument("--minutes", "2.5" if quick else "28"))
    cpu, wall = noise_floor()
    title = machine()
    print(f"{title}\nnoise floor (the same work against itself): {cpu:.1f} % of CPU time, {wall:.1f} % of wall time\n")
    print(f"{'name':22} {'ours':>10} {'target':>8} {'verdict':26} form  claim; paper or peer")
    rows = []
    for name in names:
        entry = measure(name, known, min(60, row_seconds, int(end - time.time())), "quick")
        rows.append(entry)
        tell(entry)
        write(title, cpu, wall, rows)
    undecided = {"noisy": 0, "missed": 1, "not": 2, "met": 3}
    order = [] if quick else sorted(range(len(rows)), key=lambda i: undecided.get((rows[i]["verdict"].split() or ["met"])[0].rstrip(","), 3))
    for i in order:
        left = int(end - time.time())
        if left < 20:
            break
        entry = measure(rows[i]["name"], known, min(row_seconds, left), "full")
        if entry["value"] is not None:
            rows[i] = entry
        tell(entry)
        write(title, cpu, wall, rows)
    print(f"\n{build}/bench/results.json, RESULTS.md, results.html")


main()
