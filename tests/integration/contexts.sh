#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Call chains: totals, callers and callees against callgrind's inclusive costs of a program that always runs the same
# way and as many instructions in any time; what is exported, added up by other readers, gives the same totals.
set -eu
command -v valgrind >/dev/null || { echo "no valgrind here to say what calls cost"; exit 77; }
work=$(mktemp -d)
chmod 755 "$work" # what others can't read isn't shown
trap 'rm -rf "$work"' EXIT
cat >"$work/chain.c" <<'C'
#include <stdlib.h>
#define APART __attribute__((noipa))
static volatile unsigned long sink;
APART void nothing(void) {}
APART unsigned long spin(unsigned long n) { nothing(); /* so that it has a frame */ unsigned long x = n; for (unsigned long i = 0; i < n; i++) x = x * 3 + i; return x; }
APART unsigned long leaf(unsigned long n) { return spin(n) + 1; }
APART unsigned long left(unsigned long n) { return leaf(3 * n) + spin(n) + 2; }
APART unsigned long right(unsigned long n) { return leaf(n) + 3; }
APART unsigned long again(unsigned long n, int depth) { return depth ? again(n, depth - 1) + spin(n) + 4 : right(n) + 5; }
APART unsigned long both(unsigned long n) { return left(n) + right(2 * n) + 6; }
int main(int argc, char **argv)
{
    for (long i = argc > 1 ? atol(argv[1]) : 1; i > 0; i--)
        sink += both(1000) + again(500, 4);
}
C
gcc -O2 -g -fno-omit-frame-pointer -fno-shrink-wrap -fno-optimize-sibling-calls -o "$work/chain" "$work/chain.c"
valgrind --tool=callgrind --callgrind-out-file="$work/truth" "$work/chain" 300 >/dev/null 2>&1
"$CYCLESCOPE" record -g -F 4000 --no-bursts -o "$work/store" -- "$work/chain" 250000 >/dev/null 2>&1
"$CYCLESCOPE" record -g -F 1000 --burst-rate 100 -o "$work/bursts" -- "$work/chain" 60000 >/dev/null 2>"$work/err" || cat "$work/err"
for f in folded pprof speedscope; do "$CYCLESCOPE" export --store "$work/store" --event cpu-clock --format $f --to "$work/out.$f"; done
if command -v protoc >/dev/null; then
    cat >"$work/p.proto" <<'P'
syntax = "proto3";
message S { repeated uint64 location_id = 1; repeated int64 value = 2; }
message L { uint64 id = 1; repeated N line = 4; }
message N { uint64 function_id = 1; }
message F { uint64 id = 1; int64 name = 2; }
message P { repeated S sample = 2; repeated L location = 4; repeated F function = 5; repeated string string_table = 6; }
P
    zcat "$work/out.pprof" | protoc -I "$work" --decode=P p.proto >"$work/out.text"
fi
python3 - "$CYCLESCOPE" "$work" <<'PY'
import collections, json, os, re, subprocess, sys
tool, work = sys.argv[1:]
NAMES = ["main", "both", "left", "right", "again", "leaf", "spin"]
bad = 0

def complain(*what):
    global bad
    bad = 1
    print("not ok:", *what)

def ours(*words):
    return json.loads(subprocess.run([tool, words[0], "--json", "--store", work + "/store", *words[1:]], check=True, capture_output=True, text=True).stdout)

# callgrind's file: the cost lines of each function, and what its calls cost in all.
self_cost, edge, calls, fn, names, callee, cost_follows = collections.Counter(), collections.Counter(), collections.Counter(), None, {}, None, False
def named(text):
    number, name = re.match(r"\((\d+)\)(?: (.*))?", text).groups()
    if name:
        names[number] = name.split("'")[0]
    return names[number]
for line in open(work + "/truth"):
    if line.startswith("fn="):
        fn = named(line[3:].strip())
    elif line.startswith("cfn="):
        callee = named(line[4:].strip())
    elif line.startswith("calls="):
        cost_follows = True
        calls[fn, callee] += int(line[6:].split()[0])
    elif re.match(r"[+\-*\d]", line) and fn:
        cost = int(line.split()[-1])
        if cost_follows:
            edge[fn, callee] += cost
        else:
            self_cost[fn] += cost
        cost_follows = False
