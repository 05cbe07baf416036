#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Code that a program makes and registers by cs_name_code has its names in `record`, as often as the program's own clock says:
# in the program, in a child of it, across an exec into another program that registers, too, while the whole machine is
# recorded, in the daemon, and for `observe`.
set -u
. "$(dirname "$0")/../until.sh"
work=$(mktemp -d -p /dev/shm)
started=()
trap 'for p in "${started[@]}"; do kill -9 "$p" 2>/dev/null; done; rm -rf "$work"' EXIT
jit=$(realpath "$BUILD/signals/examples/jit")
bad=0
fail() { echo "not ok: $*"; bad=1; }

# as_told STORE SAID: of the samples in each program's two methods, the first method has the share that the program told.
as_told() {
    "$CYCLESCOPE" prof --store "$1" --epoch all --top 0 --json >"$work/prof.json" || fail "$1: no profile"
    python3 - "$work/prof.json" "$2" <<'P' || bad=1
import json, re, sys
rows = [r for r in json.load(open(sys.argv[1]))["rows"] if r["image"] == "[jit] jit"]
count = lambda name: sum(sum(r["samples"].values()) if isinstance(r["samples"], dict) else r["samples"] for r in rows if r["procedure"] == name)
told = re.findall(r"(\S+) ([\d.]+) %, (\S+) ([\d.]+) %", open(sys.argv[2]).read())
bad, named = [] if told else [f"nothing was told in {sys.argv[2]}"], 0
for first, share, second, _ in told:
    a, b = count(first), count(second)
    named += a + b
    if a + b < 100 or abs(100 * a / (a + b) - float(share)) > 9:
        bad.append(f"{sys.argv[2]}: {first} has {a} samples, {second} {b}; by the program's clock {first} took {share} %")
every = sum(sum(r["samples"].values()) if isinstance(r["samples"], dict) else r["samples"] for r in rows)
if every - named > 0.05 * every:
    bad.append(f"{sys.argv[2]}: {every - named} of {every} samples have no name")
print(*("not ok: " + b for b in bad), sep="\n", end="\n" if bad else "")
sys.exit(bool(bad))
P
}

record() { # NAME COMMAND...
    local name=$1; shift
    "$CYCLESCOPE" record -o "$work/$name" -- "$@" >"$work/$name.told" 2>"$work/$name.err" || fail "$name: $(tail -n 3 "$work/$name.err")"
    as_told "$work/$name" "$work/$name.told"
}
record alone "$jit" --seconds 2
record child "$jit" --seconds 2 --child
record become "$jit" --seconds 2 --then "$jit" --seconds 2 --names ledger.pack,ledger.send
env CYCLESCOPE_SIGNALS=off "$CYCLESCOPE" record -o "$work/off" -- "$jit" --seconds 1 >/dev/null 2>&1
"$CYCLESCOPE" prof --store "$work/off" --top 0 --csv | grep -q 'shop\.' && fail "a program that publishes nothing has names"

if [ "$(id -u)" = 0 ]; then
    # It ran before the recording began, and ends before it does.
    "$jit" --seconds 4 >"$work/machine.told" &
    started+=($!)
    until_true has_run $! 25
    "$CYCLESCOPE" record -a --seconds 5 -o "$work/machine" >/dev/null 2>"$work/err" || fail "record -a: $(tail -n 3 "$work/err")"
    as_told "$work/machine" "$work/machine.told"
    if "$CYCLESCOPE" daemon start -F 1000 --budget 10% --socket "$work/control" -o "$work/daemon" >"$work/err" 2>&1; then
        "$jit" --seconds 4 >"$work/daemon.told"
        "$CYCLESCOPE" daemon stop --socket "$work/control" >/dev/null 2>&1
        as_told "$work/daemon" "$work/daemon.told"
    else
        fail "the daemon: $(cat "$work/err")"
    fi
fi

if [ "$(nproc)" -ge 2 ]; then
    "$CYCLESCOPE" observe -s method --period 5000 --seconds 2 -- "$jit" --seconds 3 >"$work/observed" 2>&1
    grep -q 'shop\.render' "$work/observed" || fail "observe doesn't name the method: $(head -n 5 "$work/observed")"
fi
[ $bad = 0 ] && echo ok
exit $bad
