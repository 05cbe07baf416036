#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Beside others.
# Every text report fits a terminal of 80 columns (long words aside), and every member that --json prints stands in
# docs/json.md, in the section of its subcommand.
set -eu
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
P=$BUILD/tests/programs/procedures
cd "$tmp"
for i in 1 2; do
    "$CYCLESCOPE" record -F 2000 --intervals 0.1 --burst-rate 50 -o st -- "$P" 100 50 50 150 30 30 100 >/dev/null 2>&1
done
"$CYCLESCOPE" record -g -F 2000 --no-bursts -o chains -- "$P" 50 50 50 50 50 50 50 >/dev/null 2>&1
observed=
if [ "$(nproc)" -ge 2 ]; then
    "$CYCLESCOPE" observe -t 0.5 -s phase,work --period 2000 --log ph.log -- "$BUILD/signals/examples/phases" >/dev/null 2>&1
    "$CYCLESCOPE" observe -t 0.5 -s phase,work --period 2000 -o obs -- "$BUILD/signals/examples/phases" >/dev/null 2>&1
    observed=yes
fi
cd - >/dev/null
python3 - "$CYCLESCOPE" "$tmp" "$P" docs/json.md "$observed" <<'PY'
import fcntl, json, os, pty, re, struct, subprocess, sys, termios
cyclescope, at, program, page, observed = sys.argv[1:]
bad = 0

def complain(*what):
    global bad
    bad += 1
    print("not ok:", *what)

def on_terminal(command, columns):
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 1000, columns, 0, 0))
    p = subprocess.Popen(command, cwd=at, stdin=slave, stdout=slave, stderr=slave, env=dict(os.environ, TERM="xterm", PAGER="cat"))
    os.close(slave)
    out = b""
    while True:
        try:
            piece = os.read(master, 65536)
        except OSError:
            break
        if not piece:
            break
        out += piece
    os.close(master)
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", out.decode())
    return p.wait(), [line.split("\r")[-1] for line in text.replace("\r\n", "\n").split("\n")]

texts = ["doctor", "prof --store st", "prof --by image --store st", "prof --by line --store st", "prof --by process --store st",
         "list delta --store st", "list -d delta --store st", "list procedures.c --store st", "stats st", "diff st st",
         "calc delta --store st", "sum --store st", "edges delta --store st", "cfg delta --store st", "phases --store st",
         "prof --sort total --store chains", "prof --calls --store st", "callees main --store st", "callers delta --store chains", "callees delta --store chains", "tree --store chains",
         "tree delta --inverted --store chains", "store ls st", "store verify st", "--help"]
logs = ["hist --log ph.log", "hist --log ph.log --subsample 1 --subsample 20", "tags --log ph.log", "timeline --log ph.log",
        "timeline --log ph.log --buckets 3", "hist --store obs", "tags --store obs"]
helps = [s + " --help" for s in subprocess.run([cyclescope, "--subcommands"], capture_output=True, text=True, check=True).stdout.split()]
for text in texts + helps + (logs if observed else []):
    rc, lines = on_terminal([cyclescope, *text.split()], 80)
    if rc != 0:
        complain(text, "exits with", rc, lines)
    for line in lines:
        if len(line) > 80 and len(line.split()) > 1:
            complain(text, f"is {len(line)} columns wide: {line}")

sections = dict(re.findall(r"^## (\S+)\n(.*?)(?=^## |\Z)", open(page).read(), re.M | re.S))
for name, text in list(sections.items()): # "as in tags", "as calc's"
    sections[name] += "".join(sections.get(other, "") for other in re.findall(r"as (?:in )?(\w+)", text))
# Members whose names are data: events, causes, counters, values of tags.
DATA = {"samples", "percents", "ends", "chain_ends", "dynamic", "static", "causes", "skipped", "experiments", "rates", "share_percent", "per_1000_cycles", "mean_per_1000_cycles",
        "least_per_1000_cycles", "most_per_1000_cycles"}

def members(value, inside_data=False):
    if isinstance(value, dict):
        for k, v in value.items():
            if not inside_data:
                yield k
            yield from members(v, not inside_data and k in DATA)
    elif isinstance(value, list):
        for v in value:
            yield from members(v, inside_data)

asked = texts[:-3] + ["store ls st", "store verify st", f"record -o other -- {program} 20 20 20 20 20 20 20"] + (
    logs + [f"observe -t 0.3 -s phase,work -- {os.path.dirname(cyclescope)}/signals/examples/phases"] if observed else [])
for text in asked:
    words = text.split()
    p = subprocess.run([cyclescope, words[0], "--json", *words[1:]], cwd=at, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if p.returncode != 0:
        complain(text, "--json fails:", p.stderr)
        continue
    start = p.stdout.index("\n{") + 1 if not p.stdout.startswith("{") else 0
    for member in sorted(set(members(json.loads(p.stdout[start:])))):
        if member != "notes" and f"`{member}`" not in sections.get(words[0], ""):
            complain(f"{text}: --json has {member}, docs/json.md not")
sys.exit(bad > 0)
PY
