#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Beside others.
# Source lines of JIT methods, from the jitdump that node writes: in two functions, one of a script and one of a module, the line
# that was written to be slow (divisions and roots that wait for one another) has most samples, in prof --by line and in list,
# and is shown as it stands in the file; so in the HTML report, with the instructions. Where a line calls a C++ builtin, record,
# prof and list name that line, and its function is the caller in the tree. Exit 77 without node.
set -u
command -v node >/dev/null || { echo "no node"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
mkdir -p of/the/program
cat >of/the/program/script.cjs <<'J'
exports.roots = function roots(n) {
  let s = 1, t = 2, u = 3.5;
  for (let i = 0; i < n; i++) {
    s = (s + (t ^ i)) | 0;
    t = (t ^ (s << 3)) | 0;
    u = Math.sqrt(1 / Math.sqrt(1 / Math.sqrt(1 / Math.sqrt(1 / Math.sqrt(1 / Math.sqrt(1 / (u + 1.25))))))); // slow
    t = (t + 5) | 0;
  }
  return s ^ t ^ u;
};
J
cat >of/the/program/module.mjs <<'J'
import script from "./script.cjs";

function plus(s, i) {
  return (s + i) | 0;
}
function quotients(n) {
  let s = 1, u = 3.5;
  for (let i = 0; i < n; i++) {
    u = 1 / (u + 1 / (u + 1 / (u + 1 / (u + 1 / (u + 1 / (u + 1 / (u + 0.125))))))); // slow
    s = plus(s, i);
    s = s ^ (s << 5);
  }
  return s ^ u;
}
let x = 0;
function both(ms) {
  for (const end = Date.now() + ms; Date.now() < end;) x ^= script.roots(1e5) ^ quotients(1e5);
}
both(800);
for (let i = 0; i < 300; i++) { // node writes its file in pieces of 32 KiB
  const f = new Function("n", "let s = " + i + "; for (let i = 0; i < n; i++) s = (s * 3 + i) | 0; return s;");
  for (let k = 0; k < 50; k++) x ^= f(3000);
}
both(3000);
console.log(x);
J
cat >parsed.js <<'J'
const text = JSON.stringify(Array.from({ length: 200 }, (_, i) => ({ id: i, name: "n" + i, list: [i, i + 1] })));
function cheap(n) {
  let s = 0;
  for (let i = 0; i < n; i++) s += i & 3;
  return s;
}
function work(n) {
  let r = 0;
  for (let i = 0; i < n; i++) {
    r += cheap(20);
    const parsed = JSON.parse(text); // slow
    r += parsed.length;
    r += cheap(i & 15);
  }
  return r;
}
function main(us) {
  let t = 0;
  for (const end = process.cpuUsage().user + us; process.cpuUsage().user < end;) t += work(100);
  return t;
}
let t = main(3e5);
for (let i = 0; i < 300; i++) { // as above: only what the file holds has names
  const f = new Function("n", "let s = " + i + "; for (let i = 0; i < n; i++) s = (s * 3 + i) | 0; return s;");
  for (let k = 0; k < 50; k++) t ^= f(3000);
}
console.log(t + main(1.5e6));
J
cat >other.js <<'J'
let x = 0;
for (let i = 0; i < 400; i++) {
  const f = new Function("n", "let s = " + i + "; for (let i = 0; i < n; i++) s = (s * 5 + i) | 0; return s;");
  for (let k = 0; k < 50; k++) x ^= f(5000);
}
J
"$CYCLESCOPE" record -F 1000 --no-bursts -o merged -- node --perf-prof other.js >said 2>&1 || { cat said; exit 1; }
"$CYCLESCOPE" record -F 1000 --no-bursts -o store -- node --perf-prof of/the/program/module.mjs >said 2>&1 || { cat said; exit 1; }
ls jit-*.dump >/dev/null 2>&1 || { echo "this node writes no jitdump"; exit 77; }
"$CYCLESCOPE" prof --by line --json --top 0 --store store >lines.json || exit 1
"$CYCLESCOPE" report --html page.html store >/dev/null || exit 1
for f in roots quotients; do
    "$CYCLESCOPE" list $f --json --all --store store >$f.json 2>err || { echo "list $f: $(cat err)"; exit 1; }
    "$CYCLESCOPE" list $f --store store >$f.txt || exit 1
done
python3 - <<'P' || exit
import json, os, re, sys
rows = json.load(open("lines.json"))["rows"]
page = json.loads(re.search(r'<script type="application/json" id="profile">(.*?)</script>', open("page.html").read(), re.S).group(1))
for function, file in (("roots", "script.cjs"), ("quotients", "module.mjs")):
    path = os.path.realpath("of/the/program/" + file)
    text = open(path).read().split("\n")
    slow = next(i + 1 for i, line in enumerate(text) if line.endswith("// slow"))
    seen = {}
    for row in rows:
        if row["procedure"].startswith(f"JS:*{function} "):
            where = tuple((row["line"] or ":0").rsplit(":", 1))
            seen[where] = seen.get(where, 0) + sum(row["samples"].values())
    total = sum(seen.values())
    if total < 100:
        print(f"only {total} samples in {function}: the machine is busy")
        sys.exit(77)
    most = most_seen = max(seen, key=seen.get)
    assert os.path.realpath(most[0]) == path and most[1] == str(slow), (function, path, slow, seen)
    assert seen[most] > 0.5 * total, (function, seen)
    lined = sum(n for (f, line), n in seen.items() if line != "0")
    assert lined > 0.9 * total, (function, seen)
    listed = json.load(open(function + ".json"))["lines"]
    most = max(listed, key=lambda row: row["samples"] or 0)
    assert most["line"] == slow, (function, slow, listed)
    text = open(function + ".txt").read()
    assert re.search(r"(?m)^ *[1-9][0-9,]* .*// slow$", text), text
    detail = next(page["details"][r[2 + len(page["events"])]] for r in page["rows"]
                  if (r[0] or "").startswith(f"JS:*{function} ") and r[2 + len(page["events"])] >= 0)
    assert os.path.realpath(detail["file"]) == path, detail["file"]
    most = max(detail["lines"], key=lambda row: row[1])
    assert most[0] == slow and most[2].endswith("// slow"), most
    by_line = {}
    for _, n, line, *_ in detail["instructions"]:
        by_line[line] = by_line.get(line, 0) + n
    assert len(detail["instructions"]) > 20 and max(by_line, key=by_line.get) == slow, by_line
    print(f"{function}: {100 * seen[most_seen] / total:.1f} % of {total} samples on {file}:{slow}")
P
# Time in a C++ builtin is its caller's, and its line's, in each report.
slow=$(grep -n '// slow' parsed.js | cut -d: -f1)
"$CYCLESCOPE" record -v -F 1000 --no-bursts -o parsed -- node --perf-prof parsed.js >said 2>&1 || { cat said; exit 1; }
"$CYCLESCOPE" prof --json --store parsed >parsed.json && "$CYCLESCOPE" list parsed.js --json --store parsed >listed.json &&
    "$CYCLESCOPE" tree --min 0 --json --store parsed >tree.json && python3 - "$slow" <<'P' || { cat said; exit 1; }
import json, re, sys
slow, said = int(sys.argv[1]), open("said").read()
assert re.search(r"at parsed\.js:%d \(JS:[*+]work " % slow, said), "record names another line"
hottest = json.load(open("parsed.json"))["hottest_line"]
assert hottest["line"] == slow and "work" in hottest["function"], hottest
assert json.load(open("listed.json"))["top_lines"][0]["line"] == slow
assert float(re.search(r"call chains: ([0-9.]+) % complete", said)[1]) > 80
above, callers, all_of_it = [], {}, 0
for row in json.load(open("tree.json"))["rows"]:
    del above[row["depth"]:]
    name = row["procedure"] or ""
    if "Builtin_JsonParse" in name:
        caller = next((n for n in reversed(above) if not n.startswith("Builtins_CEntry")), "")
        callers[caller] = callers.get(caller, 0) + row["total"]
    above.append(name)
script = sum(n for name, n in callers.items() if re.match(r"JS:.?work |Builtins_InterpreterEntryTrampoline", name))
assert callers and script > 0.9 * sum(callers.values()), callers
P
# A store that has other methods of node gets these with code and lines.
"$CYCLESCOPE" store merge merged store >said || { cat said; exit 1; }
"$CYCLESCOPE" list roots --store merged >merged.txt 2>&1
grep -q '^ *[1-9][0-9,]* .*// slow' merged.txt || { echo "merged:"; head -20 merged.txt; exit 1; }
command -v chromium >/dev/null || { echo "the page was checked without a browser"; exit 0; }
timeout 200 chromium --headless --no-sandbox --disable-gpu --user-data-dir="$work/chromium" --virtual-time-budget=4000 \
    --dump-dom "file://$work/page.html#p=JS%3A*roots" >dom.html 2>said || { echo "chromium doesn't run here: $(tail -n 1 said)"; exit 0; }
if ! grep -q 'Source: .*of/the/program/script.cjs' dom.html || ! grep -q '<td[^>]*>[^<]*sqrt' dom.html; then
    echo "the browser shows no code of roots"
    exit 1
fi