# Inclusive: what was spent in it, and in calls of others (again calls itself: that is inside already).
truth = {}
for f in NAMES:
    truth[f] = self_cost[f] + sum(c for (a, b), c in edge.items() if a == f and b != f)
whole = truth["main"]
if "again'2" in names.values():
    complain("callgrind tells cycles apart: read them differently")

rows = {r["procedure"]: r for r in ours("prof", "--sort", "total")["rows"]}
total = ours("tree")["with_chains"]
if total < 2000:
    print(f"only {total} samples: the machine gave the program too little time")
    sys.exit(77)
seen = {f: rows[f]["total"] for f in NAMES}
error = 4 * 50 / total ** 0.5 + 1  # points: four standard errors of a share of a half, and one for the rest of the process
for f in NAMES:
    want, got = 100 * truth[f] / whole, 100 * seen[f] / seen["main"]
    if abs(want - got) > error:
        complain(f"total of {f}: {got:.1f} %, callgrind says {want:.1f} %, allowed {error:.1f}")

# Callers and callees of leaf and both, in shares of it.
def shares(pairs):
    of = sum(pairs.values())
    return {k: 100 * v / of for k, v in pairs.items()} if of else {}
for f, want in (("leaf", {a: c for (a, b), c in edge.items() if b == "leaf"}), ("right", {a: c for (a, b), c in edge.items() if b == "right"})):
    answer = ours("callers", f, "--no-inlines")
    got = shares({r["procedure"]: r["samples"] for r in answer["rows"]})
    if sum(r["samples"] for r in answer["rows"]) != answer["total"] or answer["total"] != seen[f]:
        complain(f"callers of {f} don't add up to its total")
    for k, v in shares(want).items():
        if abs(got.get(k, 0) - v) > 2 * error:
            complain(f"{f} from {k}: {got.get(k, 0):.1f} %, callgrind says {v:.1f} %")
for f in ("both", "left"):
    answer = ours("callees", f, "--no-inlines")
    got = shares({r["procedure"]: r["samples"] for r in answer["rows"]})
    if sum(r["samples"] for r in answer["rows"]) != answer["total"]:
        complain(f"callees of {f} don't add up to its total")
    for k, v in shares({b: c for (a, b), c in edge.items() if a == f}).items():
        if abs(got.get(k, 0) - v) > 2 * error:
            complain(f"{f} calls {k}: {got.get(k, 0):.1f} %, callgrind says {v:.1f} %")

# The tree: children never have more than their parent, selves add up to everything.
tree = ours("tree", "--min", "0")["rows"]
if sum(r["self"] for r in tree) != total:
    complain("the tree's own samples don't add up", sum(r["self"] for r in tree), total)
stack = []
for r in tree:
    stack[r["depth"]:] = [[r["total"] - r["self"]]]
    if r["depth"]:
        stack[r["depth"] - 1][0] -= r["total"]
        if stack[r["depth"] - 1][0] < 0:
            complain("a caller has less than its callees", r)
inverted = collections.Counter()
for r in ours("tree", "--inverted", "--min", "0", "--no-inlines")["rows"]:
    if r["depth"] == 0:
        inverted[r["procedure"]] += r["total"]
for f in NAMES:
    if inverted[f] != rows[f]["samples"]["cpu-clock"]:
        complain(f"{f} has {inverted[f]} samples of its own inside out, prof says {rows[f]['samples']['cpu-clock']}")

# Lines with what they called: all of main's time is in its loop, and in the line that calls.
listed = ours("list", "main", "--image", "chain")
best = max(listed["lines"], key=lambda l: l["total"] or 0)
if "both(1000)" not in best["source"] or best["total"] < 0.95 * listed["total"] or listed["total"] != seen["main"]:
    complain("list main: its totals", best, listed["total"], seen["main"])

