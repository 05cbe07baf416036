#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Call chains without frame pointers: each sampled chain against the program's own log of all stacks it had (-finstrument-functions),
# and the share that reaches the beginning, of what is hard: threads, signal handlers, exceptions, dlopen, a deleted binary, another
# root, and Debian's own stripped programs.
set -u
. "$(dirname "$0")/../until.sh"
[ "$(id -u)" = 0 ] || { echo "unwinding in the kernel needs root"; exit 77; }
work=$(mktemp -d)
trap 'kill $(jobs -pr) 2>/dev/null; rm -rf "$work"' EXIT
"$CYCLESCOPE" record --driver bpf --no-bursts -o "$work/try" -- true >/dev/null 2>&1 || { echo "no BPF here"; exit 77; }
bad=0
fail() { echo "not ok: $*"; bad=1; }

# A random walk through twelve functions; `enter` and `leave` keep the stack, and each new one is logged.
cat >"$work/walk.c" <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#define HIDDEN __attribute__((no_instrument_function))
static unsigned long state = 88172645463325252UL, sink;
static void *stack[64];
static int depth;
static unsigned long seen[1 << 20];
static FILE *out;
HIDDEN static unsigned draw(void) { state ^= state << 13; state ^= state >> 7; state ^= state << 17; return (unsigned)(state >> 20); }
HIDDEN static const char *name(void *f);
HIDDEN void __cyg_profile_func_enter(void *f, void *from)
{
    unsigned long h = 0;
    (void)from;
    stack[depth++] = f;
    for (int i = 0; i < depth; i++)
        h = (h ^ (unsigned long)stack[i]) * 0x9E3779B97F4A7C15UL + 1;
    unsigned long at = h >> 44;
    while (seen[at] && seen[at] != h) at = (at + 1) & ((1 << 20) - 1);
    if (seen[at]) return;
    seen[at] = h;
    for (int i = 0; i < depth; i++)
        fprintf(out, "%s%s", i ? ";" : "", name(stack[i]));
    fputc('\n', out);
}
HIDDEN void __cyg_profile_func_exit(void *f, void *from) { (void)f; (void)from; depth--; }
static int go(int left);
#define F(n) __attribute__((noinline)) static int f##n(int left) { volatile char room[8 + 24 * n]; room[0] = (char)left; int r = go(left - 1); return r + room[0]; }
F(0) F(1) F(2) F(3) F(4) F(5) F(6) F(7) F(8) F(9)
__attribute__((noinline)) static int spin(int n) { for (int i = 0; i < n; i++) sink = sink * 31 + (unsigned long)i; return (int)sink; }
__attribute__((noinline)) static int go(int left)
{
    static int (*const all[])(int) = {f0, f1, f2, f3, f4, f5, f6, f7, f8, f9};
    if (left <= 0) return spin(3000);
    int r = 0;
    for (unsigned n = draw() % 2 + 1; n; n--) r += all[draw() % 3](left);
    return r + spin(500);
}
HIDDEN static const char *name(void *f)
{
    static const struct { void *at; const char *name; } all[] = {{f0, "f0"}, {f1, "f1"}, {f2, "f2"}, {f3, "f3"}, {f4, "f4"}, {f5, "f5"},
        {f6, "f6"}, {f7, "f7"}, {f8, "f8"}, {f9, "f9"}, {spin, "spin"}, {go, "go"}};
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].at == f) return all[i].name;
    return "?";
}
HIDDEN int main(int argc, char **argv)
{
    (void)argc;
    out = fopen(argv[1], "w");
    for (clock_t end = clock() + 2 * CLOCKS_PER_SEC; clock() < end;) go(8);
    return sink == 1;
}
C
gcc -O2 -fomit-frame-pointer -fno-optimize-sibling-calls -finstrument-functions -o "$work/walk" "$work/walk.c" 2>"$work/said" || { cat "$work/said"; echo "no C compiler"; exit 77; }

