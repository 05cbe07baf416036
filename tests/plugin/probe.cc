// SPDX-License-Identifier: GPL-2.0-or-later
// Code of every awkward shape, which notes its own tag at the places that matter, beside what the tag should name:
// function and lines of the loop (0 0 = the method outside loops). tests/integration/signals-plugin.sh judges by the
// tag table of the executable.
#include "signals/cyclescope.h"

#include <algorithm>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

extern "C" __attribute__((visibility("hidden"))) const char __ehdr_start;
static struct note {
    uint64_t tag;
    const char *function;
    int line, from, to;
} notes[20000];
static unsigned n_notes;

extern "C" __attribute__((no_instrument_function, noinline)) void note(uint64_t tag, const char *function, int line,
                                                                       int from, int to)
{
    if (n_notes < sizeof notes / sizeof *notes)
        notes[n_notes++] = {tag, function, line, from, to};
}
#define METHOD note(cs_get(CS_WORD_CODE), __func__, __LINE__, 0, 0)
#define OUTER(above) note(cs_get(CS_WORD_CODE), __func__, __LINE__, __LINE__ - (above)-1, __LINE__ - (above) + 1)
#define LOOP_OF(function, lines) note(cs_get(CS_WORD_CODE), function, __LINE__, __LINE__ - (lines), __LINE__ + (lines))
#define METHOD_OR_LOOP note(cs_get(CS_WORD_CODE), __func__, __LINE__, -1, -1)
#define LOOP(lines) note(cs_get(CS_WORD_CODE), __func__, __LINE__, __LINE__ - (lines), __LINE__ + (lines))

extern "C" {
#define NOINLINE __attribute__((noinline, noclone))
volatile int sink;

NOINLINE int leaf(int n)
{
    METHOD;
    int s = 0;
    for (int i = 0; i < n; i++)
        sink = s += i;
    METHOD; /* out of the loop again */
    return s;
}

NOINLINE int nested(int n)
{
    METHOD;
    int s = 0;
    for (int i = 0; i < n; i++) {
        LOOP(2);
        for (int j = 0; j < n; j++) {
            sink = s ^= i * j;
            LOOP(2);


        }


        s += leaf(3); /* a call into another method with a loop */
        OUTER(11); /* back: the outer loop */
    }
    METHOD;
    return s;
}

NOINLINE int recursive(int depth)
{
    METHOD;
    int s = depth;
    if (depth > 0) {
        s += recursive(depth - 1);
        METHOD;
        while (s > 1000) {
            sink = s -= 999;
            LOOP(3);
        }
    }
    METHOD;
    return s;
}

NOINLINE int tail_target(int n)
{
    METHOD;
    return n * 3 + leaf(2);
}
NOINLINE int tail_caller(int n)
{
    METHOD;
    sink = n;
    return tail_target(n + 1);
}

NOINLINE void longjmper(jmp_buf where, int depth)
{
    METHOD;
    if (depth == 0)
        longjmp(where, 1);
    longjmper(where, depth - 1);
    METHOD;
}
NOINLINE int setjmper(void)
{
    jmp_buf where;
    volatile int times = 0;
    METHOD;
    if (setjmp(where) == 0) {
        METHOD;
        longjmper(where, 3);
    }
    METHOD; /* back by longjmp */
    for (int i = 0; i < 3; i++) {
        METHOD_OR_LOOP; /* with setjmp in it, it has several entries: no loop to the compiler */
        if (setjmp(where) == 0)
            longjmper(where, 1);
        METHOD_OR_LOOP;
        times = times + 1;
    }
    return times;
}

static int compare(const void *a, const void *b)
{
    METHOD;
    return *(const int *)a - *(const int *)b;
}
NOINLINE int callback(void)
{
    int values[] = {3, 1, 2, 5, 4};
    METHOD;
    qsort(values, 5, sizeof *values, compare); /* libc calls back into tagged code */
    METHOD;
    return values[0];
}

NOINLINE int pointer(int (*f)(int), int n)
{
    METHOD;
    int s = f(n);
    METHOD;
    for (int i = 0; i < 3; i++) {
        s += f(i);
        LOOP(3);
    }
    METHOD;
    return s;
}

NOINLINE int jumps(int n)
{
    static void *const labels[] = {&&one, &&two, &&three, &&end};
    int s = 0, i = 0;
    METHOD;
    goto *labels[i];
one:
    s += leaf(1);
    METHOD_OR_LOOP;
    i = 1;
    goto *labels[i];
two:
    s += 2;
    if (s < n)
        goto *labels[0];
    i = 2;
    goto *labels[i];
three:
    s += leaf(2);
    METHOD_OR_LOOP;
    i = 3;
    goto *labels[i];
end:
    return s;
}
}

