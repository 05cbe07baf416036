#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Beside others.
# Lua's functions in chains taken in the kernel, against the interpreter's own debug.getinfo: a program of Lua, coroutines, C functions
# that call back, methods, metamethods, iterators and tail calls logs every stack that it has, with names and lines. Of all sampled chains
# 99 % at least must be one of them. Run by lua5.4, which holds its interpreter, and by two threads of a program that uses the library.
set -u
cd "$(dirname "$0")/../.."
export CYCLESCOPE=${CYCLESCOPE:-$(realpath "${BUILD:-build}/cyclescope")}
[ "$(id -u)" = 0 ] || { echo "unwinding in the kernel needs root"; exit 77; }
command -v lua5.4 >/dev/null || { echo "no Lua 5.4 here"; exit 77; }
case $(uname -m) in x86_64) ;; *) echo "frames of Lua are taken on x86-64 alone"; exit 77 ;; esac
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export CYCLESCOPE_CACHE=$scratch/cache
"$CYCLESCOPE" record --driver bpf --no-bursts -o "$scratch/try" -- true >/dev/null 2>&1 || { echo "no BPF here"; exit 77; }
cat >"$scratch/work.lua" <<'LUA'
local seen, log, outer = {}, assert(io.open(arg[1], "w")), ""
local getinfo, time = debug.getinfo, os.clock
local function chain(level)
    local stack = {}
    while true do
        local info = getinfo(level, "nS")
        if not info then return table.concat(stack, ";") end
        if info.what ~= "C" then
            table.insert(stack, 1, (info.what == "main" and "main chunk" or info.name or "function") .. ":" .. info.linedefined)
        end
        level = level + 1
    end
end
local function note()
    local text = outer .. chain(3)
    if not seen[text] then seen[text] = true; log:write(text, "\n") end
end
local function leaf(n)
    note()
    local t = 0
    for i = 1, n do t = t + i * i % 7 end
    return t
end
function heavy() note(); local t = leaf(3000); return t end
local Store = {}; Store.__index = Store
function Store.new() note(); return setmetatable({kept = {}}, Store) end
function Store:get(key)
    note()
    local value = self.kept[key]
    if not value then value = self:compute(key); self.kept[key] = value end
    return value
end
function Store:compute(key)
    note()
    local sum = 0
    for x in self.walk, key, 0 do sum = sum + leaf(300 + x) end
    return sum
end
function Store.walk(key, last) note(); leaf(200); if last < key % 4 then return last + 1 end end
local function fib(n)
    note()
    if n < 2 then return leaf(200) end
    return fib(n - 1) + fib(n - 2)
end
local function ahead(n) note(); if n == 0 then return leaf(900) end
    return ahead(n - 1) end -- a tail call
local sum = setmetatable({}, {
    __add = function(a, b) note(); local t = leaf(800); return t end,
    __index = function(t, k)
        note(); local v = leaf(500); return v end,
    __newindex = function(t, k, v)
        note(); local w = leaf(400); return w end,
})
local function by_leaf(a, b)
    note()
    leaf(60)
    return a < b
end
local function gen(n)
    note()
    for i = 1, n do
        local inside = fib(3)
        pcall(function() note(); leaf(300); coroutine.yield(i); leaf(300) end)
    end
end
local co = coroutine.create(function() note(); while true do gen(3) end end)
local function resume()
    note()
    local before = outer
    outer = before .. chain(2) .. ";"
    coroutine.resume(co)
    outer = before
end
note()
local stop = time() + tonumber(arg[2])
while time() < stop do
    heavy()
    local store = Store.new()
    for key = 1, 6 do store:get(key) end
    fib(5)
    ahead(4)
    local list = {}
    for i = 1, 30 do list[i] = i * 7919 % 31 end
    table.sort(list, by_leaf)
    for i = 1, 12 do resume() end
    local x = sum + 1
    x = sum.nowhere
    sum.here = 1
    ;("a b c d"):gsub("%a", function(c)
        note(); leaf(300); return c end)
    pcall(heavy)