run() { # NAME LEAST-PERCENT-COMPLETE COMMAND...
    local name=$1 least=$2; shift 2
    "$CYCLESCOPE" record -F 2000 --no-bursts --driver bpf --json -o "$work/store-$name" -- "$@" >"$work/$name.out" 2>"$work/$name.err" ||
        { fail "$name: $(cat "$work/$name.err")"; return; }
    python3 - "$work/$name.out" "$least" "$name" <<'PY' || bad=1
import json, sys
text = open(sys.argv[1]).read()
said = json.loads(text[text.rindex('\n{\n') + 1 if '\n{\n' in text else 0:])
ends, delivered = said["chains"]["ends"], said["delivered"]
if sum(ends.values()) != delivered:
    sys.exit(f"not ok: {sys.argv[3]}: {delivered} samples, but {ends}")
# Chains of a program's first moments need us to be in time, which a busy machine may not grant: up to a tenth may be missing
# here, and a thirtieth in a library that was just loaded. How many are missing on a quiet one is what bench/run chains-complete says.
late = min(ends.get("not-loaded", 0) + ends.get("new-process", 0), delivered // 10) + min(ends.get("no-mapping", 0), delivered // 30)
share = 100 * ends.get("complete", 0) / max(1, delivered - late)
print(f"# {sys.argv[3]}: {share:.2f} % of {delivered} chains complete, {said['chains']['frames'] / max(1, delivered):.1f} frames; {ends}")
if delivered < 100 or share < float(sys.argv[2]):
    sys.exit(f"not ok: {sys.argv[3]}: {share:.2f} % complete, expected {sys.argv[2]}: {ends}")
PY
}
folded() { "$CYCLESCOPE" export --store "$work/store-$1" --format folded --event cpu-clock 2>/dev/null; }

run walk 99 "$work/walk" "$work/log"
folded walk | python3 -c '
import sys
had = {""} | set(open(sys.argv[1]).read().split("\n"))
right = wrong = 0
for line in sys.stdin:
    frames, samples = line.rsplit(" ", 1)
    frames = frames.split(";")[1:]
    if "main" not in frames:
        continue
    frames = frames[frames.index("main") + 1:]
    known = ("f0 f1 f2 f3 f4 f5 f6 f7 f8 f9 go spin").split()
    n = 0
    while n < len(frames) and frames[n] in known:
        n += 1
    if any(f in known for f in frames[n:]) or ";".join(frames[:n]) not in had:
        wrong += int(samples)
        print("#", ";".join(frames), samples)
    else:
        right += int(samples)
print(f"# own log: {right} chains as it says, {wrong} not, {len(had)} stacks")
sys.exit(not (right > 1000 and wrong <= right / 1000))' "$work/log" || fail "chains that the program never had"

# Stacks of 20 KB whose middle has never been touched, while no table is there yet: copies skip what is missing.
cat >"$work/roomy.c" <<'C'
#include <pthread.h>
#include <time.h>
static volatile unsigned long sink;
static double now(void) { struct timespec t; clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); return t.tv_sec + 1e-9 * t.tv_nsec; }
__attribute__((noinline)) static void work(void) { for (int i = 0; i < 20000; i++) sink = sink * 31 + (unsigned long)i; }
__attribute__((noinline)) static void roomy(double until) { volatile char room[20000]; while (now() < until) { room[0] = 1; work(); } }
static void *begin(void *until) { roomy(*(double *)until); sink++; return until; }
int main(void)
{
    double until = now() + 2;
    pthread_t threads[3];
    for (int i = 0; i < 3; i++) pthread_create(&threads[i], NULL, begin, &until);
    begin(&until);
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
}
C
gcc -O2 -fomit-frame-pointer -o "$work/roomy" "$work/roomy.c" -lpthread && CYCLESCOPE_CACHE=$work/cache run roomy 99.5 "$work/roomy"

# Threads, a signal handler that works, exceptions, and code of a library that came by dlopen.
cat >"$work/late.c" <<'C'
static volatile unsigned long sink;
__attribute__((noinline)) void late_inner(void) { for (int i = 0; i < 300000; i++) sink += (unsigned long)i; }
void late_outer(void (*then)(void)) { late_inner(); then(); sink++; }
C
cat >"$work/hard.cc" <<'CC'
#include <dlfcn.h>
#include <signal.h>
#include <stdexcept>
#include <sys/time.h>
#include <thread>
#include <ctime>
static volatile unsigned long sink;
__attribute__((noinline)) static void work(int n) { for (int i = 0; i < n; i++) sink = sink * 31 + (unsigned long)i; }
__attribute__((noinline)) static void handled(void) { work(200000); sink++; }
static void handler(int) { handled(); sink++; }
__attribute__((noinline)) static int thrown(int n) { if (n == 0) throw std::runtime_error("as expected"); int r = thrown(n - 1); sink++; return r; }
__attribute__((noinline)) static void thread_body() { for (int i = 0; i < 1500; i++) { work(200000); sink++; } }
static void back() { work(100000); sink++; }
int main(int, char **argv)
{
    auto outer = (void (*)(void (*)()))dlsym(dlopen(argv[1], RTLD_NOW), "late_outer");
    struct itimerval often = {{0, 4000}, {0, 4000}};
    std::thread one(thread_body), two(thread_body);
    signal(SIGVTALRM, handler);
    setitimer(ITIMER_VIRTUAL, &often, nullptr);
    for (int i = 0; i < 700; i++) {
        for (int k = 0; k < 4; k++)
            try { sink += (unsigned long)thrown(40); } catch (const std::exception &) { work(10000); }
        outer(back);
    }
    one.join();
    two.join();
}
CC
if gcc -O2 -fPIC -shared -fomit-frame-pointer -o "$work/late.so" "$work/late.c" && g++ -O2 -fomit-frame-pointer -o "$work/hard" "$work/hard.cc" -ldl -lpthread 2>/dev/null; then
    run hard 99 "$work/hard" "$work/late.so"
    # Exceptions take 2 % of 6,000 samples, more than 100: fewer than 10 are no chance, but a table or a name that is missing.
    folded hard >"$work/hard.folded"
    for chain in 'main.*;late_outer;late_inner' 'main;late_outer;back' 'main.*;handler(int);handled();work' 'thread_body();work' 'main;thrown.*;__cxa_throw;_Unwind_RaiseException'; do
        n=$(grep "$chain" "$work/hard.folded" | awk '{ n += $NF } END { print n + 0 }')
        [ "$n" -ge 10 ] || fail "$n chains $chain; others of thrown: $(grep -E 'thrown|Unwind|cxa' "$work/hard.folded" | tail -n 20)"
    done
    folded hard | grep -qE 'start_thread;|clone' || fail "no chain from a thread's beginning"