/* Another context of the same thread: what swapcontext comes back from has run other code. */
static ucontext_t mainland, island;
extern "C" NOINLINE void coroutine(void)
{
    METHOD;
    for (int i = 0; i < 3; i++) {
        LOOP(2);
        swapcontext(&island, &mainland);
        LOOP(4);
    }
    METHOD;
}
extern "C" NOINLINE int resume(void)
{
    METHOD;
    swapcontext(&mainland, &island);
    METHOD;
    return leaf(1);
}
extern "C" NOINLINE int switcher(void)
{
    static char stack[262144];
    METHOD;
    getcontext(&island);
    island.uc_stack.ss_sp = stack;
    island.uc_stack.ss_size = sizeof stack;
    island.uc_link = &mainland;
    makecontext(&island, coroutine, 0);
    METHOD;
    return resume() + resume() + resume() + resume();
}

/* Code of system headers that is compiled here has tags too. */
struct descending {
    bool operator()(int a, int b) const { return a > b; }
};
extern "C" NOINLINE int sorter(int n)
{
    int values[100];
    METHOD;
    for (int i = 0; i < 100; i++)
        values[i] = i * n % 37;
    METHOD;
    std::sort(values, values + 100, descending());
    METHOD;
    return values[0];
}

/* A loop of an inlined function is the loop of the method that it was inlined into, at its own line. */
static inline __attribute__((always_inline)) int inlined(int n)
{
    int s = 0;
    for (int i = 0; i < n; i++) {
        sink = s += i;
        LOOP_OF("inliner", 3);
    }
    return s;
}
extern "C" NOINLINE int inliner(int n)
{
    METHOD;
    int s = inlined(n) + inlined(n + 1);
    METHOD;
    return s;
}

/* A signal handler's tag stays until the next point of what it interrupted. */
static void handler(int) { METHOD; }
extern "C" NOINLINE int interrupted(void)
{
    signal(SIGUSR1, handler);
    METHOD;
    raise(SIGUSR1);
    int s = leaf(2);
    METHOD;
    return s;
}

struct guard {
    ~guard() { sink = 1; }
};
extern "C" NOINLINE int thrower(int n)
{
    METHOD;
    guard g;
    if (n == 0)
        throw 7;
    int r = thrower(n - 1);
    METHOD;
    return r;
}
extern "C" NOINLINE int catcher(int n)
{
    int s = 0;
    METHOD;
    try {
        s = thrower(n);
    } catch (int e) {
        METHOD;
        s = e;
    }
    METHOD;
    for (int i = 0; i < 3; i++) {
        try {
            LOOP(9);
            s += thrower(i);
        } catch (int e) {
            LOOP(9);
            s -= e;
        }
        LOOP(9);
    }
    METHOD;
    return s;
}

struct counting {
    int *n;
    ~counting() { *n += leaf(1); } /* tagged code while the stack unwinds */
};
extern "C" NOINLINE int unwound(int n)
{
    METHOD;
    counting c{&n};
    return thrower(n);
}
extern "C" NOINLINE int rethrower(int n)
{
    METHOD;
    try {
        try {
            n += unwound(n);
        } catch (int) {
            METHOD;
            throw;
        }
    } catch (int e) {
        METHOD;
        n += e;
    }
    METHOD;
    return n;
}

int main()
{
    sink = leaf(5) + nested(3) + recursive(30) + tail_caller(2) + setjmper() + callback() + pointer(leaf, 4) + jumps(9) +
           catcher(4) + switcher() + sorter(5) + inliner(4) + interrupted() + rethrower(3);
    printf("%lld base 0 0 0\n", (long long)(uintptr_t)&__ehdr_start);
    for (unsigned i = 0; i < n_notes; i++)
        printf("%lld %s %d %d %d\n", (long long)notes[i].tag, notes[i].function, notes[i].line, notes[i].from,
               notes[i].to);
    return 0;
}
