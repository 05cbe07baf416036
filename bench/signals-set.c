/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a set, an add and a scoped set cost beside a bare volatile store: cycles of the TSC in a loop with
 * some work of its own (so that stores retire beside it, as in real code) and alone. Value: set over bare
 * store, ratio. */
#define CS_EXECUTABLE
#include "signals/cyclescope.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS 61

static uint64_t n = 2000000;
static volatile uint64_t bare __attribute__((aligned(128)));
static cs_signal variable = 5;

static uint64_t tsc(void)
{
    uint32_t low, high, cpu;
    __asm__ volatile("rdtscp" : "=a"(low), "=d"(high), "=c"(cpu)::"memory");
    return (uint64_t)high << 32 | low;
}

enum kind { EMPTY, BARE, SET, SET_POINTER, SET_VARIABLE, ADD, SCOPE, N_KINDS };
static const char *const names[N_KINDS] = {
    "empty_loop", "volatile_store", "set", "set_through_pointer", "set_variable_signal", "add", "scope"};

/* Four of the same in a row: what each costs where nothing hides it. */
#define LOOP(statement)                                                                                      \
    for (uint64_t i = 0; i < n; i += 4) {                                                                    \
        statement;                                                                                           \
        statement;                                                                                           \
        statement;                                                                                           \
        statement;                                                                                           \
        __asm__ volatile("" ::: "memory");                                                                   \
    }

static double cycles(enum kind kind)
{
    const uint64_t start = tsc();
    switch (kind) {
    case EMPTY:
        LOOP();
        break;
    case BARE:
        LOOP(bare = i);
        break;
    case SET:
        LOOP(cs_set(4, i));
        break;
    case SET_POINTER:
        LOOP(cs_line[4] = i);
        break;
    case SET_VARIABLE:
        LOOP(cs_set(*(volatile cs_signal *)&variable, i));
        break;
    case ADD:
        LOOP(cs_add(6, 1));
        break;
    default:
        LOOP({
            CS_SCOPE(4, i);
            __asm__ volatile("");
        });
    }
    const uint64_t end = tsc();
    return (double)(end - start) / (double)n;
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    static double all[N_KINDS][ROUNDS];
    if (argc > 1 && strcmp(argv[1], "--quick") == 0)
        n = 200000;
    cs_attach();
    for (unsigned round = 0; round < ROUNDS; round++)
        for (enum kind k = EMPTY; k < N_KINDS; k++)
            all[k][round] = cycles(k);
    double median[N_KINDS], spread[N_KINDS];
    for (enum kind k = EMPTY; k < N_KINDS; k++) {
        qsort(all[k], ROUNDS, sizeof(double), ascending);
        median[k] = all[k][ROUNDS / 5];
        spread[k] = all[k][ROUNDS / 2] - all[k][0];
    }
    printf("{\"name\": \"signals-set\", \"value\": %.3f, \"unit\": \"cycles of set over bare store, ratio of "
           "loops\", "
           "\"target\": 1.05, \"noise\": %.3f, \"detail\": {\"tsc_cycles_each\": {",
           median[SET] / median[BARE], spread[SET] / median[BARE]);
    for (enum kind k = EMPTY; k < N_KINDS; k++)
        printf("%s\"%s\": %.2f", k ? ", " : "", names[k], median[k]);
    puts("}}}");
    return 0;
}
