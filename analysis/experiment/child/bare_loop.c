/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/experiment/child/bare_loop.h"

#include <stddef.h>

/* What the routine reads and writes. The counter's place holds the number of turns. */
static struct {
    uint64_t registers[16], begin, end, stack;
} at_work;
enum { TIMES_MOST = 50 };
static void (*enter)(void);
static int counter_of_loop;

static uint8_t *put(uint8_t *at, const void *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        at[i] = ((const uint8_t *)bytes)[i];
    return at + n;
}
#define PUT(...) (at = put(at, (const uint8_t[]){__VA_ARGS__}, sizeof(const uint8_t[]){__VA_ARGS__}))

static uint8_t *put_constant(uint8_t *at, int reg, const void *address)
{
    PUT(reg > 7 ? 0x49 : 0x48, (uint8_t)(0xb8 + (reg & 7)));
    return put(at, &address, 8);
}

/* mov reg, [base + displacement] */
static uint8_t *put_load(uint8_t *at, int reg, int base, size_t displacement)
{
    PUT((uint8_t)(0x48 | (reg > 7 ? 4 : 0) | (base > 7)), 0x8b,
        (uint8_t)(0x40 | (reg & 7) << 3 | (base & 7)));
    if ((base & 7) == 4)
        PUT(0x24);
    PUT((uint8_t)displacement);
    return at;
}

enum {
    BEGIN = offsetof(__typeof__(at_work), begin),
    END = offsetof(__typeof__(at_work), end),
    STACK = offsetof(__typeof__(at_work), stack),
};
#define PUT_AT(rex, code, modrm, where) PUT(rex, code, modrm, (uint8_t)(where), (where) >> 8, 0, 0)

uint64_t bare_prepare(uint8_t *routine, const struct bare_loop *loop)
{
    const int counter = counter_of_loop = loop->counter;
    uint8_t *at = routine;
    PUT(0x53, 0x55, 0x41, 0x54, 0x41, 0x55, 0x41, 0x56, 0x41, 0x57); /* push rbx rbp r12..r15 */
    at = put_constant(at, 1, &at_work);
    PUT_AT(0x48, 0x89, 0xa1, STACK); /* mov [rcx+STACK], rsp */
    at = put_constant(at, 6, loop->state);
    PUT(0xb8, 0xe7, 0, 0, 0, 0x31, 0xd2, 0x48, 0x0f, 0xae, 0x2e); /* xrstor64 [rsi] of all but MPX, PKRU */
    PUT(0x0f, 0xae, 0xf0, 0x0f, 0xae, 0xe8, 0x0f, 0x31);          /* mfence; lfence; rdtsc */
    PUT(0x48, 0xc1, 0xe2, 0x20, 0x48, 0x09, 0xd0);                /* shl rdx, 32; or rax, rdx */
    PUT_AT(0x48, 0x89, 0x81, BEGIN);                              /* mov [rcx+BEGIN], rax */
    at = put_constant(at, counter, &at_work);
    for (int reg = 0; reg < 16; reg++)
        if (reg != counter)
            at = put_load(at, reg, counter, 8 * (size_t)reg);
    at = put_load(at, counter, counter, 8 * (size_t)counter);
    PUT(0xff, 0x25, 0, 0, 0, 0); /* jmp head */
    put(at, &loop->head, 8);
    uint8_t *leave = at = routine + 1024;
    PUT(0x0f, 0x01, 0xf9, 0x0f, 0xae, 0xe8); /* rdtscp; lfence */
    at = put_constant(at, 1, &at_work);
    PUT(0x48, 0xc1, 0xe2, 0x20, 0x48, 0x09, 0xd0);
    PUT_AT(0x48, 0x89, 0x81, END);
    PUT_AT(0x48, 0x8b, 0xa1, STACK);
    PUT(0xfc, 0xc5, 0xf8, 0x77);                                           /* cld; vzeroupper */
    PUT(0x41, 0x5f, 0x41, 0x5e, 0x41, 0x5d, 0x41, 0x5c, 0x5d, 0x5b, 0xc3); /* pop r15..r12 rbp rbx; ret */
    enter = (void (*)(void))(uintptr_t)routine;
    return (uint64_t)(uintptr_t)leave;
}

