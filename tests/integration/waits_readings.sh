#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Beside others. What a wait is for: a slow backend is row one and accepting is idle, a child is a wait, and threads that hang
# in a dead lock, which no switch tells of, are shown where they stand. A timer that fires while another program is in a
# call on descriptors isn't that program's doing.
set -u
work=$(mktemp -d)
hang=
trap '[ -z "$hang" ] || kill "$hang"; rm -rf "$work"' EXIT
. "$(dirname "$0")/../waits_possible.sh"
python=$(python3 -c 'import sys; print(sys.executable)')
cat >"$work/server.py" <<'PY'
import os, select, socket, subprocess, sys, threading, time
back = socket.create_server(("127.0.0.1", 0))
if os.fork() == 0: # the backend: nobody asks what it does
    for _ in range(3):
        c, _ = back.accept()
        c.recv(9)
        time.sleep(0.4)  # sleeps: what is measured
        c.send(b"late")
        c.close()
    os._exit(0)
front = socket.create_server(("127.0.0.1", 0))
def accept():
    while True:
        front.accept()[0].close()
threading.Thread(target=accept, daemon=True).start()
def ask():
    c = socket.create_connection(back.getsockname())
    c.send(b"x")
    p = select.poll()
    p.register(c, select.POLLIN)
    p.poll(5000)
    c.recv(9)
for _ in range(3):
    socket.create_connection(front.getsockname()).close()
    ask()
print(back.getsockname()[1])
PY
"$CYCLESCOPE" record --waits --no-bursts -o "$work/server" -- "$python" "$work/server.py" >"$work/log" 2>&1
"$CYCLESCOPE" waits --json --store "$work/server" >"$work/server.json" || { echo "not ok: waits of the server"; exit 1; }
"$CYCLESCOPE" record --waits --no-bursts -o "$work/child" -- sh -c 'sleep 0.7; true' >/dev/null 2>&1 # sleeps: what is measured
"$CYCLESCOPE" waits --json --store "$work/child" >"$work/child.json" || { echo "not ok: waits of a shell"; exit 1; }
cat >"$work/timer.py" <<'PY'
import os, select, subprocess
os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
copies = subprocess.Popen(["dd", "if=/dev/zero", "of=/dev/null", "bs=4M", "count=20000"], stderr=subprocess.DEVNULL)
never = os.pipe()
p = select.poll()
p.register(never[0], select.POLLIN)
for _ in range(100):
    p.poll(6)
copies.kill()
PY
"$CYCLESCOPE" record --waits --no-bursts -o "$work/timer" -- "$python" "$work/timer.py" >/dev/null 2>&1
"$CYCLESCOPE" waits --json --store "$work/timer" >"$work/timer.json" || { echo "not ok: waits that time out"; exit 1; }
"$CYCLESCOPE" record --waits --no-bursts -t 1 -o "$work/gone" -- sh -c 'sleep 0.3 & exec sleep 5' >/dev/null 2>&1 # sleeps: a child that nobody reaps
"$CYCLESCOPE" waits --json --store "$work/gone" >"$work/gone.json" || { echo "not ok: waits of a zombie's parent"; exit 1; }
"$BUILD/tests/programs/dead_lock" &
hang=$!
sleep 1 # sleeps: until each holds what the other wants, by their clocks
"$CYCLESCOPE" record --waits --no-bursts -p $hang -t 1 -o "$work/hang" >"$work/said" 2>&1
"$CYCLESCOPE" waits --json --store "$work/hang" >"$work/hang.json" || { echo "not ok: waits of a dead lock: $(cat "$work/said")"; exit 1; }
"$CYCLESCOPE" waits --store "$work/hang" | grep -q "^dead lock: " || { echo "not ok: the dead lock isn't named"; exit 1; }
"$CYCLESCOPE" waits --process nobody --store "$work/hang" >/dev/null 2>"$work/said" && { echo "not ok: waits of an unknown process"; exit 1; }
grep -q "nobody" "$work/said" || { echo "not ok: an unknown process is called: $(cat "$work/said")"; exit 1; }
kill $hang
hang=
python3 - "$work" <<'PY'
import json, sys
work = sys.argv[1]
rows = {name: json.load(open(f"{work}/{name}.json"))["rows"] for name in ("server", "child", "hang", "timer")}
def told(rows): return [(r["reading"], r["kind"], r["where"], r["object"], round(r["seconds"], 3)) for r in rows[:8]]
port = open(f"{work}/log").read().split()
asked = [r for r in rows["server"] if r["kind"] == "socket" and any(f"127.0.0.1:{p}" in (r["object"] or "") for p in port)]
# a row of their own have those that ended before the interpreter was known
assert asked and sum(r["seconds"] for r in asked) > 1.1 and all(r["reading"] == "wait" for r in asked), told(rows["server"])
assert all((r["ended_by"] or "").startswith("python") for r in asked), told(rows["server"]) # by the loopback
polls = [r for r in rows["timer"] if r["kind"] == "pipe" and r["seconds"] > 0.4]
assert polls and (polls[0]["ended_by"], polls[0]["meanwhile"]) == ("[interrupt]", None) and "dd" not in polls[0]["object"], polls
accepts = [i for i, r in enumerate(rows["server"]) if r["kind"] == "accept"]
assert accepts and all(rows["server"][i]["reading"] == "idle" and i > rows["server"].index(asked[-1]) for i in accepts), told(rows["server"])
child = sorted((r for r in rows["child"] if r["kind"] == "child"), key=lambda r: -r["seconds"])  # in the table those come last whose time is another row's
assert child and child[0]["reading"] == "wait" and child[0]["seconds"] > 0.6, told(rows["child"])
dead = [r for r in rows["hang"] if r["kind"] == "dead-lock"]
assert {r["where"] for r in dead} == {"take_right_under_left", "take_left_under_right"}, told(rows["hang"])
assert all("holds, dead lock" in r["object"] and r["seconds"] > 0.9 for r in dead), told(rows["hang"])
by = [r for r in rows["hang"] if r["where"] == "take_left"]
assert by and by[0]["kind"] == "mutex" and "that bank-1 (" in by[0]["object"] and "dead" not in by[0]["object"], told(rows["hang"])
for r in rows["server"] + rows["child"]:
    assert r["seconds"] * 1e3 <= r["waits"] * r["longest_ms"] * 1.001 + 0.001 and r["median_ms"] <= r["longest_ms"], r
gone = json.load(open(f"{work}/gone.json"))["threads"]
assert len(gone) == 2 and min(t["seconds"] for t in gone) < 0.6 and max(t["seconds"] for t in gone) < 1.7, gone
hang = json.load(open(f"{work}/hang.json"))
assert len(hang["threads"]) == 4 and all(0.9 < t["seconds"] for t in hang["threads"]), hang["threads"]
assert max(r["seconds"] for r in rows["hang"]) <= max(t["seconds"] for t in hang["threads"]) + 0.01
PY
