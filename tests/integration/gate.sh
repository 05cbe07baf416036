#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# gate: a program with a longer loop is slower, in that function and that loop; the same binary isn't; too little evidence is no
# verdict; an option decides what fails. What it writes is read by other parsers. Results files: by hand-made numbers; hostile ones.
set -u
command -v gcc >/dev/null || { echo "no gcc"; exit 77; }
work=$(mktemp -d -p /dev/shm)
chmod 755 "$work"
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
fail() { echo "not ok: $*"; exit 1; }
gate() { "$CYCLESCOPE" gate "$@" >said 2>err; code=$?; }

cat >app.c <<'C'
#define TURNS(n, s, by) for (unsigned long i = 0; i < (n); i++) __asm__ volatile("" : "=r"(s) : "0"((s) * (by) + i))
#define REST(name) __attribute__((noinline)) void name(void) { unsigned long s = 1; TURNS(20000000, s, 1000003); }
REST(one)
REST(two)
__attribute__((noinline)) void parse(void)
{
    unsigned long s = 1, more = MORE;
    __asm__("" : "+r"(more));
    TURNS(20000000, s, 1000003);
    TURNS(more, s, 1000033);
}
int main(void) { one(); parse(); two(); }
C
mkdir old new
gcc -g -O1 -DMORE=1 -o old/app app.c && gcc -g -O1 -DMORE=40000000 -o new/app app.c || fail "gcc"

# A walk through 32 MB that misses the caches, with as many instructions: the walk is to blame, and no cause but memory.
cat >walk.c <<'C'
#include <stdlib.h>
enum { WORDS = 1 << 22 };
volatile unsigned long sum;
__attribute__((noinline)) void walk(unsigned long *word)
{
    unsigned long stride = STRIDE;
    __asm__("" : "+r"(stride));
    for (unsigned long i = 0; i < 20000000; i++)
        sum += word[i * stride % WORDS];
}
__attribute__((noinline)) void rest(void)
{
    for (unsigned long i = 0, s = 1; i < 50000000; i++)
        __asm__ volatile("" : "=r"(s) : "0"(s * 1000003 + i));
}
int main(void)
{
    unsigned long *word = malloc(WORDS * sizeof *word);
    for (unsigned long i = 0; i < WORDS; i++)
        word[i] = i;
    walk(word);
    rest();
}
C
mkdir near far
gcc -g -O1 -DSTRIDE=1 -o near/walk walk.c && gcc -g -O1 -DSTRIDE=1048583 -o far/walk walk.c || fail "gcc"
gate --for 12s --base-command near/walk --keep walks --json -- far/walk
[ $code = 1 ] || fail "a walk that misses: exit $code: $(cat said err)"
python3 - <<'P' || fail "a walk that misses: $(cat said)"
import json
said = json.load(open("said"))
first = said["guilty"][0]
assert first["function"] == "walk", first
# What misses the cache misses the TLB here, too: bursts of some runs tell the two apart.
assert first["cause"] in ("d-cache", "dtlb", "memory"), first
P
# Both sides' times, as many of each; a list that isn't one is refused.
[ "$(wc -l <walks/base.times)" = "$(wc -l <walks/head.times)" ] || fail "times: $(wc -l walks/*.times)"
echo "1 none" >>walks/head.times
gate --base walks/base.store --head walks/head.store
[ $code = 3 ] && grep -q "no list of times" err || fail "a damaged list of times: exit $code: $(cat said err)"

# A command that can't run twice at the same time is timed one after the other.
cat >lock.c <<'C'
#include <fcntl.h>
#include <unistd.h>
volatile unsigned long sum;
int main(void)
{
    int fd = open(LOCK, O_CREAT | O_EXCL | O_WRONLY, 0600);
    for (unsigned long i = 0; i < 50000000; i++)
        sum += i;
    return fd < 0 || unlink(LOCK) < 0;
}
C
gcc -O1 -DLOCK="\"$work/lock\"" -o lock lock.c || fail "gcc"
mv lock only-one
gate --for 8s --base-command ./only-one --keep locked -- ./only-one
[ $code != 3 ] && [ -s locked/base.times ] || fail "one at a time: exit $code: $(cat said err)"

# A loop of 40 M beside three of 20 M: pace grows by two thirds, all of it in parse. While it can't tell it asks for more runs.
for seconds in 2 10 40; do
    rm -rf runs
    gate --for ${seconds}s -F 2000 --keep runs --base-command "'$work/old/app'" --json --markdown m.md --sarif s.json --junit j.xml --annotations -- new/app
    python3 -c 'import json; exit([c for c in json.load(open("said"))["checks"] if c["check"] == "pace"][0]["chance"] > 0.0005)' && break
