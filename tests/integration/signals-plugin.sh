#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The compiler plugin: on code of every awkward shape (nested, recursive, tail-calling, throwing, longjmp, callbacks,
# computed goto, contexts, inlining, signal handlers) the tag names the right method or loop at every instant that matters; vectorised loops stay so; options.
# Beside others.
set -u
plugin=$(realpath "$BUILD")/plugin/cyclescope.so
[ -e "$plugin" ] || { echo "the plugin is not built (gcc-12-plugin-dev)"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bad=0
fail() { echo "failed: $*"; bad=1; }
exact="-fplugin=$plugin -fplugin-arg-cyclescope-short=0 -fplugin-arg-cyclescope-min-body=0 -fplugin-arg-cyclescope-min-loop=0 -fplugin-arg-cyclescope-strict"

for flags in -O0 -O1 -O2 -O3 -Os "-O2 -flto" "-O2 -fno-pie -no-pie" "-O2 -fPIC" "-O2 SHARED" "-O3 -march=native -funroll-loops"; do
    [ -n "${CS_QUICK:-}" ] && case $flags in -O1 | -O3 | -Os) continue ;; esac
    how=${flags/SHARED/-fplugin-arg-cyclescope-shared-runtime}
    lib=$BUILD/libcyclescope.a
    case $flags in *SHARED) lib="-L$BUILD -lcyclescope -Wl,-rpath,$(realpath "$BUILD")" ;; esac
    # shellcheck disable=SC2086
    g++ -I. -g -Wno-infinite-recursion $exact $how -o "$work/probe" tests/plugin/probe.cc $lib || { fail "compile $flags"; continue; }
    "$work/probe" >"$work/notes" && python3 tests/plugin/judge.py "$work/probe" <"$work/notes" >"$work/verdict" ||
        fail "$flags: $(tail -4 "$work/verdict")"
    echo "$flags: $(tail -1 "$work/verdict")"
done

# A vectorised loop stays vectorised, and there is no store of ours in it.
cat >"$work/loop.c" <<'END'
void scale(float *restrict a, const float *restrict b, int n) { for (int i = 0; i < n; i++) a[i] = b[i] * 3 + 1; }
float sum(const float *a, int n) { float s = 0; for (int i = 0; i < n; i++) s += a[i]; return s; }
END
gcc -O3 -g0 -S -fplugin="$plugin" -o "$work/tagged.s" "$work/loop.c" && gcc -O3 -g0 -S -o "$work/plain.s" "$work/loop.c"
count() { grep -c "$1" "$2" || true; }
[ "$(count mulps "$work/plain.s")" -gt 0 ] && [ "$(count mulps "$work/plain.s")" = "$(count mulps "$work/tagged.s")" ] ||
    fail "the vectorised loop changed"
grep -v 'cs_page\|^1:\|pushsection\|popsection\|asciz\|\.quad\|\.short\|\.byte\|\.hidden\|^2:\|^3:\|#\|\.long\|^\s*$' "$work/tagged.s" |
    grep -oE '^\s+(mulps|addps|movups|mulss|addss)' | sort | uniq -c >"$work/a"
grep -oE '^\s+(mulps|addps|movups|mulss|addss)' "$work/plain.s" | sort | uniq -c >"$work/b"
cmp -s "$work/a" "$work/b" || fail "other vector instructions: $(diff "$work/a" "$work/b")"

