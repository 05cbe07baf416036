#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Tags without the plugin: Debian's unmodified lua5.4 with require "cyclescope", and -fsanitize-coverage=trace-pc.
set -u
. "$(dirname "$0")/../until.sh"
work=$(mktemp -d)
started=()
trap 'for p in "${started[@]}"; do kill -9 "$p" 2>/dev/null; done; rm -rf "$work"' EXIT
bad=0
fail() { echo "failed: $*"; bad=1; }

# ---- trace-pc: the tag lies in the function that runs ----
cat >"$work/t.c" <<'END'
volatile int x; int access(const char *path, int mode);
__attribute__((noinline)) void spin(void) { for (int i = 0; i < 100000000; i++) x += i; }
int main(int n, char **args) { while (n && access(args[0], 0) == 0) spin(); }
END
for cc in gcc clang; do
    command -v $cc >/dev/null || continue
    $cc -O1 -g -fno-pie -no-pie -fsanitize-coverage=trace-pc -o "$work/t" "$work/t.c" "$BUILD/libcyclescope-trace.a" "$BUILD/libcyclescope.a" 2>"$work/err" ||
        { fail "$cc: $(cat "$work/err")"; continue; }
    "$work/t" &
    pid=$!
    started+=($pid)
    until_true has_run $pid
    read -r tag text < <("$CYCLESCOPE" signals -p $pid --json | python3 -c '
import json, sys
t = json.load(sys.stdin)["threads"][0]
print(t["value"], t["text"])')
    kill -9 $pid
    read -r from size < <(nm -S "$work/t" | awk '$4 == "spin" {print "0x" $1, "0x" $2}')
    [ -n "$tag" ] && [ $((tag)) -ge $((from)) ] && [ $((tag)) -lt $((from + size)) ] || fail "$cc: tag $tag is not in spin ($from + $size)"
    case $text in spin*) ;; *) fail "$cc: the tag is shown as $text" ;; esac
done
# A log names what it saw, for when the program is gone.
if [ "$(nproc)" -ge 2 ] && [ -x "$work/t" ]; then
    for seconds in 0.5 2 8; do # on a busy machine the target may not run at all in half a second
        "$CYCLESCOPE" observe -s code --period 5000 --seconds $seconds --log "$work/log" -- "$work/t" >"$work/out" 2>"$work/err" ||
            fail "observe: $(cat "$work/err")"
        grep -q 'spin' "$work/out" && break
    done
    rm -f "$work/t"
    "$CYCLESCOPE" tags --log "$work/log" --json >"$work/json"
    grep -q '"name": "spin (t.c:2)"' "$work/json" || fail "the log has no names: $(head -c 300 "$work/json")"
fi

# ---- Lua, LuaJIT ----
for lua in lua5.4:lua luajit:luajit; do
    module=$(realpath "$BUILD")/${lua#*:}/cyclescope.so lua=${lua%:*}
    command -v "$lua" >/dev/null && [ -e "$module" ] || continue
    cat >"$work/w.lua" <<'END'
local cyclescope = require "cyclescope"
local function inner(n) local s = 0 for i = 1, n do s = s + i % 7 end return s end
local function tail(n) return inner(n) end
function outer(n) local s = inner(10); for i = 1, n do s = s + i % 3 end return s end
local co = coroutine.wrap(function() while true do coroutine.yield(inner(10)) end end)
local want = arg[1]
cyclescope.set("phase", "warm"); cyclescope.set("phase", "run"); cyclescope.add("rows", 41); cyclescope.add("rows")
local until_ = os.time() + 300
print("ready") io.stdout:flush()
while os.time() < until_ do
  co(); pcall(error, "x")
  if want == "inner" then tail(3000000) elseif want == "outer" then outer(3000000)
  else string.rep("x", 100):gsub("x", function() local s = 0 for i = 1, 30000 do s = s + i % 5 end end) end
end
END
    for want in inner outer anonymous; do
        LUA_CPATH="${module%/*}/?.so" "$lua" "$work/w.lua" $want >"$work/ready" 2>&1 &
        pid=$!
        started+=($pid)
        until_true has_line ready "$work/ready" && until_true has_run $pid 10
        hits=0
        for _ in $(seq 20); do
            "$CYCLESCOPE" signals -p $pid >"$work/out" 2>&1
            case $want in
            inner) grep -qE 'lua +inner .*w.lua:2\)' "$work/out" && hits=$((hits + 1)) ;;
            outer) grep -qE 'lua +outer .*w.lua:4\)' "$work/out" && hits=$((hits + 1)) ;;
            *) grep -qE 'lua +\? .*w.lua:13\)' "$work/out" && hits=$((hits + 1)) ;;
            esac
        done
        [ $hits -ge 16 ] || fail "$lua $want: only $hits of 20 looks saw it: $(cat "$work/out")"
        grep -qE 'phase +run$' "$work/out" && grep -qE 'rows +42$' "$work/out" || fail "$lua's own signals: $(cat "$work/out")"
        kill -9 $pid
    done
done
# ---- Python: functions, threads, its own signals ----
cat >"$work/w.py" <<'END'
import threading, time
import cyclescope
class Solver:
    def step(self, n):
        s = 0
        for i in range(n): s += i % 7
        return s
def background(stop):
    while time.time() < stop: Solver().step(3000000)
def fails(): raise ValueError
cyclescope.set("phase", "run"); cyclescope.add("rows", 41); cyclescope.add("rows")
stop = time.time() + 300
threading.Thread(target=background, args=(stop,), daemon=True).start()
print("ready", flush=True)
def foreground(n):
    s = 0
    for i in range(n): s += i % 7
while time.time() < stop:
    try: fails()
    except ValueError: pass
    foreground(3000000)
END
CYCLESCOPE_LIBRARY=$(realpath "$BUILD")/libcyclescope.so PYTHONPATH=signals/python python3 -m cyclescope "$work/w.py" >"$work/ready" 2>&1 &
pid=$!
started+=($pid)
both_run() {
    "$CYCLESCOPE" signals -p $pid >"$work/out" 2>&1
    grep -qE 'python +foreground ' "$work/out" && grep -qE 'python +Solver.step ' "$work/out"
}
until_true has_line ready "$work/ready"
until_true both_run
hits=0
for _ in $(seq 20); do
    "$CYCLESCOPE" signals -p $pid >"$work/out" 2>&1
    grep -qE 'python +foreground .*w.py:15\)' "$work/out" && grep -qE 'python +Solver.step .*w.py:4\)' "$work/out" && hits=$((hits + 1))
done
[ $hits -ge 16 ] || fail "python: only $hits of 20 looks saw both threads: $(cat "$work/out" "$work/ready")"
grep -qE 'phase +run$' "$work/out" && grep -qE 'rows +42$' "$work/out" || fail "python's own signals: $(cat "$work/out")"
kill -9 $pid
exit $bad