done
[ $code = 1 ] || fail "a longer loop: exit $code: $(cat said err)"
grep -q '^::error file=app.c,line=\(9\|10\),title=slower::parse' err || fail "annotations: $(cat err)"
python3 - <<'P' || fail "the longer loop: $(cat said)"
import json, xml.etree.ElementTree as et
said = json.load(open("said"))
check = {c["check"]: c for c in said["checks"]}
assert said["verdict"] == check["pace"]["verdict"] == "slower", said
assert check["pace"]["in_turn"] and check["pace"]["runs_base"] >= 4, check
assert 30 < check["pace"]["change_percent"] < 130, check
assert check["pace"]["low_percent"] < check["pace"]["change_percent"] < check["pace"]["high_percent"], check
guilty = said["guilty"][0]
assert guilty["function"] == "parse" and guilty["line"].rsplit(":", 1)[1] in ("9", "10"), guilty
assert not [g for g in said["guilty"] if g["function"] in ("one", "two", "main")], said["guilty"]
run = json.load(open("s.json"))["runs"][0]
assert run["tool"]["driver"]["name"] == "cyclescope gate"
first = run["results"][0]
assert first["level"] == "error" and first["locations"][0]["physicalLocation"]["artifactLocation"]["uri"].endswith("app.c"), first
suite = et.parse("j.xml").getroot()
assert int(suite.get("failures")) >= 1 and {c.get("name") for c in suite} >= {"work", "pace", "waits"}
P
grep -q '^### cyclescope gate: slower$' m.md && grep -q '`parse`' m.md || fail "Markdown: $(cat m.md)"

# The kept runs give the same verdict; base and head exchanged it is faster, but for the waits, which may not tell.
gate --base runs/base.store --head runs/head.store --json
[ $code = 1 ] || fail "kept runs: exit $code: $(cat said err)"
gate --base runs/head.store --head runs/base.store --json --require pace
[ $code = 0 ] && grep -q '"verdict": "faster"' said || fail "exchanged: exit $code: $(cat said err)"

# Work, exactly, whatever the load: 1.2 % more instructions, in that function. The same instructions on a word that lies across two
# pages take longer: that is where data lie, and by a little no failure.
if [ "$(uname -m)" = x86_64 ]; then
    mkdir little
    gcc -g -O1 -DMORE=720000 -o little/app app.c || fail "gcc"
    gate --for 12s --base-command old/app --json -- little/app
    [ $code = 1 ] || fail "1.2 % more instructions: exit $code: $(cat said err)"
    python3 - <<'P' || fail "1.2 % more instructions: $(cat said)"
import json
said = json.load(open("said"))
work, = [c for c in said["checks"] if c["check"] == "work"]
assert work["verdict"] == "slower" and 1.1 < work["change_percent"] < 1.3, work
over = round(work["head"] - work["base"]) % 719999
assert min(over, 719999 - over) < 2000, (over, work) # a whole number of instructions a turn; the loader has some more or fewer for another path
grown, = [g for g in said["guilty"] if g["kind"] == "instructions"]
assert grown["cause"] == "instructions" and grown["function"] == "parse" and grown["line"].rsplit(":", 1)[1] in ("9", "10"), grown
P
    for turns in 1000000 20000000; do
        for place in 0 4092; do
            mkdir -p lay$place
            cat >lay$place/lay.c <<C
extern unsigned long word;
__asm__(".data\\n.balign 4096\\nfront:\\n.org front + $place\\n.globl word\\nword: .quad 0\\n.org front + 12288\\n.text\\n");
__attribute__((noinline)) void spin(void) { for (unsigned long i = 0; i < $turns; i++) *(volatile unsigned long *)&word += i; }
int main(void) { for (unsigned long i = 0, s = 1; i < 50000000; i++) __asm__ volatile("" : "=r"(s) : "0"(s * 1000003 + i)); spin(); }
C
            gcc -O1 -g -o lay$place/lay lay$place/lay.c || fail "gcc"
        done
        gate --for 12s --base-command lay0/lay --json -- lay4092/lay
        python3 - $turns <<'P' || fail "a word across two pages, $turns turns: exit $code: $(cat said err)"
import json, sys
said = json.load(open("said"))
check = {c["check"]: c for c in said["checks"]}
assert check["work"]["verdict"] == "same" and abs(check["work"]["change_percent"]) < 0.01, check
if sys.argv[1] == "1000000":
    assert check["pace"]["verdict"] != "slower" or check["pace"]["change_percent"] > 15, check
