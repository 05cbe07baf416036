#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The pass plugin for clang: on the same code of every awkward shape as signals-plugin.sh the tag names the right method or loop;
# a point is one store; vectorised loops stay so; options and counters. Of one program GCC's and clang's tables name the same
# methods and loops, and both show the shares that the program's own clock shows.
set -u
plugin=$(realpath "$BUILD")/plugin/cyclescope-clang.so
[ -e "$plugin" ] && command -v clang-14 >/dev/null || { echo "the plugin is not built (clang-14, llvm-14-dev)"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bad=0 skipped=
fail() { echo "failed: $*"; bad=1; }
use="-fplugin=$plugin -fpass-plugin=$plugin"
option() { for o; do printf ' -mllvm -cyclescope=%s' "$o"; done; }
exact="$use $(option short=0 min-body=0 min-loop=0 strict)"

# A loop of three turns that is unrolled whole is no loop any more.
for flags in -O0 -O1 -O2 -O3 -Os "-O2 -fPIE -pie" "-O2 -fno-pie -no-pie" "-O2 -fPIC" "-O2 SHARED" "-O3 -march=native" \
    "-O2 -flto -fuse-ld=lld" "-O2 -flto=thin -fuse-ld=lld"; do
    [ -n "${CS_QUICK:-}" ] && case $flags in -O1 | -O3 | -Os) continue ;; esac
    case $flags in *lld) command -v ld.lld >/dev/null || { skipped=" -flto (no lld)"; continue; } ;; esac
    how=${flags/SHARED/$(option shared-runtime)}
    lib=$BUILD/libcyclescope.a
    case $flags in *SHARED) lib="-L$BUILD -lcyclescope -Wl,-rpath,$(realpath "$BUILD")" ;; esac
    # shellcheck disable=SC2086
    clang++-14 -I. -g -w -fno-unroll-loops $exact $(option deny=note) $how -o "$work/probe" tests/plugin/probe.cc $lib || { fail "compile $flags"; continue; }
    "$work/probe" >"$work/notes" && python3 tests/plugin/judge.py "$work/probe" <"$work/notes" >"$work/verdict" ||
        fail "$flags: $(tail -4 "$work/verdict")"
    echo "$flags: $(tail -1 "$work/verdict")"
    # One store a point, and no store of the tag that isn't one.
    objdump -d --no-show-raw-insn "$work/probe" >"$work/code"
    python3 tests/plugin/judge.py "$work/probe" --points | sort -u >"$work/points"
    case $flags in
    *PIC) sed -nE 's/^ *([0-9a-f]+):\s+lea +[-0-9a-fx]+\(%rip\),%[a-z0-9]+ +# ([0-9a-f]+) .*/\1 \2/p' "$work/code" | awk '$1 == $2 { print $1 }' ;;
    *SHARED) sed -nE 's/^ *([0-9a-f]+):\s+movq +\$0x[0-9a-f]+,(0x0)?\(%[a-z0-9]+\)$/\1/p' "$work/code" ;;
    *) sed -nE 's/^ *([0-9a-f]+):\s+movq +\$0x[0-9a-f]+,%fs:0xf[0-9a-f]+$/\1/p' "$work/code" ;;
    esac | sort -u >"$work/stores"
    case $flags in
    *SHARED) [ -z "$(comm -23 "$work/points" "$work/stores")" ] ;; # the program has such stores of its own
    *) cmp -s "$work/points" "$work/stores" ;;
    esac && [ "$(wc -l <"$work/points")" -gt 50 ] ||
        fail "$flags: points and stores: $(diff "$work/points" "$work/stores" | head -4)"
done

# A vectorised loop stays vectorised, and there is no store of ours in it.
cat >"$work/loop.c" <<'C'
void scale(float *restrict a, const float *restrict b, int n) { for (int i = 0; i < n; i++) a[i] = b[i] * 3 + 1; }
float sum(const float *a, int n) { float s = 0; for (int i = 0; i < n; i++) s += a[i]; return s; }
C
# shellcheck disable=SC2086
clang-14 -O3 -g0 -S $use -o "$work/tagged.s" "$work/loop.c" && clang-14 -O3 -g0 -S -o "$work/plain.s" "$work/loop.c"
for file in tagged plain; do
    grep -oE '^\s+(mulps|addps|movups|mulss|addss)' "$work/$file.s" | sort | uniq -c >"$work/$file.counts"
done
grep -q mulps "$work/plain.counts" && cmp -s "$work/tagged.counts" "$work/plain.counts" || fail "vector instructions: $(diff "$work/tagged.counts" "$work/plain.counts")"
[ "$(grep -c 'fs:cs_page@TPOFF+1664' "$work/tagged.s")" -ge 2 ] || fail "the loops have no tags"

# Options: lists, methods only, sizes; and a sentence for what makes no sense.
# shellcheck disable=SC2086,SC2046
points() { clang-14 -O2 -S -o - $use $(option short=0 "$@") tests/programs/signals_set.c -I. 2>/dev/null | grep -ci 'fs:cs_page@tpoff+1664$' || true; }
all=$(points min-body=0 min-loop=0)
[ "$all" -ge 6 ] || fail "only $all points in signals_set.c"
[ "$(points min-body=0 methods)" -lt "$all" ] || fail "methods has as many points as loops"
[ "$(points min-body=0 'allow=set_con*')" = 1 ] || fail "allow list"
[ "$(points min-body=0 'deny=*')" = 0 ] || fail "deny list"
[ "$(points min-body=100000)" -lt "$all" ] || fail "min-body"
# shellcheck disable=SC2086,SC2046
clang-14 -c -o "$work/x.o" $use $(option nonsense) "$work/loop.c" 2>"$work/err" && fail "took a nonsense option"
grep -q "makes no sense" "$work/err" || fail "no sentence for a nonsense option: $(cat "$work/err")"
# shellcheck disable=SC2086
clang-14 -c --target=aarch64-linux-gnu -ffreestanding -o "$work/x.o" $use "$work/loop.c" 2>"$work/err" && fail "took another architecture"
grep -q "x86-64 only" "$work/err" || fail "no sentence for another architecture: $(cat "$work/err")"

