#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Beside others.
# The code of JIT methods that a runtime leaves in a jitdump file (node --perf-prof): list, cfg, edges and calc read the
# instructions that objdump reads in the same bytes, samples lie on them, and bursts saw a branch go each way as often as the
# program says (one turn in four). Exit 77 without node.
set -u
for tool in node objdump; do command -v $tool >/dev/null || { echo "no $tool"; exit 77; }; done
[ "$(uname -m)" = x86_64 ] || { echo "the test's disassembler is told x86-64"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
bad=0
fail() { echo "failed: $*"; bad=1; }
cat >turns.js <<'J'
function turns(n) {
  let s = 1, t = 2;
  for (let i = 0; i < n; i++) {
    if ((i & 3) === 0) s = (s + (t ^ i)) | 0; // one turn in four
    else t = (t + (s ^ i)) | 0;
  }
  return s ^ t;
}
let x = 0;
for (const end = Date.now() + 800; Date.now() < end;) x ^= turns(1e6);
for (let i = 0; i < 300; i++) { // node writes its file in pieces of 32 KiB
  const f = new Function("n", "let s = " + i + "; for (let i = 0; i < n; i++) s = (s * 3 + i) | 0; return s;");
  for (let k = 0; k < 50; k++) x ^= f(3000);
}
for (const end = Date.now() + 3000; Date.now() < end;) x ^= turns(1e6);
console.log(x);
J
"$CYCLESCOPE" record -F 1000 --burst-rate 40 -o store -- node --perf-prof turns.js >said 2>&1 || { cat said; exit 1; }
ls jit-*.dump >/dev/null 2>&1 || { echo "this node writes no jitdump"; exit 77; }
for report in list edges cfg calc; do
    options=--json
    [ $report != list ] || options="--json --instructions --all"
    # shellcheck disable=SC2086
    "$CYCLESCOPE" $report turns $options --store store >$report.json 2>err || fail "$report: $(cat err)"
done
[ $bad = 0 ] || { tail -n 5 said; exit 1; }
cat >check.py <<'P'
import glob, json, re, struct, subprocess, sys
dump = open(glob.glob("jit-*.dump")[0], "rb").read()
at, codes = struct.unpack_from("<I", dump, 8)[0], []
while at + 16 <= len(dump):
    kind, size = struct.unpack_from("<II", dump, at)
    if size < 16 or at + size > len(dump):
        break
    if kind == 0:
        code_size = struct.unpack_from("<Q", dump, at + 40)[0]
        name = dump[at + 56:dump.index(b"\0", at + 56)].decode()
        if re.match(r"JS:\*turns ", name):                     # what TurboFan made, of which there may be several
            codes.append(dump[at + size - code_size:at + size])
    at += size
assert codes, "no code of turns in the jitdump"
def starts(code):
    open("code.bin", "wb").write(code)
    text = subprocess.run(["objdump", "-D", "-b", "binary", "-m", "i386:x86-64", "code.bin"], check=True, capture_output=True, text=True).stdout
    return {int(m, 16) for m in re.findall(r"(?m)^ +([0-9a-f]+):\t", text)}
number = lambda x: int(x, 0) if isinstance(x, str) else x
low = lambda x: number(x) & 0xffffff
listing, edges, cfg = (json.load(open(f"{f}.json")) for f in ("list", "edges", "cfg"))
name = listing["procedure"]
assert name.startswith("JS:*turns "), name
rows = listing["instructions"]
sampled = {low(r["offset"]): sum(r["samples"].values()) if isinstance(r["samples"], dict) else r["samples"] for r in rows}
ours = set(sampled)
total = sum(sampled.values())
if total < 300:
    print(f"only {total} samples: the machine is busy")
    sys.exit(77)
true = [s for s in map(starts, codes) if len(ours - s) <= len(ours) // 50]  # behind its instructions lies data
assert true, f"{sorted(ours)[:20]} are no instructions of turns"
blocks = {low(b["block"]) for b in cfg["blocks"]}
assert len(blocks) > 5 and blocks <= true[0] | ours, sorted(blocks - true[0])
seen = {}
for e in edges["edges"]:
    if e["from"] is None:
        continue
    seen.setdefault(low(e["from"]), []).append(e.get("frequency") or 0)
ways = [sorted(w) for w in seen.values() if len(w) == 2 and sum(w) > 0]
quarter = [w[0] / sum(w) for w in ways if sum(w) > 0.3 * max(sum(v) for v in ways) and 0.1 < w[0] / sum(w) < 0.4]
if re.search("(?m)^0 bursts", open("said").read()):
    print("no bursts here")
    sys.exit(77)
assert quarter and all(abs(q - 0.25) < 0.05 for q in quarter), (quarter, ways)
print(f"{name}: {total} samples on {len(ours)} instructions, {len(blocks)} blocks, a branch {100 * quarter[0]:.1f} % of the time one way")
P
python3 check.py
rc=$?
[ $rc = 0 ] || exit $rc
# The hottest method is what reports take that are given no name, and sum has its cause.
"$CYCLESCOPE" list --json --store store >list.json && grep -q '"procedure": *"JS:\*turns' list.json || fail "list without a name takes $(grep -m 1 '"procedure"' list.json)"
"$CYCLESCOPE" calc --store store >calc 2>&1
head -n 3 calc | grep -q 'JS:\*turns' || fail "calc without a name explains $(head -n 3 calc)"
"$CYCLESCOPE" sum --store store >sum 2>&1
sed -n '/best CPI/,$p' sum | grep -q 'JS:\*turns' || fail "sum without the method: $(cat sum)"
"$CYCLESCOPE" prof --store store >prof 2>&1; grep -q 'cyclescope calc .*JS:\*turns' prof || fail "prof doesn't lead to it: $(cat prof)"
# Versions have other numbers in each recording: diff takes those of a method together.
"$CYCLESCOPE" record -F 1000 --no-bursts -o second -- node --perf-prof turns.js >said 2>&1 || fail "$(cat said)"
for store in store second; do "$CYCLESCOPE" prof --json --top 0 --store $store >$store.json 2>/dev/null; done
"$CYCLESCOPE" diff --json --top 0 store second >diff.json 2>err || fail "diff: $(cat err)"
cat >versions.py <<'P'
import json, re
def of(file):
    sums, versions = {}, 0
    for row in json.load(open(file))["rows"]:
        name = row["procedure"] or ""
        if name.startswith("JS:"):
            versions += bool(re.search(r" \(\d\)$", name))
            plain = re.sub(r" \(\d\)$", "", name)
            sums[plain] = sums.get(plain, 0) + row["samples"]["cpu-clock"]
    return sums, versions
rows = [r for r in json.load(open("diff.json"))["rows"] if (r["procedure"] or "").startswith("JS:")]
assert of("store.json")[1] + of("second.json")[1] > 0, "no versions"
for side, store in (("samples_a", "store.json"), ("samples_b", "second.json")):
    sums, _ = of(store)
    assert {r["procedure"]: r[side] for r in rows if r[side]} == {n: s for n, s in sums.items() if s}, (side, rows, sums)
P
python3 versions.py || fail "diff of versions"
# Another code of the same name is another row, and what the store kept before is recognised.
"$CYCLESCOPE" record -F 1000 --no-bursts -o store -- node --perf-prof turns.js >said 2>&1 || fail "$(cat said)"
"$CYCLESCOPE" calc turns --store store >calc 2>&1 || fail "calc of a second recording: $(cat calc)"
grep -q 'JS:\*turns' calc || fail "$(head -n 3 calc)"
"$CYCLESCOPE" record -F 1000 --no-bursts --no-keep-code -o bare -- node --perf-prof turns.js >said 2>&1 || fail "$(cat said)"
"$CYCLESCOPE" calc turns --store bare >calc 2>&1 && fail "calc without code: $(head -n 3 calc)"
grep -q 'no code of .*keep-code' calc || fail "calc without code says: $(cat calc)"
exit $bad