else:
    assert check["pace"]["verdict"] == "slower" and any("exactly the same ones" in n for n in said["notes"]), said
P
    done
fi

# A store against itself, and the same binary twice: never slower.
gate --base runs/base.store --head runs/base.store
[ $code != 1 ] && [ $code -lt 3 ] || fail "a store with itself: exit $code: $(cat said err)"
gate --for 1s --base-command old/app -- old/app
[ $code = 0 ] || [ $code = 2 ] || fail "the same binary: exit $code: $(cat said err)"

# One run of each is no evidence.
for side in a b; do "$CYCLESCOPE" record --no-bursts -o $side.store -- old/app >/dev/null 2>&1 || fail "record"; done
gate --base a.store --head b.store
[ $code = 2 ] && grep -q "can't tell" said && grep -q "at least three" said || fail "one run: exit $code: $(cat said err)"
gate --base a.store --head b.store --fail-on slower
[ $code = 0 ] || fail "--fail-on slower: exit $code"

# What fails has a sentence and no verdict.
refused() { # SENTENCE ARGUMENT...
    local sentence=$1
    shift
    gate "$@"
    [ $code = 3 ] && [ ! -s said ] && grep -q "$sentence" err || fail "$*: exit $code: $(cat said err)"
}
refused "ended with exit code 1" --for 1s --base-command false -- old/app
refused "can't be recorded" --for 1s --base-command ./missing -- old/app
refused "quote that isn't closed" --base-command "old/app 'x" -- old/app
refused "give one of" --base a.store
refused "has runs already" --keep runs --base-command old/app -- old/app
refused "the words are" --fail-on red --base a.store --head b.store
refused "the words are" --require time --base a.store --head b.store

# Results: times that chance hardly makes, and such as it does.
python3 - <<'P'
import json, random
random.seed(7)
def times(mean, n=20): return [mean * random.uniform(0.99, 1.01) for _ in range(n)]
def hyper(name, **means): json.dump({"results": [{"command": k, "times": times(v)} for k, v in means.items()]}, open(name, "w"))
hyper("h1.json", steady=1.0, grown=2.0, gone=1.0)
hyper("h2.json", steady=1.0, grown=2.4, fresh=1.0)
hyper("s1.json", steady=1.0)
hyper("s2.json", steady=1.0)
for name, mean in (("p1.json", 1.0), ("p2.json", 1.3)):
    json.dump({"benchmarks": [{"fullname": "test.py::test", "name": "test", "stats": {"mean": mean, "data": times(mean)}}]}, open(name, "w"))
for name, mean in (("g1.json", 100.0), ("g2.json", 130.0)):
    runs = [{"name": "BM", "run_name": "BM", "run_type": "iteration", "cpu_time": t, "time_unit": "us"} for t in times(mean, 10)]
    json.dump({"context": {}, "benchmarks": runs + [{"name": "BM_mean", "run_name": "BM", "run_type": "aggregate", "cpu_time": 9999.0, "time_unit": "us"}]}, open(name, "w"))
for name, mean in (("go1", 1000.0), ("go2", 1300.0)):
    open(name, "w").write("goos: linux\n" + "".join(f"BenchmarkParse-8 \t 100\t {t:.1f} ns/op\t 0 B/op\n" for t in times(mean, 10)) + "PASS\n")
def criterion(folder, mean, **other): # two benchmarks, each sample of another number of iterations, and an older run beside them
    import os
    for name, ns in (("parse/small", mean), ("parse/large", 5000.0)):
        for run, value in (("new", ns), ("base", 9e9)):
            os.makedirs(f"{folder}/{name}/{run}")
            iters = [10.0 * (i + 1) for i in range(10)]
            json.dump({"sampling_mode": "Linear", "iters": iters, "times": [n * t for n, t in zip(iters, times(value, 10))], **other}, open(f"{folder}/{name}/{run}/sample.json", "w"))
            json.dump({"group_id": "parse", "full_id": name}, open(f"{folder}/{name}/{run}/benchmark.json", "w"))
