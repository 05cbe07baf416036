#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Programs built by clang with -fxray-instrument, and libcyclescope-xray.so preloaded or linked: the tag is right after every step of
# functions of every awkward shape; shares agree with the program's own clock; sleds are as the compiler left them until
# somebody observes, and off again when the observer has gone, however it went.
set -u
. "$(dirname "$0")/../until.sh"
xray=$(realpath "$BUILD")/libcyclescope-xray.so.1
[ -e "$xray" ] || { echo "x86-64 alone has this library"; exit 77; }
command -v clang++ >/dev/null || { echo "no clang"; exit 77; }
[ -z "${CS_SANITIZED:-}" ] || { echo "built with a sanitizer, whose runtime preloaded libraries lack"; exit 77; }
work=$(mktemp -d)
started=()
trap 'for p in "${started[@]}"; do kill -9 "$p" 2>/dev/null; done; rm -rf "$work"' EXIT
bad=0
fail() { echo "failed: $*"; bad=1; }
sleds="-fxray-instrument -fxray-instruction-threshold=1"
# shellcheck disable=SC2086
echo 'int main(void) { return 0; }' | clang $sleds -x c - -o "$work/tried" 2>/dev/null || { echo "clang's XRay runtime is missing (libclang-rt-14-dev)"; exit 77; }

# ---- shapes: the program observes itself ----
for flags in -O0 -O1 -O2 "-O2 -fPIE -pie" "-O2 -fno-pie -no-pie" "-O2 -fuse-ld=lld" "-O2 LINKED"; do
    case $flags in *lld) command -v ld.lld >/dev/null || continue ;; esac
    how=${flags/LINKED/} preload=$xray
    [ "$how" = "$flags" ] || { how="$how -Wl,--no-as-needed $xray -Wl,--as-needed -Wl,-rpath,$(dirname "$xray")" preload=; }
    # shellcheck disable=SC2086
    clang++ -I. -g -w $sleds -o "$work/probe" tests/xray/probe.cc "$BUILD"/signals/reader/reader*.o "$BUILD/libcyclescope.a" $how -pthread || { fail "compile $flags"; continue; }
    LD_PRELOAD=$preload timeout 100 "$work/probe" >"$work/out" 2>&1 || fail "$flags ($?): $(head -n 5 "$work/out")"
    grep -q '^checked [0-9]\{3,\}$' "$work/out" || fail "$flags: $(tail -n 1 "$work/out")"
    echo "$flags: $(tail -n 1 "$work/out")"
done

# ---- a program with a library and threads, and its own clock ----
cat >"$work/library.c" <<'C'
extern volatile long sum;
__attribute__((noinline)) void in_library(long n) { for (long i = 0; i < n; i++) sum ^= i; }
C
cat >"$work/main.c" <<'C'
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>
#define NOINLINE __attribute__((noinline))
#define PLAIN __attribute__((noinline, xray_never_instrument))
volatile long sum;
static volatile sig_atomic_t more, over;
static double spent[4];
void in_library(long n);
PLAIN static double cpu(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}
NOINLINE static void inner(long n) { for (long i = 0; i < n; i++) sum += i; }
NOINLINE static void outer(long n)
{
    const double a = cpu();
    for (long i = 0; i < n; i++) sum -= i;
    const double b = cpu();
    inner(n);
    const double c = cpu();
    for (long i = 0; i < n; i++) sum = sum * 3 + i;
    const double d = cpu();
    spent[0] += b - a + d - c, spent[1] += c - b;
}
/* Runs from before the observer came until after it went: no sled of its entry or end is passed while it is on. */
NOINLINE static void all_along(void)
{
    while (!over) {
        outer(20000);
        const double a = cpu();
        in_library(30000);
        const double b = cpu();
        for (long i = 0; i < 20000; i++) sum |= i;
        spent[2] += b - a, spent[3] += cpu() - b;
    }
}
NOINLINE static void first_thread(void) { while (!over) { in_library(10); usleep(1000); } }
NOINLINE static void second_thread(void) { while (!over) { in_library(20); usleep(1000); } }
PLAIN static void *first(void *p) { first_thread(); return p; }
PLAIN static void *second(void *p) { second_thread(); return p; }
PLAIN static void on_signal(int s) { if (s == SIGTERM) over = 1; else more = 1; }
static pthread_t threads[2];
PLAIN static void *starter(void *p)
{
    while (!over) {
        if (more == 1) { more = 2; pthread_create(&threads[1], NULL, second, NULL); }
        usleep(1000);
    }
    return p;
}
__attribute__((xray_never_instrument)) int main(int argc, char **argv)
{
    signal(SIGTERM, on_signal);
    signal(SIGUSR1, on_signal);
    if (argc > 1) pthread_create(&threads[0], NULL, first, NULL);
    pthread_t own;
    if (argc > 1) pthread_create(&own, NULL, starter, NULL);
    alarm(100);
    all_along();
    const char *names[] = {"outer", "inner", "in_library", "all_along"};
    double all = 0;
    for (int i = 0; i < 4; i++) all += spent[i];
    for (int i = 0; i < 4; i++) printf("share %s %f\n", names[i], spent[i] / all);
    (void)argv;
    return 0;
}
C
cat >"$work/bytes.py" <<'P'
"""Sleds of a live process beside its files: state PID FILE...: prints off (whole files unchanged), on, off-again or what is wrong."""
import struct, sys
def sections(data):
    at, = struct.unpack_from("<Q", data, 40)
    size, n, names = struct.unpack_from("<HHH", data, 58)
    all = [struct.unpack_from("<IIQQQQ", data, at + i * size) for i in range(n)]
    text = all[names][4]
    return {data[text + s[0]:data.index(b"\0", text + s[0])].decode(): s for s in all}
