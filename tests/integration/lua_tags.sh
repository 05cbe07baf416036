#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# signals/examples/lua5.4.patch: it applies to Debian's source without fuzz, the interpreter builds as docs/interpreter.md says, and
# runs. What the observer sees of it: instructions by the names of the source's own lopnames.h, functions with the shares of
# time that the program of Lua measures itself. Exit 77 where the source can't be had, or one CPU alone may be used.
set -eu
[ "$(nproc)" -ge 2 ] || { echo "one CPU: an observer needs one of its own"; exit 77; }
source=${CS_PROGRAMS_CACHE:-$BUILD/programs}/source/lua5.4
[ -d "$source" ] || timeout 120 bench/programs build lua5.4 >/dev/null 2>&1 || true
[ -d "$source" ] || { echo "Debian's source of lua5.4 can't be had (apt-get source)"; exit 77; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
top=$PWD
cp -r "$source" "$dir/lua"
cd "$dir/lua"
patch -s -F0 -p1 <"$top/signals/examples/lua5.4.patch"
grep -qx '    patch -p1 <lua5.4.patch' "$top/signals/examples/lua5.4.patch"
echo "ok the patch applies to $(basename "$(readlink -f "$source")"), $(sed -n 's/^#define LUA_VERSION_RELEASE.*"\(.*\)".*/release \1/p' src/lua.h)"
gcc -O2 -g -DLUA_USE_LINUX -DCS_EXECUTABLE -I"$top/signals" -o lua5.4 $(ls src/*.c | grep -v luac.c) "$BUILD/libcyclescope.a" -lm -ldl
cat >work.lua <<'LUA'
local clock, spent = os.clock, {0, 0}
local function heavy() local t = {} for i = 1, 60000 do t[i % 64] = i * 3 end return #t end
local function light() local s = 0.5 for i = 1, 60000 do s = s * 0.5 + i end return s end
local till = clock() + tonumber(arg[1])
while clock() < till do
  local a = clock() heavy() heavy() heavy()
  local b = clock() light()
  spent[1], spent[2] = spent[1] + b - a, spent[2] + clock() - b
end
print(spent[1], spent[2])
LUA
"$CYCLESCOPE" observe -s opcode,function --period 20000 --log "$dir/log" -- ./lua5.4 work.lua 1 >"$dir/said" 2>/dev/null
grep '^[0-9]' "$dir/said" | grep -qv '[^0-9.[:space:]]' || { echo "not ok: the program of Lua printed $(head -3 "$dir/said")"; exit 1; }
for tag in opcode function; do "$CYCLESCOPE" tags --log "$dir/log" --tag $tag --top 0 --json >"$dir/$tag.json"; done
python3 - "$dir" <<'P'
import json, re, sys
dir = sys.argv[1]
tags = {}
for tag, table in (("opcode", "tags"), ("function", "tags2")):
    tags[tag] = {r["name"]: r["cycles"] for r in json.load(open(f"{dir}/{tag}.json"))[table] if r["name"][0] != "("}
known = set(re.findall(r'"(\w+)"', open(dir + "/lua/src/lopnames.h").read()))
seen = {n for n in tags["opcode"] if n != "0"}
if sum(tags["function"].values()) < 2e8:
    print("the program hardly ran")
    sys.exit(77)
assert len(known) > 80 and seen <= known, seen - known
assert {"FORLOOP", "SETTABLE", "MULK", "MODK"} <= seen, seen
heavy, light = (tags["function"][f"work.lua:{line}"] for line in (2, 3))
own = [float(x) for x in re.findall(r"^([\d.]+)\s+([\d.]+)$", open(dir + "/said").read(), re.M)[0]]
share, truth = heavy / (heavy + light), own[0] / sum(own)
print(f"ok {len(seen)} instructions, all of lopnames.h; heavy has {100 * share:.1f} % of the time of both, by the program's own clock {100 * truth:.1f} %")
assert abs(share - truth) < 0.05
P
