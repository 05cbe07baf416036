#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Beside others.
# Reports of a part of a store's time. A script runs one function, says what the clock shows, and runs another: before that
# time the one alone is in the reports, behind it the other. On a recording with intervals; on a daemon's store of two
# epochs, with intervals, without, and folded into one.
set -u
work=$(mktemp -d -p /dev/shm)
d() { local verb=$1; shift; "$CYCLESCOPE" daemon "$verb" --socket "$work/control" "$@"; }
trap 'd stop >/dev/null 2>&1; rm -rf "$work"' EXIT
fail() { echo "not ok: $*"; exit 1; }
phased="$BUILD/tests/programs/phased"

# STORE OPTION TIME: which of the two functions is there?
there() {
    "$CYCLESCOPE" prof --store "$1" --image phased --json --top 0 "$2" "$3" >"$work/prof" 2>"$work/said" || fail "prof $*: $(cat "$work/said")"
    python3 - "$work/prof" <<'P'
import json, sys
rows = {r["procedure"]: sum(r["samples"].values()) for r in json.load(open(sys.argv[1]))["rows"]}
n = {name: rows.get(name, 0) for name in ("press_grapes", "taste_wine")}
print(*(name for name in n if n[name] > 0.03 * sum(n.values()))) # a sampler that is late blurs
P
}

# The one's end and the other's begin are two seconds apart.
both() { "$phased" 1.2 0 1; sleep 1.1; eval "$1"; sleep 1.1; "$phased" 0 1.2 1; } # sleeps: times that are asked for
export phased work
export -f both
"$CYCLESCOPE" record --no-bursts --intervals 100ms -o "$work/r" -- bash -c 'both "date +%T >$work/at"' >/dev/null 2>&1 || fail "record"
at=$(cat "$work/at")
[ "$(there "$work/r" --to "$at")" = press_grapes ] || fail "a recording until $at: $(cat "$work/prof")"
[ "$(there "$work/r" --from "$at")" = taste_wine ] || fail "a recording from $at: $(cat "$work/prof")"
[ "$(there "$work/r" --last 1h)" = "press_grapes taste_wine" ] || fail "a recording's last hour: $(cat "$work/prof")"
[ -s "$work/said" ] && fail "the hour is all there is, but: $(cat "$work/said")"

# The other reports; chains have no finer times than the recording, and it is said.
r() { "$CYCLESCOPE" "$@" --store "$work/r" 2>"$work/said"; }
r list taste_wine --from "$at" >"$work/out" || fail "list: $(cat "$work/said")"
r list taste_wine --until "$at" >"$work/out" && fail "list shows what ran later"
r calc press_grapes --until "$at" >"$work/out" || fail "calc: $(cat "$work/said")"
r sum --to "$at" --json >"$work/out" && ! grep -q taste_wine "$work/out" || fail "sum: $(cat "$work/said" "$work/out")"
r export --format folded --until "$at" >"$work/out" && grep -q press_grapes "$work/out" && ! grep -q taste_wine "$work/out" || fail "export: $(cat "$work/said" "$work/out")"
"$CYCLESCOPE" report "$work/r" --from "$at" --html "$work/page" >/dev/null && grep -q '"taste_wine"' "$work/page" && ! grep -q '"press_grapes"' "$work/page" || fail "the page"
r phases --from "$at" --image phased --json >"$work/out" || fail "phases: $(cat "$work/said")"
first=$(python3 -c 'import json,sys; print(next(p["from"] for p in json.load(sys.stdin)["phases"] if p["mostly"]))' <"$work/out")
[[ "$first" < "$at" ]] && fail "a phase from $first, it began after $at"
r tree --from "$at" >"$work/out" && grep -q press_grapes "$work/out" || fail "tree: $(cat "$work/said")"
grep -q "tells times by epochs of .* is shown" "$work/said" || fail "tree doesn't say what it shows: $(cat "$work/said")"
r diff --before "..$at" --after "$at.." --json >"$work/out" || fail "diff: $(cat "$work/said")"
python3 - "$work/out" <<'P' || fail "diff"
import json, sys
rows = {r["procedure"]: r for r in json.load(open(sys.argv[1]))["rows"]}
sys.exit(not (rows["press_grapes"]["significant"] == rows["taste_wine"]["significant"] == "yes" and rows["press_grapes"]["b"] < 5))
P
bad() {
    local sentence=$1; shift
    "$CYCLESCOPE" "$@" >"$work/out" 2>"$work/said" && fail "$* succeeds"
    [ "$(wc -l <"$work/said")" -eq 1 ] && grep -q -- "$sentence" "$work/said" || fail "$*: $(cat "$work/said")"
}
bad "nothing from 2001-01-01 00:00:00 to 2001-01-02 00:00:00: it has 20" prof --store "$work/r" --from 2001-01-01 --to 2001-01-02
bad "expected a time" prof --store "$work/r" --from noon
bad "is not before" prof --store "$work/r" --from 2026-01-02 --to 2026-01-01
bad "expected a length of time" prof --store "$work/r" --last 5
bad "doesn't go with" prof --store "$work/r" --last 5m --to "$at"
bad "go without" export --to clickhouse http://localhost --from "$at" --store "$work/r"
bad "expected two times" diff --store "$work/r" --before "$at" --after "$at.."
r diff --total --before "..$at" --after "$at.." >"$work/out" && fail "one recording was compared to itself"
grep -q "nothing to compare" "$work/said" || fail "diff --total: $(cat "$work/said")"

[ "$(id -u)" -eq 0 ] || { echo "ok, without a daemon, which needs root"; exit 0; }
d start --intervals 100ms -F 1000 --merge-interval 1h -o "$work/d" >/dev/null || fail "the daemon doesn't start"
both 'date +%T >"$work/at"; d epoch >/dev/null; sleep 1; date +%T >"$work/then"' >/dev/null # sleeps: a clock with seconds
d stop >/dev/null
at=$(cat "$work/at") then=$(cat "$work/then")
"$CYCLESCOPE" store merge --into one "$work/one" "$work/d" >/dev/null || fail "store merge"
cp -a "$work/d" "$work/coarse"
find "$work/coarse" \( -name '*+intervals*' -o -name .catalog \) -delete
for store in d one coarse; do
    [ "$(there "$work/$store" --to "$at")" = press_grapes ] || fail "$store until $at: $(cat "$work/prof" "$work/said")"
    [ "$(there "$work/$store" --from "$then")" = taste_wine ] || fail "$store from $then: $(cat "$work/prof" "$work/said")"
done
echo "ok"