end
log:close()
LUA
cat >"$scratch/judge.py" <<'PY'
import collections, re, sys
# A function has the name that one of its calls had: which one is the first that was seen. A chain is one of the log's by its lines.
names, had = collections.defaultdict(set), {()}
for f in sys.argv[2:]:
    for stack in open(f).read().split('\n'):
        calls = [call.rsplit(':', 1) for call in stack.split(';') if call]
        had.add(tuple(line for _, line in calls))
        for name, line in calls:
            names[line].add(name)
samples = equal = frames = same = bare = misnamed = shown = 0
for line in open(sys.argv[1]):
    chain, _, count = line.rpartition(' ')
    count, own = int(count), []
    for f in chain.split(';'):
        m = re.fullmatch(r'(?:\[Lua\]`)?(.*) \((?:.*/)?work\.lua(?::(\d+))?\)', f)
        if m and m[1] in ('note', 'chain'):
            break
        if m:
            own.append(m[2] or '0')
            misnamed += count * (m[1] not in names[m[2] or '0'])
    own = tuple(own)
    samples += count
    frames += count * len(own)
    bare += count * (not own)
    if own in had:
        equal += count; same += count * len(own)
    else:
        same += count * max(next((i for i, (a, b) in enumerate(zip(own, h)) if a != b), min(len(own), len(h))) for h in had)
        if shown < 3:
            shown += 1
            print('#', count, own)
print(f'# {samples} samples, {bare} outside of Lua, {equal} chains as the log says; {same} of {frames} frames, {misnamed} with another name; {len(had)} stacks')
if samples < 300 or len(had) < 30:
    sys.exit(77)
sys.exit(not (equal >= 0.99 * samples and same >= 0.99 * frames and misnamed <= 0.01 * frames and bare <= 0.1 * samples))
PY
bad=0 ran=0
take() { # NAME COMMAND...; the last argument is for how long: once before, so that the kernel's tables are made
    local name=$1; shift
    "$CYCLESCOPE" record --driver bpf -F 1000 --no-bursts -o "$scratch/before" -- "$@" 0.3 >/dev/null 2>&1
    "$CYCLESCOPE" record --driver bpf -F 1000 --no-bursts -o "$scratch/$name" -- "$@" 3 >/dev/null 2>"$scratch/said" || { cat "$scratch/said"; bad=1; }
}
judge() { # NAME LOG...
    local name=$1 rc=0; shift
    "$CYCLESCOPE" export --store "$scratch/$name" --format folded --event cpu-clock --to "$scratch/folded" || bad=1
    python3 "$scratch/judge.py" "$scratch/folded" "$@" || rc=$?
    case $rc in 0) ran=1; echo "ok: $name" ;; 77) echo "# $name: too few samples on this machine" ;; *) echo "not ok: $name"; cat "$scratch/said"; head -n 3 "$scratch/folded"; bad=1 ;; esac
}
take interpreter lua5.4 "$scratch/work.lua" "$scratch/log"
judge interpreter "$scratch/log"

cat >"$scratch/host.c" <<'C'
#include <lauxlib.h>
#include <lualib.h>
#include <pthread.h>
static char **args;
static void *run(void *log)
{
    lua_State *L = luaL_newstate();
    luaL_openlibs(L);
    lua_newtable(L);
    lua_pushstring(L, log), lua_seti(L, -2, 1);
    lua_pushstring(L, args[4]), lua_seti(L, -2, 2);
    lua_setglobal(L, "arg");
    if (luaL_dofile(L, args[1])) fprintf(stderr, "%s\n", lua_tostring(L, -1));
    lua_close(L);
    return NULL;
}
int main(int argc, char **argv)
{
    pthread_t other;
    args = argv;
    pthread_create(&other, NULL, run, argv[2]);
    run(argv[3]);
    return pthread_join(other, NULL) + argc - argc;
}
C
if gcc -O2 $(pkg-config --cflags lua5.4 2>/dev/null) -o "$scratch/host" "$scratch/host.c" $(pkg-config --libs lua5.4 2>/dev/null) -lpthread 2>/dev/null; then
    take library "$scratch/host" "$scratch/work.lua" "$scratch/log1" "$scratch/log2"
    judge library "$scratch/log1" "$scratch/log2"
else
    echo "# the library of Lua 5.4 isn't here to link with"
fi
[ $ran = 1 ] || [ $bad = 1 ] || { echo "too few samples on this machine"; exit 77; }
exit $bad