static double run_once(uint64_t turns)
{
    at_work.registers[counter_of_loop] = turns;
    __asm__ volatile("" ::: "memory");
    enter();
    __asm__ volatile("" ::: "memory");
    return (double)(at_work.end - at_work.begin);
}

/* Ticks of one of several runs. Some processors' clock goes in steps of 26 ticks, which short runs would show. */
static double run(uint64_t turns, unsigned times)
{
    double sum = 0;
    for (unsigned k = 0; k < times; k++)
        sum += run_once(turns);
    return sum / times;
}

#define TIMED(repeated, turns)                                                                               \
    uint64_t begin, end, x = 3, left = (turns);                                                              \
    __asm__ volatile("mfence; lfence; rdtsc; shl $32, %%rdx; or %%rdx, %%rax; mov %%rax, %0\n"               \
                     "1: .rept 100;" repeated ".endr; dec %3; jnz 1b\n"                                      \
                     "rdtscp; lfence; shl $32, %%rdx; or %%rdx, %%rax; mov %%rax, %1"                        \
                     : "=&r"(begin), "=&r"(end), "+r"(x), "+r"(left)::"rax", "rcx", "rdx", "r8", "r9",       \
                       "r10", "r11", "memory");                                                              \
    return (double)(end - begin)

/* Ticks of so many multiplications that wait for each other: 3 cycles each on all cores of both vendors. */
static double chain(unsigned turns)
{
    TIMED("imul %2, %2;", turns);
}

/* Of a hundred times four additions each, a cycle all four: more where another thread has a part of the core. */
static double four_wide(unsigned turns)
{
    TIMED("add $1, %%r8; add $1, %%r9; add $1, %%r10; add $1, %%r11;", turns);
}

static void sort(double *values)
{
    for (int i = 1; i < BARE_PASSES; i++)
        for (int k = i; k > 0 && values[k - 1] > values[k]; k--) {
            double t = values[k];
            values[k] = values[k - 1];
            values[k - 1] = t;
        }
}

static double middle(double *values)
{
    sort(values);
    return values[BARE_PASSES / 2];
}

static uint64_t find_turns(const volatile unsigned *pages)
{
    uint64_t turns = BARE_TURNS_LEAST;
    run_once(turns);
    while (turns < 100000 && run_once(turns) < BARE_TICKS_MOST / 2) {
        run_once(turns * 2); /* pages come */
        if (*pages > BARE_PAGES_WARM)
            break;
        turns *= 2;
    }
    /* What memory holds may lead elsewhere in every pass: passes count from when no page has come for a while. */
    for (int quiet = 0, k = 0; quiet < 20 && k < 2000; k++, quiet++) {
        unsigned before = *pages;
        run_once(turns);
        if (*pages != before)
            quiet = 0;
    }
    return turns;
}

void bare_measure(const uint64_t *registers, const volatile unsigned *pages, struct bare_time *out)
{
    static double few[BARE_PASSES], many[BARE_PASSES], short_chain[BARE_PASSES], long_chain[BARE_PASSES],
        wide[BARE_PASSES];
    for (int reg = 0; reg < 16; reg++)
        at_work.registers[reg] = registers[reg];
    const uint64_t turns = find_turns(pages);
    double room = BARE_TICKS_MOST / 2 / (run(turns, 5) + 1);
    const unsigned times = room < 1 ? 1 : room > TIMES_MOST ? TIMES_MOST : (unsigned)room;
    for (int k = -5; k < BARE_PASSES; k++) {
        int to = k < 0 ? 0 : k;
        long_chain[to] = chain(40);
        many[to] = run(turns, times);
        short_chain[to] = chain(10);
        few[to] = run(turns / 4, times);
        wide[to] = four_wide(40) - four_wide(10);
    }
    const double tick = (middle(long_chain) - middle(short_chain)) / (30 * 100 * 3);
    const double longest = middle(many), shortest = middle(few);
    const double off = (many[BARE_PASSES * 3 / 4] - many[BARE_PASSES / 4]) +
                       (few[BARE_PASSES * 3 / 4] - few[BARE_PASSES / 4]);
    *out = (struct bare_time){.cycles = (longest - shortest) / (double)(turns - turns / 4) / tick,
                              .spread = 100 * off / (longest - shortest),
                              .reference = middle(wide) / 30 / tick,
                              .turns = (uint32_t)turns,
                              .pages = *pages};
}
