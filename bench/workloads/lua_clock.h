/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lua's interpreter times itself: included by lvm.c of an interpreter with signals/examples/lua5.4.patch (bench/lib_lua.py puts it
 * there), beside each store of a tag, so what an observer sees is held against the program's own clock in the same run.
 *
 * The file that LUA_CLOCK names gets, at the end, a line each: "opcode NAME EXECUTIONS CYCLES", "function NAME CALLS CYCLES", and
 * "away CYCLES": time without the CPU, which is noticed where an instruction takes longer than a switch between threads, and is no
 * opcode's. LUA_CLOCK_VISITS=FUNCTION (file:line, as a tag's name ends): a tag "visit" numbers its visits, 0 elsewhere, and each has
 * a line "visit NS". */
#include "lopnames.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <x86intrin.h>

#define CLOCK_VISITS 1000000
#define CLOCK_FUNCTIONS 64
#define CLOCK_LONG 20000 /* cycles */

static struct {
    unsigned long long last, opcode_cycles[NUM_OPCODES + 1], opcode_count[NUM_OPCODES + 1];
    unsigned opcode, function;
    struct clock_function {
        const Proto *proto;
        unsigned long long cycles, count;
        int watched;
        char name[120];
    } functions[CLOCK_FUNCTIONS]; /* the last: those that found no place */
    unsigned long long away, checked, begun, *visits;
    unsigned n_visits;
    cs_signal visit;
    double checked_cpu, cycles_a_second;
} lcs_clock;

static double lcs_cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Of a long instruction: what of it the thread didn't run. */
static __attribute__((noinline)) unsigned long long lcs_without_cpu(unsigned long long now,
                                                                    unsigned long long cycles)
{
    const double cpu = lcs_cpu_seconds(), away = (double)(now - lcs_clock.checked) -
                                                 (cpu - lcs_clock.checked_cpu) * lcs_clock.cycles_a_second;
    lcs_clock.checked = now;
    lcs_clock.checked_cpu = cpu;
    const unsigned long long lost = away < 5000             ? 0
                                    : away > (double)cycles ? cycles
                                                            : (unsigned long long)away;
    lcs_clock.away += lost;
    return lost;
}

static inline void lcs_tick(void)
{
    const unsigned long long now = __rdtsc();
    unsigned long long cycles = now - lcs_clock.last;
    if (cycles > CLOCK_LONG && lcs_clock.cycles_a_second > 0)
        cycles -= lcs_without_cpu(now, cycles);
    lcs_clock.opcode_cycles[lcs_clock.opcode] += cycles;
    lcs_clock.functions[lcs_clock.function].cycles += cycles;
    lcs_clock.last = now;
}

static inline void lcs_clock_opcode(unsigned opcode)
{
    lcs_tick();
    lcs_clock.opcode = opcode;
    lcs_clock.opcode_count[opcode]++;
}

static __attribute__((noinline)) void lcs_clock_meet(struct clock_function *f, const Proto *proto)
{
    const char *visits = getenv("LUA_CLOCK_VISITS");
    const size_t length = visits ? strlen(visits) : 0;
    f->proto = proto;
    const int n = snprintf(f->name, sizeof f->name, "%s:%d", proto->source ? getstr(proto->source) + 1 : "?",
                           proto->linedefined);
    f->watched = length && (size_t)n < sizeof f->name && (size_t)n >= length &&
                 strcmp(f->name + n - length, visits) == 0;
    if (f->watched)
        lcs_clock.visit = cs_define(CS_ANY_WORD, "visit", CS_TAG);
    if (f->watched && !lcs_clock.visits &&
        !(lcs_clock.visits = calloc(CLOCK_VISITS, sizeof *lcs_clock.visits)))
        abort();
}

static inline void lcs_clock_function(const Proto *proto)
{
    unsigned at = (unsigned)((uintptr_t)proto >> 6) % CLOCK_FUNCTIONS, tries = 0;
    lcs_tick();
    while (tries++ < CLOCK_FUNCTIONS && lcs_clock.functions[at].proto != proto &&
           lcs_clock.functions[at].proto)
        at = (at + 1) % CLOCK_FUNCTIONS;
    struct clock_function *f = &lcs_clock.functions[at];
    if (!f->proto)
        lcs_clock_meet(f, proto);
    f->count++;
    if (lcs_clock.functions[lcs_clock.function].watched && lcs_clock.n_visits < CLOCK_VISITS) {
        cs_set(lcs_clock.visit, 0);
        lcs_clock.visits[lcs_clock.n_visits++] = lcs_clock.last - lcs_clock.begun;
    }
    if (f->watched)
        cs_set(lcs_clock.visit, lcs_clock.n_visits + 1);
    lcs_clock.begun = lcs_clock.last;
    lcs_clock.function = at;
}

static __attribute__((constructor)) void lcs_clock_start(void)
{
    struct timespec a, b, pause = {0, 50000000};
    clock_gettime(CLOCK_MONOTONIC_RAW, &a);
    const unsigned long long begin = __rdtsc();
    nanosleep(&pause, NULL);
    clock_gettime(CLOCK_MONOTONIC_RAW, &b);
    lcs_clock.last = lcs_clock.checked = __rdtsc();
    lcs_clock.cycles_a_second = (double)(lcs_clock.last - begin) /
                                ((double)(b.tv_sec - a.tv_sec) + 1e-9 * (double)(b.tv_nsec - a.tv_nsec));
    lcs_clock.checked_cpu = lcs_cpu_seconds();
    lcs_clock.opcode = NUM_OPCODES; /* none yet */
}

static __attribute__((destructor)) void lcs_clock_write(void)
{
    const char *path = getenv("LUA_CLOCK");
    FILE *f = path ? fopen(path, "w") : NULL;
    if (!f)
        return;
    lcs_tick();
    for (unsigned i = 0; i < NUM_OPCODES; i++)
        if (lcs_clock.opcode_count[i])
            fprintf(f, "opcode %s %llu %llu\n", opnames[i], lcs_clock.opcode_count[i],
                    lcs_clock.opcode_cycles[i]);
    for (unsigned i = 0; i < CLOCK_FUNCTIONS; i++)
        if (lcs_clock.functions[i].count)
            fprintf(f, "function %s %llu %llu\n", lcs_clock.functions[i].name, lcs_clock.functions[i].count,
                    lcs_clock.functions[i].cycles);
    for (unsigned i = 0; i < lcs_clock.n_visits; i++)
        fprintf(f, "visit %.0f\n", 1e9 * (double)lcs_clock.visits[i] / lcs_clock.cycles_a_second);
    fprintf(f, "away %llu\n", lcs_clock.away);
    fclose(f);
}