else
    echo "# no C++ compiler: threads, signals and exceptions are not tried"
fi

# A running process whose file is gone, and one with another root (static, so that it runs there).
cat >"$work/spin.c" <<'C'
#include <stdlib.h>
static volatile unsigned long sink;
__attribute__((noinline)) static void inner(int n) { for (int i = 0; i < n; i++) sink = sink * 31 + (unsigned long)i; }
__attribute__((noinline)) static void middle(int n) { inner(n); sink++; }
int main(void) { for (int i = 0; i < 200000; i++) middle(200000); }
C
gcc -O2 -fomit-frame-pointer -static -o "$work/gone" "$work/spin.c" || fail "no static libc"
mkdir -p "$work/root/bin"
cp "$work/gone" "$work/root/bin/elsewhere"
"$work/gone" & gone=$!
chroot "$work/root" /bin/elsewhere & elsewhere=$!
until_true has_run $gone && until_true has_run $elsewhere
rm "$work/gone"
for which in gone elsewhere; do
    "$CYCLESCOPE" record -F 2000 --no-bursts --driver bpf --json -t 1 -o "$work/store-$which" -p "${!which}" >"$work/said" 2>&1 || fail "$which: $(cat "$work/said")"
    python3 -c '
import json, sys
text = open(sys.argv[1]).read()
said = json.loads(text[text.index("{\n"):])
ends = said["chains"]["ends"]
print("#", sys.argv[2], ends)
sys.exit(not ends.get("complete", 0) >= 0.9 * said["delivered"] > 50)' "$work/said" "$which" || fail "$which: chains"
done
kill $gone $elsewhere; wait 2>/dev/null

# The ring driver has chains too; and nobody has who doesn't want them.
"$CYCLESCOPE" record -F 2000 --no-bursts --driver ring -o "$work/store-ring" -- "$BUILD/tests/programs/sampler_target" spin 0.5 >/dev/null 2>&1
folded ring | grep -q 'main.*;spin_here' || fail "ring driver: no chain"
"$CYCLESCOPE" record -F 2000 --no-bursts --no-chains -o "$work/store-none" -- "$BUILD/tests/programs/sampler_target" spin 0.5 >/dev/null 2>&1
folded none | grep -q 'main.*;spin_here' && fail "--no-chains took some"

# Debian's own, stripped and without frame pointers.
seq 600000 | sort -R >"$work/numbers" 2>/dev/null
run sort 99 sort --parallel=2 -o /dev/null "$work/numbers"
run python 99 /usr/bin/python3 -c 'import json
for i in range(60000): json.loads(json.dumps({"a": [i] * 20, "b": "x"}))'
! command -v perl >/dev/null || run perl 99 perl -e 'for (1..6000000) { $h{$_ % 1000} = "x$_"; }'
! command -v openssl >/dev/null || run openssl 99 openssl speed -seconds 1 sha256
# Short processes, met before the kernel has their tables; coroutines; a C library without unwind information.
run short 98 sh -c 'for i in $(seq 60); do ls -lR /usr/share/doc/bash /etc >/dev/null; done'
! command -v php >/dev/null || run fibers 99 php -r 'function spent() { $u = getrusage(); return $u["ru_utime.tv_sec"] + $u["ru_utime.tv_usec"] * 1e-6; }
$end = spent() + 1; $f = []; for ($i = 0; $i < 9; $i++) $f[] = new Fiber(function () {
    for (;;) { for ($k = 0; $k < 300; $k++) md5("x$k"); Fiber::suspend(); } });
foreach ($f as $x) $x->start(); while (spent() < $end) foreach ($f as $x) $x->resume();'
if command -v musl-gcc >/dev/null && musl-gcc -O2 -static -o "$work/musl" "$work/spin.c" 2>/dev/null; then
    cat >"$work/sorts.c" <<'C'
#include <stdlib.h>
#include <string.h>
static int by_text(const void *a, const void *b) { return memcmp(a, b, 8); }
int main(void) { for (int k = 0; k < 4000; k++) { long v[900]; for (int i = 0; i < 900; i++) v[i] = random(); qsort(v, 900, 8, by_text); } }
C
    musl-gcc -O2 -static -o "$work/sorts" "$work/sorts.c"
    run musl 99 "$work/sorts"
    folded musl | grep -q '_start;.*main;.*qsort.*;by_text' || fail "no chain through a C library without unwind information"
fi
exit $bad
