#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Waits in the page: its table says what `waits` says, its flame graph adds up to them; driven by a browser where there is one. A
# recording without waits has neither.
set -u
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. "$(dirname "$0")/../waits_possible.sh"
fail() { echo "not ok: $*"; exit 1; }
"$CYCLESCOPE" record --no-bursts -o "$work/none" -- sh -c 'i=0; while [ $i -lt 300000 ]; do i=$((i + 1)); done' >/dev/null 2>&1 || fail "record"
"$CYCLESCOPE" report --html "$work/none.html" "$work/none" >/dev/null || fail "report without waits"
# From an empty cache: its first waits end before there is a frame table of libc, whose code they end in.
CYCLESCOPE_CACHE=$work/cache "$CYCLESCOPE" record --waits --no-bursts -o "$work/store" -- "$BUILD/tests/programs/waiting" convoy 2 >"$work/log" 2>/dev/null || fail "record"
"$CYCLESCOPE" report --html "$work/page.html" "$work/store" >/dev/null || fail "report"
"$CYCLESCOPE" waits --json --top 0 --store "$work/store" >"$work/shown" || fail "waits"
python3 - "$work" <<'PY' || exit 1
import json, re, sys
work = sys.argv[1]
def page(name):
    return json.loads(re.search(r'<script type="application/json" id="profile">(.*?)</script>', open(f"{work}/{name}").read(), re.S)[1])
have, none, shown = page("page.html"), page("none.html"), json.load(open(f"{work}/shown"))
assert none["waits"] is None and none.get("chains_waits") is None, "a recording without waits"
w = have["waits"]
assert abs(w["seconds"] - shown["seconds"]) < 1e-6 and w["threads"] == shown["n_threads"]
assert [t[0] for t in w["time"]] == [t["what"] for t in shown["time"]]
ran, percent = next(t[1:3] for t in w["time"] if t[0] == "on-cpu")
waited = sum(r["seconds"] for r in shown["rows"] if r["reading"] != "idle")
assert have["advice"][0].startswith(f"Threads ran for {percent:.1f} %") == (waited > ran), (ran, waited, have["advice"])
assert none["advice"][0].endswith("half of them."), none["advice"]
keys = ["seconds", "percent", "waits", "median_ms", "longest_ms", "kind", "where", None, "thread", "object", "ended_by", "meanwhile", "idle", "reading"]
for mine, theirs in zip(w["rows"], shown["rows"], strict=True):
    for value, key in zip(mine, keys, strict=True):
        same = key is None or value == theirs[key] or (isinstance(value, float) and abs(value - theirs[key]) <= 1e-6 * abs(value))
        assert same, (key, mine, theirs)
# By the program's own log: what its threads waited in take_lock is the width of that box.
chains = have["chains_waits"]
lock, ns = next(i for i, f in enumerate(chains["functions"]) if f[1] == "take_lock"), 0
for nodes in (t["nodes"] for t in chains["trees"]):
    within = [False]
    for i in range(0, len(nodes), 4):
        within.append(within[nodes[i]] or nodes[i + 1] == lock)
        ns += nodes[i + 3] if within[-1] else 0
truth = float(re.search(r"^waited \S+ ([\d.]+)", open(f"{work}/log").read(), re.M)[1])
assert abs(ns * 1e-9 - truth) < 0.01 * truth + 0.02, (ns, truth)
PY
chromium=$(command -v chromium || true)
[ -n "$chromium" ] && command -v npm >/dev/null || { echo "the page was built and checked, but no browser drove it: install chromium and npm"; exit 77; }
mkdir -p "$BUILD/tests/browser"
cp tests/browser/package.json tests/browser/package-lock.json tests/browser/{waits,until}.js "$BUILD/tests/browser/"
(cd "$BUILD/tests/browser" && { [ -d node_modules/playwright-core ] || npm ci --ignore-scripts --no-audit --no-fund >npm.log 2>&1; }) ||
    { echo "the page was built and checked, but npm could not fetch playwright-core to drive a browser"; exit 77; }
CHROMIUM=$chromium node "$BUILD/tests/browser/waits.js" "$work/page.html" ${SHOTS:+"$SHOTS"}