# Calls counted by bursts: none that callgrind hasn't, and of those that are said with confidence the numbers, roughly. How near they
# come, and how many are seen, is bench/calls-truth's to say: few bursts on a busy machine tell little.
counted, sure = {}, set()
for f in NAMES:
    answer = subprocess.run([tool, "callees", f, "--json", "--no-inlines", "--store", work + "/bursts"], capture_output=True, text=True)
    for r in json.loads(answer.stdout)["rows"] if answer.returncode == 0 else []:
        if r["calls"] and r["procedure"] in NAMES:
            counted[f, r["procedure"]] = r["calls"]
            if r["calls_confidence"] in ("high", "medium"):
                sure.add((f, r["procedure"]))
said = subprocess.run([tool, "callees", "main", "--store", work + "/bursts"], capture_output=True, text=True)
if counted and not re.search(r"Calls come from \d+ bursts?\. .* --burst-rate 60", (said.stdout + said.stderr).replace("\n", " ")):
    complain("few bursts, and no word of how to have more:", said.stdout + said.stderr)
want = {pair: n for pair, n in calls.items() if set(pair) <= set(NAMES)}
if len(want) != 11:
    complain("callgrind's calls", want)
if not counted:
    print("no bursts here: calls aren't compared:", open(work + "/err").read().strip())
else:
    scale = sum(want.values()) / sum(counted.values())
    off = {pair: round(counted.get(pair, 0) * scale / n, 3) for pair, n in want.items()}
    sure &= set(want)
    if set(counted) - set(want):
        complain("calls that callgrind hasn't:", set(counted) - set(want))
    scale = sum(want[p] for p in sure) / sum(counted[p] for p in sure) if len(sure) > 3 else scale
    off = {pair: round(counted.get(pair, 0) * scale / n, 3) for pair, n in want.items()}
    if len(sure) > 3 and any(not 0.5 < off[p] < 2 for p in sure):
        complain("calls over callgrind's:", off)
    print("calls over callgrind's:", ", ".join(f"{a}-{b} {v:.2f}" for (a, b), v in sorted(off.items())))

# Exports, read by others.
def totals_of(chains):
    out = collections.Counter()
    for frames, n in chains:
        for f in set(frames):
            out[f] += n
    return out
folded = [(l.rsplit(" ", 1)[0].split(";"), int(l.rsplit(" ", 1)[1])) for l in open(work + "/out.folded")]
scope = json.load(open(work + "/out.speedscope"))
frames = [f["name"] for f in scope["shared"]["frames"]]
read = {"folded": totals_of(folded),
        "speedscope": totals_of(([frames[i] for i in s], w) for p in scope["profiles"] for s, w in zip(p["samples"], p["weights"]))}
if os.path.exists(work + "/out.text"):
    strings, functions, places, samples = [], {}, {}, []
    for kind, body in re.findall(r"^(\w+) \{\n(.*?)^\}|^string_table: .*$", open(work + "/out.text").read(), re.M | re.S):
        numbers = lambda key, text=None: [int(n) for n in re.findall(rf"\b{key}: (-?\d+)", text if text is not None else body)]
        if kind == "function":
            functions[numbers("id")[0]] = (numbers("name") or [0])[0]
        elif kind == "location":
            places[numbers("id")[0]] = numbers("function_id")
        elif kind == "sample":
            samples.append((numbers("location_id"), sum(numbers("value"))))
    strings = [s.encode().decode("unicode_escape") for s in re.findall(r'^string_table: "(.*)"$', open(work + "/out.text").read(), re.M)]
    read["pprof"] = totals_of(([strings[functions[f]] for p in at for f in places[p]], n) for at, n in samples)
for form, got in read.items():
    for f in NAMES:
        if got[f] != seen[f]:
            complain(f"{form}: {f} has {got[f]} samples in all, prof says {seen[f]}")
print(f"{total} samples, allowed {error:.1f} points:", ", ".join(f"{f} {100 * seen[f] / seen['main']:.1f} % ({100 * truth[f] / whole:.1f})" for f in NAMES), "; read:", ", ".join(read))
sys.exit(bad)
PY