# Counters: exact against what the program does.
cat >"$work/count.c" <<'C'
#include "signals/cyclescope.h"
#include <stdlib.h>
__attribute__((noinline)) int method(int n) { int s = 0; for (int i = 0; i < n; i++) { __asm__ volatile("" : "+r"(s)); s++; } return s; }
int main(void)
{
    void *volatile p;
    for (int i = 0; i < 1000; i++) { method(10); p = malloc(8); free(p); p = calloc(2, 8); p = realloc(p, 99); free(p); }
    p = aligned_alloc(64, 64);
    free(p);
    return cs_get(CS_WORD_CALLS) != 1001 ? 1 : cs_get(CS_WORD_ITERATIONS) != 11000 ? 2 : cs_get(CS_WORD_ALLOCATIONS) != 3001 ? 3 : 0;
}
C
# shellcheck disable=SC2086,SC2046
clang-14 -I. -O2 -fno-unroll-loops $use $(option count=iterations,calls,allocations) -o "$work/count" "$work/count.c" "$BUILD/libcyclescope.a" &&
    "$work/count" || fail "counters: exit $?"

# The same program by both compilers.
cat >"$work/both.c" <<'C'
#include <stdio.h>
#include <time.h>
#define NOINLINE __attribute__((noinline))
static volatile long sum;
static long cells[40000];
NOINLINE static double cpu(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}
NOINLINE static void add(long n)
{
    for (long i = 0; i < n; i++)
        sum += i;
}
NOINLINE static void nested(long n)
{
    for (long i = 0; i < n; i++) {
        sum ^= i;
        for (long j = 0; j < 100; j++)
            sum += j ^ i;
        for (long j = 0; j < 50; j++)
            sum -= j;
    }
}
NOINLINE static void chase(long n)
{
    long at = 0;
    while (n-- > 0)
        at = cells[at];
    sum += at;
}
NOINLINE static long deep(long n)
{
    add(30);
    return n ? deep(n - 1) + sum : 1;
}
int main(void)
{
    double spent[4] = {0}, all = 0, begin = cpu();
    for (long i = 0; i < 40000; i++)
        cells[i] = (i + 4567) % 40000;
    while (all < 2.5) {
        double a = cpu();
        add(30000);
        double b = cpu();
        nested(150);
        double c = cpu();
        chase(20000);
        double d = cpu();
        sum += deep(300);
        double e = cpu();
        spent[0] += b - a, spent[1] += c - b, spent[2] += d - c, spent[3] += e - d;
        all = e - begin;
    }
    printf("share add+deep %f\nshare nested %f\nshare chase %f\n", (spent[0] + spent[3]) / all, spent[1] / all, spent[2] / all);
}
C
gcc_plugin=$(realpath "$BUILD")/plugin/cyclescope.so
gcc_exact="-fplugin=$gcc_plugin $(printf ' -fplugin-arg-cyclescope-%s' short=0 min-body=0 min-loop=0)"
# shellcheck disable=SC2086,SC2046
clang-14 -O1 -g -fno-unroll-loops $use $(option short=0 min-body=0 min-loop=0) -o "$work/both.clang" "$work/both.c" "$BUILD/libcyclescope.a" || fail "clang"
compilers=clang
if [ -e "$gcc_plugin" ]; then
    # shellcheck disable=SC2086
    gcc -O1 -g -fno-ipa-cp -fno-ipa-sra $gcc_exact -o "$work/both.gcc" "$work/both.c" "$BUILD/libcyclescope.a" || fail "gcc"
    compilers="clang gcc"
    for c in gcc clang; do python3 tests/plugin/judge.py "$work/both.$c" --table | sort -u >"$work/table.$c"; done
    cmp "$work/table.gcc" "$work/table.clang" && [ "$(wc -l <"$work/table.clang")" -ge 10 ] || fail "tables: $(diff "$work/table.gcc" "$work/table.clang")"
fi
if [ "$(nproc)" -ge 2 ]; then
    for c in $compilers; do
        "$CYCLESCOPE" observe -s code --period 3000 --jitter 3000 --log "$work/log" -- "$work/both.$c" >"$work/truth" 2>"$work/err" || fail "observe: $(cat "$work/err")"
        "$CYCLESCOPE" tags --log "$work/log" --json >"$work/json.$c"
        python3 - "$work/truth" "$work/json.$c" "$c" <<'P' || fail "shares by $c"
import collections, json, sys
truth = {w[1]: float(w[2]) for w in map(str.split, open(sys.argv[1])) if w[:1] == ["share"]}
assert len(truth) == 3
seen = collections.Counter()
for r in json.load(open(sys.argv[2]))["tags"]:
    if r["percent"]:
        seen[r["name"].split()[0]] += r["percent"] / 100
seen["add+deep"] = seen["add"] + seen["deep"]
print(sys.argv[3], {k: (round(v, 3), round(seen[k], 3)) for k, v in truth.items()})
assert all(abs(seen[k] - v) < 0.03 for k, v in truth.items()), (truth, seen)
P
    done
fi
[ $bad != 0 ] || [ -z "$skipped" ] || { echo "not tried:$skipped"; exit 77; }
exit $bad
