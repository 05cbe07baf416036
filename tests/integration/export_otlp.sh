#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# export --format otlp, read by protoc with a schema of the test's own: tables begin with an empty element, every index lies within
# its table, and events, procedures, build-ids and times are what prof, folded stacks and readelf say.
set -u
command -v protoc >/dev/null || { echo "no protoc here"; exit 77; }
work=$(mktemp -d)
chmod 755 "$work"
trap 'rm -rf "$work"' EXIT
cat >"$work/two.c" <<'C'
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#define APART __attribute__((noipa))
static volatile unsigned long sink;
APART void spin(unsigned long n) { for (unsigned long i = 0; i < n; i++) sink += i; }
// New pages each time: malloc would keep them, and a few thousand faults are fewer than one sample stands for.
APART void touch(size_t n) {
    char *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        abort();
    memset(p, 1, n);
    sink += (unsigned long)p[n / 2];
    munmap(p, n);
}
APART void both(void) { spin(30000); touch(4 << 20); }
int main(void) { for (int i = 0; i < 600; i++) both(); }
C
gcc -O2 -g -fno-omit-frame-pointer -o "$work/two" "$work/two.c" || exit 1
"$CYCLESCOPE" record --no-bursts -e cpu-clock -e page-faults -F 1000 -o "$work/store" -- "$work/two" >/dev/null 2>"$work/err" || { cat "$work/err"; exit 1; }
"$CYCLESCOPE" export --store "$work/store" --format otlp --to "$work/out" || exit 1
protoc -I "$(dirname "$0")/.." --decode=ProfilesData otlp.proto <"$work/out" >"$work/text" || exit 1
for event in cpu-clock page-faults; do "$CYCLESCOPE" export --store "$work/store" --event $event --format folded --to "$work/$event.folded" || exit 1; done
readelf -n "$work/two" | sed -n 's/.*Build ID: //p' >"$work/build-id"
date +%s >"$work/now"
python3 - "$CYCLESCOPE" "$work" <<'PY'
import collections, json, re, subprocess, sys
tool, work = sys.argv[1:]
bad = 0
def expect(what, got, want):
    global bad
    if got != want:
        bad = 1
        print(f"not ok: {what}: {got}, not {want}")

# protoc's text: a message is a dict of lists
lines = iter(open(work + "/text", encoding="utf-8"))
def message():
    out = collections.defaultdict(list)
    for line in lines:
        line = line.strip()
        if line == "}":
            return out
        if line.endswith("{"):
            out[line[:-2]].append(message())
        else:
            key, value = line.split(": ", 1)
            if re.match(r"\d+$", key):
                raise SystemExit("a field that the schema doesn't have: " + line)
            out[key].append(json.loads(value.replace("\\'", "'")) if value[0] == '"' else int(value))
    return out
data = message()
d, = data["dictionary"]
profiles = data["resource_profiles"][0]["scope_profiles"][0]["profiles"]
one = lambda m, key: (m[key] or [0])[0]
for table in "mapping_table", "location_table", "function_table", "link_table", "attribute_table", "stack_table":
    expect(table + " begins with an empty element", dict(d[table][0]), {})
expect("string_table begins with", d["string_table"][0], "")
text = lambda i: d["string_table"][i]
whole = {w: len(d[w]) for w in d}
for f in d["function_table"]:
    for k in "name_strindex", "system_name_strindex", "filename_strindex":
        text(one(f, k))
for l in d["location_table"]:
    assert one(l, "mapping_index") < whole["mapping_table"] and all(0 < one(x, "function_index") < whole["function_table"] for x in l["lines"]), l
for s in d["stack_table"]:
    assert all(0 < i < whole["location_table"] for i in s["location_indices"]), s
expect("stacks are there once", len({tuple(s["location_indices"]) for s in d["stack_table"]}), whole["stack_table"])

build_ids = {}
for m in d["mapping_table"][1:]:
    for i in m["attribute_indices"]:
        a = d["attribute_table"][i]
        expect("an attribute's key", text(one(a, "key_strindex")), "process.executable.build_id.gnu")
        build_ids[text(one(m, "filename_strindex")).rsplit("/", 1)[-1]] = a["value"][0]["string_value"][0]
expect("the build-id", build_ids.get("two"), open(work + "/build-id").read().strip())

def names(stack): # outermost first, as folded has them
    out = []
    for i in reversed(d["stack_table"][stack]["location_indices"]):
        l = d["location_table"][i]
        out += [text(one(d["function_table"][one(x, "function_index")], "name_strindex")) for x in reversed(l["lines"])] or ["?"]
    return out
prof = json.loads(subprocess.run([tool, "prof", "--json", "--top", "0", "--store", work + "/store"], check=True, capture_output=True, text=True).stdout)
events = {text(one(p["sample_type"][0], "type_strindex")): p for p in profiles}
expect("events", sorted(events), ["page_faults", "samples"]) # as other profilers and back ends call them
events = {"cpu-clock": events["samples"], "page-faults": events["page_faults"]}
for name, p in events.items():
    expect(name + "'s unit", text(one(p["sample_type"][0], "unit_strindex")), "count")
    leaf, chains = collections.Counter(), collections.Counter()
    for s in p["samples"]:
        assert 0 < one(s, "stack_index") < whole["stack_table"] and len(s["values"]) == 1, s
        n = names(one(s, "stack_index"))
        leaf[n[-1]] += s["values"][0]
        if n[:1] != ["?"] and "both" in n:
            chains[tuple(n[n.index("both"):])] += s["values"][0]
    expect(name + "'s total", sum(leaf.values()), next(e["samples"] for e in prof["events"] if e["name"] == name))
    for procedure in "spin", "touch", "both":
        expect(f"{name} of {procedure}", leaf[procedure], sum(r["samples"].get(name, 0) for r in prof["rows"] if r["procedure"] == procedure))
    folded = collections.Counter()
    for line in open(f"{work}/{name}.folded"):
        frames, n = line.rsplit(" ", 1)
        frames = frames.split(";")
        if "both" in frames:
            folded[tuple(frames[frames.index("both"):])] += int(n)
    for chain in ("both", "spin"), ("both", "touch"):
        expect(f"{name} of {';'.join(chain)}", chains[chain], folded[chain])
    now = int(open(work + "/now").read())
    assert now - 300 < one(p, "time_unix_nano") / 1e9 <= now + 1 and 0 < one(p, "duration_nano") < 300e9, (now, one(p, "time_unix_nano"), one(p, "duration_nano"))
    mean = next(e["period_sum"] / e["samples"] for e in prof["events"] if e["name"] == name)
    assert abs(one(p, "period") - mean) <= 1, (name, one(p, "period"), mean)
if not events["cpu-clock"]["samples"]:
    print("no samples of the clock"); sys.exit(77)
sys.exit(bad)
PY