criterion("c1", 1000.0)
criterion("c2", 1300.0)
criterion("c3", 1000.0, iters=[1.0])
# Hostile: names for a shell, a terminal, XML, a table; depth; numbers.
name = "a|b`c\u001b[31m<&>\"'\ufffe\n::error::x"
json.dump({"results": [{"command": name, "times": times(1.0)}]}, open("n1.json", "w"))
json.dump({"results": [{"command": name, "times": times(2.0)}]}, open("n2.json", "w"))
open("deep.json", "w").write('{"results":' + "[" * 100000)
open("negative.json", "w").write('{"results": [{"command": "x", "times": [1, -1, 1]}]}')
open("text.json", "w").write('{"results": [{"command": "x", "times": ["1"]}]}')
open("means.json", "w").write('{"benchmarks": [{"name": "x", "stats": {"mean": 1}}]}')
open("other.json", "w").write('{"data": []}')
open("none.json", "w").write('{"results": []}')
open("zero.json", "wb").write(b'{"results"\0: []}')
with open("many.json", "w") as f: f.write('{"results": [{"command": "x", "times": [' + "1," * 1000001 + "1]}]}")
P
gate --results h1.json h2.json --json
[ $code = 1 ] || fail "hyperfine: exit $code: $(cat said err)"
python3 - <<'P' || fail "hyperfine: $(cat said)"
import json
check = {c["check"]: c for c in json.load(open("said"))["checks"]}
assert check["steady"]["verdict"] == "same" and check["grown"]["verdict"] == "slower", check
assert 19 < check["grown"]["change_percent"] < 21, check
assert check["gone"]["verdict"] == check["fresh"]["verdict"] == "can't tell" and check["gone"]["required"] and not check["fresh"]["required"], check
P
gate --results s1.json s2.json
[ $code = 0 ] || fail "the same times: exit $code: $(cat said err)"
gate --results h1.json s2.json
[ $code = 2 ] || fail "benchmarks that are gone: exit $code: $(cat said err)"
for pair in "p1.json p2.json" "g1.json g2.json" "go1 go2"; do
    gate --results $pair --json
    [ $code = 1 ] || fail "$pair: exit $code: $(cat said err)"
    python3 -c 'import json; c, = json.load(open("said"))["checks"]; assert 28 < c["change_percent"] < 32, c' || fail "$pair: $(cat said)"
done
gate --results c1 c2 --json
[ $code = 1 ] || fail "criterion: exit $code: $(cat said err)"
python3 -c 'import json; c = {c["check"]: c["change_percent"] for c in json.load(open("said"))["checks"]}; assert 28 < c["parse/small"] < 32 and abs(c["parse/large"]) < 2, c' || fail "criterion: $(cat said)"
refused "don't belong together" --results c1 c3
refused "no new/sample.json" --results c1 c2/parse/small/new
gate --results n1.json n2.json --junit n.xml --sarif n.sarif --markdown n.md --annotations
[ $code = 1 ] || fail "names: exit $code: $(cat said err)"
grep -q $'\x1b' said err n.xml n.sarif n.md && fail "an escape got through"
grep -q '^::error::' err && fail "a name became an annotation: $(cat err)"
python3 -c 'import json, xml.etree.ElementTree as et; et.parse("n.xml"); json.load(open("n.sarif"))' || fail "names: what was written isn't XML and JSON"
refused "isn't JSON" --results deep.json s1.json
refused "isn't a positive number" --results negative.json s1.json
refused "isn't a positive number" --results text.json s1.json
refused "no single times" --results means.json s1.json
refused "none of the known tools" --results other.json s1.json
refused "no times of single runs" --results none.json s1.json
refused "isn't text" --results zero.json s1.json
# Says that it has 4 KB, and ends before.
refused "can't be read to its end" --results /sys/devices/system/cpu/online s1.json
refused "more than 1000000 runs" --results many.json s1.json
refused "can't be read" --results missing.json s1.json
mkfifo pipe
refused "no regular file" --results pipe s1.json

# The workflow of docs/gate.md: its steps are shell that parses, and its gate options exist.
python3 - "$CYCLESCOPE" "$OLDPWD/docs/gate.md" <<'P' || fail "the workflow"
import re, subprocess, sys
text = re.search(r"```yaml\n(.*?)```", open(sys.argv[2]).read(), re.S)[1]
try:
    import yaml
    steps = [s["run"] for s in yaml.safe_load(text)["jobs"]["gate"]["steps"] if "run" in s]
except ImportError:
    steps = [b for b in re.findall(r"run: \|\n((?:          .*\n)+)", text)]
assert len(steps) >= 2, steps
known = subprocess.run([sys.argv[1], "gate", "--help"], capture_output=True, text=True, check=True).stdout
for step in steps:
    shell = re.sub(r"\$\{\{.*?\}\}", "x", step)
    subprocess.run(["bash", "-n"], input=shell, text=True, check=True)
    if " gate " in shell:
        for option in re.findall(r"--[a-z-]+", shell.split(" -- ")[0]):
            assert option in known or option == "--benchmark", option
P
echo ok
