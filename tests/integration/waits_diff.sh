#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# diff --waits against the programs' own logs: a wait that grew is found, by as much as they say; shares of runs of two lengths
# are alike; a wait that is new is told.
set -u
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. "$(dirname "$0")/../waits_possible.sh"
cd "$work" || exit 1
waiting=$BUILD/tests/programs/waiting
fail() { echo "not ok: $*"; exit 1; }
for run in 1 2; do
    ahead "$CYCLESCOPE" record --waits --no-bursts -o a -- "$waiting" sleeping-lock 1 >>a.log 2>/dev/null || fail "record A"
    ahead "$CYCLESCOPE" record --waits --no-bursts -o b -- "$waiting" sleeping-lock 2 >>b.log 2>/dev/null || fail "record B"
done
ahead "$CYCLESCOPE" record --waits --no-bursts -o c -- "$waiting" pipe 1 >/dev/null 2>&1 || fail "record C"
"$CYCLESCOPE" diff --waits a b --json >grown || fail "diff of two stores"
"$CYCLESCOPE" diff --waits a b --shares --all --json >shares || fail "diff of shares"
"$CYCLESCOPE" diff --waits a c --by kind --json >kinds || fail "diff by kind"
"$CYCLESCOPE" diff --waits --store a --json >last || fail "diff of the last two recordings"
"$CYCLESCOPE" diff --waits a b >text || fail "diff in text"
grep -q 'mutex .*take_lock .*guilty: sleep' text || fail "text: $(cat text)"
python3 - <<'PY' || exit 1
import json, re
def waited(log):
    times = [float(t) for t in re.findall(r"^waited \S+ ([\d.]+)", open(log).read(), re.M)]
    return sum(times) / len(times)
grown, shares, kinds, last = (json.load(open(n)) for n in ("grown", "shares", "kinds", "last"))
bad = []
def lock(d):
    return next((r for r in d["rows"] if r["kind"] == "mutex" and r["where"] == "take_lock"), None)
a, b, row = waited("a.log"), waited("b.log"), lock(grown)
if [s["runs"] for s in grown["sides"]] != [2, 2] or [s["runs"] for s in last["sides"]] != [1, 1]:
    bad.append(f"runs: {grown['sides']}, {last['sides']}")
first = next(r for r in grown["rows"] if not r["idle"] and r["kind"] != "sleep")
if not row or row["significant"] != "yes" or first is not row:
    bad.append(f"the wait that grew: {row}, first is {first}")
elif abs(row["change"] - (b - a)) > 0.05 * (b - a) + 0.1 or abs(row["change"] - (row["b"] - row["a"])) > 1e-6:
    bad.append(f"it grew by {b - a} s, diff says {row}")
if not lock(shares) or lock(shares)["significant"] != "no" or not 0.85 < lock(shares)["ratio"] < 1.15:
    bad.append(f"its share is the same in both: {lock(shares)}")
by = {r["kind"]: r for r in kinds["rows"]}
if by["pipe"]["a"] != 0 or by["pipe"]["significant"] != "yes" or by["pipe"]["ratio"] is not None or by["mutex"]["b"] != 0:
    bad.append(f"by kind: {by}")
if lock(last) and lock(last)["significant"] == "yes":
    bad.append(f"two runs of one program: {lock(last)}")
print("\n".join("not ok: " + b for b in bad) or "ok")
raise SystemExit(bool(bad))
PY
"$CYCLESCOPE" record --no-bursts -o none -- sh -c 'i=0; while [ $i -lt 300000 ]; do i=$((i + 1)); done' >/dev/null 2>&1
"$CYCLESCOPE" diff --waits none a >/dev/null 2>said && fail "diff of a recording without waits"
grep -q 'none has no waits.*record --waits' said || fail "of a recording without waits: $(cat said)"
for option in --total '--event cycles' '--fail-above 5'; do
    # shellcheck disable=SC2086
    "$CYCLESCOPE" diff --waits a b $option >/dev/null 2>&1
    [ $? = 2 ] || fail "$option went with --waits"
done