pid = sys.argv[1]
heads, changed, others, n = set(), 0, 0, 0
with open(f"/proc/{pid}/mem", "rb") as memory:
    for path in sys.argv[2:]:
        data = open(path, "rb").read()
        start = min(int(l.split("-")[0], 16) for l in open(f"/proc/{pid}/maps") if l.rstrip().endswith(path))
        def read(at, size):
            memory.seek(start + at)
            return memory.read(size)
        low = min(struct.unpack_from("<Q", data, struct.unpack_from("<Q", data, 32)[0] + 56 * i + 16)[0]
                  for i in range(struct.unpack_from("<H", data, 56)[0]) if struct.unpack_from("<I", data, struct.unpack_from("<Q", data, 32)[0] + 56 * i)[0] == 1)
        named = sections(data)
        _, _, _, address, offset, size = named["xray_instr_map"]
        sled = [address + 32 * i + struct.unpack_from("<q", data, offset + 32 * i)[0] - low for i in range(size // 32)]
        kind = [data[offset + 32 * i + 16] for i in range(size // 32)]
        n += len(sled)
        _, _, _, address, offset, size = named[".text"]
        text = bytearray(read(address - low, size))
        file = bytearray(data[offset:offset + size])
        changed += text != file
        for at, k in zip(sled, kind):
            at -= address - low
            heads.add("on" if text[at:at + 2] == b"\x41\xba" else "off" if text[at:at + (1 if k == 1 else 2)] == file[at:at + (1 if k == 1 else 2)] else "?")
            text[at:at + 11] = file[at:at + 11]
        others += text != file # outside of sleds
assert n >= 8, n
print("wrong" if others or "?" in heads or len(heads) != 1 else "on" if heads == {"on"} else "off" if not changed else "off-again")
P
# shellcheck disable=SC2086
clang -O1 -g $sleds -fPIC -shared -o "$work/liblibrary.so" "$work/library.c" && clang -O1 -g $sleds -o "$work/main" "$work/main.c" -L"$work" -llibrary -Wl,-rpath,"$work" -pthread ||
    { echo "failed: compile"; exit 1; }
state() { python3 "$work/bytes.py" "$pid" "$work/main" "$work/liblibrary.so" 2>&1 | tail -n 1; }
becomes() { # WHAT
    is() { now=$(state) && [ "$now" = "$1" ]; }
    until_true -t 20 is "$1" || fail "sleds are $now, not $1: $2"
}
finish() { kill -TERM "$pid" && wait "$pid" || fail "the program ended with $?"; }

if [ "$(nproc)" -ge 2 ]; then
    LD_PRELOAD=$xray "$work/main" >"$work/truth" &
    pid=$!
    started+=($pid)
    until_true has_run $pid
    [ "$(state)" = off ] || fail "before: sleds are $(state)"
    "$CYCLESCOPE" observe -s code --period 3000 --jitter 3000 -p $pid -t 3 --log "$work/log" >"$work/out" 2>"$work/err" || fail "observe: $(cat "$work/err")"
    becomes off-again "the observer ended"
    "$CYCLESCOPE" tags --log "$work/log" --json >"$work/json"
    finish
    python3 - "$work/truth" "$work/json" <<'P' || fail "shares"
import collections, json, sys
truth = {w[1]: float(w[2]) for w in map(str.split, open(sys.argv[1])) if w[:1] == ["share"]}
assert len(truth) == 4
rows = [r for r in json.load(open(sys.argv[2]))["tags"] if r["percent"]]
seen = collections.Counter()
for r in rows:
    seen[r["name"].split()[0]] += r["percent"] / 100
print({k: (round(v, 3), round(seen[k], 3)) for k, v in truth.items()})
assert all(abs(seen[k] - v) < 0.03 for k, v in truth.items()), (truth, seen)
assert sum(seen[k] for k in truth) > 0.97, seen # all but what ran before the first sled
named = {r["name"].split(" (")[0]: r["name"] for r in rows}
assert "(main.c:" in named["outer"] and "(library.c:2)" in named["in_library"], named
P
    # ---- threads from before and after, and an observer that is killed ----
    LD_PRELOAD=$xray "$work/main" threads >"$work/truth" &
    pid=$!
    started+=($pid)
    until_true published
    "$CYCLESCOPE" observe -s code -p $pid -t 60 >"$work/out" 2>"$work/err" &
    observer=$!
    started+=($observer)
    becomes on "somebody observes"
    kill -USR1 $pid
    all_seen() {
        "$CYCLESCOPE" signals -p $pid >>"$work/seen" 2>/dev/null
        grep -q first_thread "$work/seen" && grep -q second_thread "$work/seen" && grep -q 'outer\|inner\|all_along' "$work/seen"
    }
    until_true -t 30 all_seen || fail "threads: $(sort "$work/seen" | uniq -c | sort -n | tail -n 8)"
    grep -q cyclescope-xray "$work/seen" && fail "the library's own thread has a line"
    kill -9 $observer
    wait $observer 2>/dev/null
    becomes off-again "the observer was killed"
    "$CYCLESCOPE" signals -p $pid >"$work/out"
    grep -q '_thread\|outer\|inner\|library' "$work/out" && fail "tags of sleds that are off: $(cat "$work/out")"
    finish
fi

# ---- nothing is published, or there are no sleds: the library does nothing ----
threads_of() { # PROGRAM ARGUMENT...: that many threads
    "$@" >/dev/null 2>&1 &
    pid=$!
    started+=($pid)
    sleep 0.3 # sleeps: a thread that should not come would be there
    ls /proc/$pid/task | wc -l
    kill -9 $pid
    wait $pid 2>/dev/null
}
[ "$(threads_of env LD_PRELOAD="$xray" "$work/main")" = 2 ] || fail "no thread that waits for an observer"
[ "$(threads_of env CYCLESCOPE_SIGNALS=off LD_PRELOAD="$xray" "$work/main")" = 1 ] || fail "switched off"
[ "$(threads_of env LD_PRELOAD="$xray" sleep 100)" = 1 ] || fail "a program without sleds"
# clang's own runtime has switched them on: they stay its own.
cat >"$work/theirs.c" <<'C'
#include <stdio.h>
#include <stdint.h>
int __xray_set_handler(void (*)(int32_t, int)), __xray_patch(void);
static volatile int seen;
__attribute__((xray_never_instrument)) static void theirs(int32_t id, int type) { seen = seen + (id > 0) + (type < 0); }
__attribute__((noinline)) void work(void) { __asm__ volatile(""); }
__attribute__((xray_never_instrument)) int main(void) { __xray_set_handler(theirs); __xray_patch(); for (int i = 0; i < 1000; i++) work(); return seen != 2000; }
C
# shellcheck disable=SC2086
clang -O1 $sleds -o "$work/theirs" "$work/theirs.c" -lstdc++ -lm -pthread -ldl -lrt && LD_PRELOAD=$xray "$work/theirs" || fail "beside clang's own runtime: $?"
exit $bad
