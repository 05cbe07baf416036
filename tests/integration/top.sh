#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# top: rounds of text and JSON, and the screen driven by keys in a terminal (tmux), against a program whose profile is known.
set -eu
. "$(dirname "$0")/../until.sh"
tmp=$(mktemp -d)
socket=cyclescope-top-$$
cleanup() {
    tmux -L "$socket" kill-server 2>/dev/null || true
    kill "$target" 2>/dev/null || true
    rm -rf "$tmp"
}
trap cleanup EXIT
fail() { echo "not ok: $*"; exit 1; }
left() { compgen -G '/dev/shm/cyclescope-top.*' | sort || true; }
before=$(left)

"$BUILD/tests/programs/procedures" 1 100000 1 1 1 1 1 >/dev/null &
target=$!

# Rounds: the procedure that takes nearly all time is first.
"$CYCLESCOPE" top -p $target --rounds 3 --interval 0.5 --json 2>/dev/null | python3 -c '
import json, sys
text, rounds, decode = sys.stdin.read().strip(), [], json.JSONDecoder()
while text:
    d, end = decode.raw_decode(text)
    rounds.append(d); text = text[end:].strip()
assert len(rounds) == 3 and [d["round"] for d in rounds] == [1, 2, 3], rounds
last = rounds[-1]
assert last["rows"][0]["name"] == "beta" and last["rows"][0]["percent"] > 50, last["rows"][:3]
assert last["total"] == sum(r["samples"] for r in last["rows"])
# what beta was called from has its samples in total, and hardly any of its own
total = {r["name"]: r["total_percent"] for r in last["rows"]}
own = {r["name"]: r["percent"] for r in last["rows"]}
assert total["main"] > 90 and own["main"] < 10 and total["beta"] >= own["beta"] > 50, (total, own)
assert all(r["total_percent"] >= r["percent"] - 0.01 and r["total_percent"] <= 100.01 for r in last["rows"]), last["rows"]' || fail "rounds as JSON"
"$CYCLESCOPE" top -p $target --rounds 1 --interval 0.5 --by image 2>/dev/null | grep -q '^ .*procedures$' || fail "rounds as text"
"$CYCLESCOPE" top --rounds 100 --interval 0.1 -p $target 2>"$tmp/err" | head -n 3 >/dev/null || true # the reader goes away
if grep -q 'could not write' "$tmp/err"; then fail "a reader that goes away is no failure"; fi
rc=0; "$CYCLESCOPE" top -p 4194303 --rounds 1 >/dev/null 2>"$tmp/err" || rc=$?
[ $rc = 1 ] && grep -q . "$tmp/err" || fail "a process that isn't there"

command -v tmux >/dev/null || { echo "rounds work; the screen was not driven: install tmux"; exit 77; }
tmux -L "$socket" -f /dev/null new-session -d -x 90 -y 24 "$CYCLESCOPE top -p $target --interval 0.5; echo left=\$?; sleep 60" # sleeps: its screen stays
screen() { tmux -L "$socket" capture-pane -p >"$tmp/screen"; }
press() { tmux -L "$socket" send-keys "$@"; }
await() { # until the screen shows it
    shows() { screen; has_line "$1" "$tmp/screen"; }
    if until_true -t 10 shows "$1"; then return; fi
    cat "$tmp/screen"
    fail "the screen never showed: $1"
}
await '^ +[0-9]+ +[0-9.]+ +[0-9.]+ +beta '
sed -n 5p "$tmp/screen" | grep -q beta || fail "beta is not on top"
press h; await 'next hottest instruction'; press h
press Enter; await 'beta: [0-9,]+ samples'
await '^ +[0-9]+ +[0-9.]+ +[0-9]+ +[0-9a-f]+ +[a-z]' # samples, %, line, offset, instruction
grep -q 'procedures.c:[0-9]*:  PROCEDURE(beta' "$tmp/screen" || fail "the source line of the hottest instruction"
press n; press Escape; await 'functions: [0-9,]+ samples'
press / ; press -l kernel_or_none; press Enter; await 'nothing was sampled'
press Escape; await ' beta '
press Tab; await 'PID  process'; grep -q "$target  procedures" "$tmp/screen" || fail "the process isn't listed"
press Tab; await '^images: '
press Enter; await 'image procedures;'
press Escape; await '^images: '
press Space; await 'paused'; press Space
tmux -L "$socket" resize-window -x 60 -y 15; press 1; await '^functions:'
[ "$(awk '{ if (length($0) > n) n = length($0) } END { print n }' "$tmp/screen")" -le 60 ] || fail "wider than the terminal"
kill $target; await 'it has ended'
press q; await 'left=0'
[ "$(left)" = "$before" ] || fail "temporary files are left behind: $(left)"
