#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Beside others.
# Control flow of real images; frequencies of a small program against callgrind.
set -u
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "not ok: $*"; exit 1; }

images=()
for f in /usr/lib/x86_64-linux-gnu/libc.so.6 /usr/lib/x86_64-linux-gnu/libstdc++.so.6 /usr/bin/python3 /usr/bin/sqlite3 /usr/bin/xz; do
    [ -e "$f" ] && images+=("$(realpath "$f")")
done
"$CYCLESCOPE" cfg --audit --json "${images[@]}" >"$work/audit" || fail "audit"
python3 - "$work/audit" <<'END' || fail "something in these images does not decode, or too few jumps are resolved: $(cat "$work/audit")"
import json, sys
rows = json.load(open(sys.argv[1]))['images']
assert len(rows) >= 3
for r in rows:
    assert r['undecoded'] == 0, r
    assert r['instructions'] > 5000, r
    assert r['missing'] <= 0.01 * r['procedures'], r
END
echo "ok: every instruction of ${#images[@]} images decodes"

# independent truth: objdump's instructions of one procedure, and its jump table
program=$BUILD/tests/programs/branches
ours=$("$CYCLESCOPE" cfg --file "$program" work --json | python3 -c 'import json,sys; print(sum(b["instructions"] for b in json.load(sys.stdin)["blocks"]))')
theirs=$(objdump -d --no-show-raw-insn "$program" | awk '/<work>:$/{on=1;next} /^$/{on=0} on && !/\t(nop|nopw|nopl|data16|xchg +%ax)/{n++} END{print n}')
[ "$ours" -eq "$theirs" ] || [ "$ours" -eq $((theirs + 1)) ] || [ "$ours" -eq $((theirs + 2)) ] || fail "work has $theirs instructions, cfg found $ours"
"$CYCLESCOPE" cfg --file "$program" step | grep -q '1 resolved by a jump table' || fail "the switch's jump table was not resolved"
"$CYCLESCOPE" cfg --file "$program" nowhere 2>/dev/null && fail "an unknown procedure was accepted"
"$CYCLESCOPE" cfg --file "$program" step --dot | grep -q '^digraph' || fail "no picture"
echo "ok: cfg"

command -v valgrind >/dev/null || { echo "valgrind is missing"; exit 77; }
valgrind --tool=callgrind --dump-instr=yes --collect-jumps=yes --callgrind-out-file="$work/truth" "$program" 300000 >/dev/null 2>&1 || fail "callgrind"
"$CYCLESCOPE" record -F 1000 --bursts --burst-rate 50 -o "$work/store" -- bash -c "for i in 1 2 3 4 5 6; do $program 10000000; for ((k = 0; k < 50000; k++)); do :; done; done" >"$work/log" 2>&1
"$CYCLESCOPE" accuracy --json "$work/store" "$work/truth" >"$work/accuracy" || fail "accuracy: $(cat "$work/log")"
python3 - "$work/accuracy" <<'END' || fail "the estimates are worse than they can be"
import json, sys
a = json.load(open(sys.argv[1]))
m = {r['method']: r for r in a['methods']}
print({k: (round(r['within_10']), round(r['edges_10'])) for k, r in m.items()}, a['bursts'], 'bursts')
assert set(m) == {'equal', 'naive', 'average', 'dcpi', 'paths', 'raw bursts', 'untimed', 'bursts', 'fitted', 'redrawn'}, m.keys()
causes = {c['cause']: c for c in a['causes']}
for k in ('over_5', 'over_10', 'over_15'):
    assert abs(causes['missing'][k] + causes['noise'][k] + causes['bias'][k] - causes['all of it'][k]) < 0.01, causes
if a['bursts'] < 20:
    print('too few bursts on this machine now'); sys.exit(0)
assert m['bursts']['within_10'] > 80 and m['bursts']['edges_10'] > 80
assert m['bursts']['edges_10'] > m['dcpi']['edges_10']
END
# the program is judged, not another image that runs more: libraries select other routines under valgrind
{ cat "$work/truth"; printf 'ob=(999999) /usr/bin/bash\nfl=(999999) x\nfn=(999999) x\n0x1000 1 1000000000000000000\n'; } >"$work/truth-two"
"$CYCLESCOPE" accuracy --json "$work/store" "$work/truth-two" | grep -q '"image": ".*/branches"' || fail "another image was judged than the program"
"$CYCLESCOPE" accuracy --json --image bash "$work/store" "$work/truth-two" | grep -q '"image": ".*/bash"' || fail "--image was not followed"
"$CYCLESCOPE" edges --store "$work/store" work >"$work/edges" || fail "edges"
grep -q 'taken' "$work/edges" || fail "edges printed nothing: $(cat "$work/edges")"
"$CYCLESCOPE" accuracy "$work/store" /dev/null 2>"$work/err" && fail "an empty truth was accepted"
grep -q callgrind "$work/err" || fail "no sentence about the truth's format"
echo "ok: frequencies"