# Options: lists, methods only, sizes; and a sentence for what makes no sense.
points() { gcc -O2 -S -o - -fplugin="$plugin" -fplugin-arg-cyclescope-short=0 "$@" tests/programs/signals_set.c -I. 2>/dev/null | grep -c 'cs_page@tpoff+1664$' || true; }
all=$(points -fplugin-arg-cyclescope-min-body=0 -fplugin-arg-cyclescope-min-loop=0)
[ "$all" -ge 6 ] || fail "only $all points in signals_set.c"
[ "$(points -fplugin-arg-cyclescope-min-body=0 -fplugin-arg-cyclescope-methods)" -lt "$all" ] || fail "methods has as many points as loops"
[ "$(points -fplugin-arg-cyclescope-min-body=0 '-fplugin-arg-cyclescope-allow=set_con*')" = 1 ] || fail "allow list"
[ "$(points -fplugin-arg-cyclescope-min-body=0 '-fplugin-arg-cyclescope-deny=*')" = 0 ] || fail "deny list"
[ "$(points -fplugin-arg-cyclescope-min-body=100000)" -lt "$all" ] || fail "min-body"
gcc -c -o "$work/x.o" -fplugin="$plugin" -fplugin-arg-cyclescope-nonsense "$work/loop.c" 2>"$work/err" && fail "took a nonsense option"
grep -q "makes no sense" "$work/err" || fail "no sentence for a nonsense option"

# Counters: exact against what the program does.
cat >"$work/count.c" <<'END'
#include "signals/cyclescope.h"
#include <stdlib.h>
__attribute__((noinline)) int method(int n) { int s = 0; for (int i = 0; i < n; i++) { __asm__ volatile("" : "+r"(s)); s++; } return s; }
__attribute__((no_instrument_function)) int main(void)
{
    void *volatile p;
    for (int i = 0; i < 1000; i++) { method(10); p = malloc(8); free(p); p = calloc(2, 8); p = realloc(p, 99); free(p); }
    p = aligned_alloc(64, 64);
    free(p);
    return cs_get(CS_WORD_CALLS) != 1000 ? 1 : cs_get(CS_WORD_ITERATIONS) != 10000 ? 2 : cs_get(CS_WORD_ALLOCATIONS) != ALLOCATIONS ? 3 : 0;
}
END
sed 's/__attribute__((no_instrument_function)) int main/int main/' "$work/count.c" >"$work/count_all.c"
gcc -I. -O2 -DALLOCATIONS=0 -fplugin="$plugin" -fplugin-arg-cyclescope-count=iterations,calls -o "$work/count" "$work/count.c" "$BUILD/libcyclescope.a" &&
    "$work/count" || fail "counters: exit $?"
# With main: one call and the loop's 1000 iterations more, and all allocations.
sed -i 's/!= 1000 /!= 1001 /; s/!= 10000 /!= 11000 /' "$work/count_all.c"
gcc -I. -O2 -DALLOCATIONS=3001 -fplugin="$plugin" -fplugin-arg-cyclescope-count=iterations,calls,allocations -o "$work/count" \
    "$work/count_all.c" "$BUILD/libcyclescope.a" && "$work/count" || fail "counters with allocations: exit $?"
cat >"$work/new.cc" <<'END'
#include "signals/cyclescope.h"
#include <memory>
#include <vector>
struct node { std::unique_ptr<node> next; int value[7]; };
int main()
{
    std::unique_ptr<node> head;
    for (int i = 0; i < 500; i++) { auto n = std::make_unique<node>(); n->next = std::move(head); head = std::move(n); }
    while (head) head = std::move(head->next);
    int *volatile p = new int[40];
    delete[] p;
    return cs_get(CS_WORD_ALLOCATIONS) == 501 ? 0 : 1;
}
END
for level in -O0 -O2; do
    g++ -I. $level -fplugin="$plugin" -fplugin-arg-cyclescope-count=allocations -o "$work/new" "$work/new.cc" "$BUILD/libcyclescope.a" &&
        "$work/new" || fail "allocations of C++ at $level"
done
# What is counted is a signal that others see.
gcc -I. -O2 -fplugin="$plugin" -fplugin-arg-cyclescope-count=iterations,calls,allocations -S -o - "$work/count_all.c" -DALLOCATIONS=0 |
    grep -q 'cs_compiled_allocations' || fail "the allocation counter is not defined as a signal"
exit $bad
