/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Knows how fast it runs: a loop of known length that measures itself. usage: burst_pace KIND SECONDS. KIND
 * is fast, slow or nested, which only read, or fast-stores or slow-stores, which write. Prints its
 * instructions a microsecond of CPU time. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TURNS 1000000
static uint8_t bytes[TURNS + 1]; /* read at an address that tells one turn from another */

static double seconds(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

#define FAST_INSTRUCTIONS 7
__attribute__((always_inline)) static inline void fast_turns(uint64_t n)
{
    const uint8_t *at = bytes;
    __asm__ volatile("1: add $1, %%r8\n"
                     "  add $1, %%r9\n"
                     "  add $1, %%r10\n"
                     "  lea (%0, %1), %%r11\n"
                     "  movzbl (%0, %1), %%eax\n"
                     "  dec %1\n"
                     "  jnz 1b\n"
                     : "+r"(at), "+r"(n)
                     :
                     : "rax", "r8", "r9", "r10", "r11", "memory", "cc");
}

__attribute__((noinline)) static void fast(uint64_t n)
{
    fast_turns(n);
}

#define SLOW_INSTRUCTIONS 7
__attribute__((noinline)) static void slow(uint64_t n)
{
    const uint8_t *at = bytes;
    __asm__ volatile("  mov $3, %%r8d\n"
                     "1: mov $1000003, %%eax\n"
                     "  xor %%edx, %%edx\n"
                     "  div %%r8\n"
                     "  lea -333331(%%rax), %%r8\n" /* 3 again, and known only now */
                     "  movzbl (%0, %1), %%eax\n"
                     "  dec %1\n"
                     "  jnz 1b\n"
                     : "+r"(at), "+r"(n)
                     :
                     : "rax", "rdx", "r8", "memory", "cc");
}

/* Reads the same table again and again: only a register that no address is made of tells one time from
 * another. */
#define TABLE_TURNS 500
__attribute__((noinline)) static void nested(uint64_t n)
{
    for (uint64_t times = n / TABLE_TURNS; times; times--) {
        fast_turns(TABLE_TURNS);
        __asm__ volatile("" : "+r"(times));
    }
}

/* As fast and slow, with a store of what is another value each time. */
#define STORES_INSTRUCTIONS 8
__attribute__((noinline)) static void fast_stores(uint64_t n)
{
    static uint64_t passes;
    uint64_t value = ++passes;
    uint8_t *at = bytes;
    __asm__ volatile("1: add $1, %%r8\n"
                     "  add $1, %%r9\n"
                     "  add $1, %%r10\n"
                     "  lea (%0, %1), %%r11\n"
                     "  inc %2\n"
                     "  movb %b2, (%0, %1)\n"
                     "  dec %1\n"
                     "  jnz 1b\n"
                     : "+r"(at), "+r"(n), "+r"(value)
                     :
                     : "r8", "r9", "r10", "r11", "memory", "cc");
}

__attribute__((noinline)) static void slow_stores(uint64_t n)
{
    static uint64_t passes;
    uint64_t value = ++passes;
    uint8_t *at = bytes;
    __asm__ volatile("  mov $3, %%r8d\n"
                     "1: mov $1000003, %%eax\n"
                     "  xor %%edx, %%edx\n"
                     "  div %%r8\n"
                     "  lea -333331(%%rax), %%r8\n"
                     "  inc %2\n"
                     "  movb %b2, (%0, %1)\n"
                     "  dec %1\n"
                     "  jnz 1b\n"
                     : "+r"(at), "+r"(n), "+r"(value)
                     :
                     : "rax", "rdx", "r8", "memory", "cc");
}

static const struct kind {
    const char *name;
    void (*run)(uint64_t n);
    unsigned instructions; /* a turn */
} kinds[] = {{"fast", fast, FAST_INSTRUCTIONS},
             {"slow", slow, SLOW_INSTRUCTIONS},
             {"nested", nested, FAST_INSTRUCTIONS},
             {"fast-stores", fast_stores, STORES_INSTRUCTIONS},
             {"slow-stores", slow_stores, STORES_INSTRUCTIONS}};

int main(int argc, char **argv)
{
    const struct kind *kind = kinds;
    while (kind < kinds + sizeof kinds / sizeof *kinds && argc == 3 && strcmp(argv[1], kind->name) != 0)
        kind++;
    if (argc != 3 || kind == kinds + sizeof kinds / sizeof *kinds)
        return 2;
    double cpu = seconds(CLOCK_THREAD_CPUTIME_ID), until = seconds(CLOCK_MONOTONIC) + atof(argv[2]), done = 0;
    while (seconds(CLOCK_MONOTONIC) < until) {
        kind->run(TURNS);
        done += (double)TURNS * kind->instructions;
    }
    printf("%.2f instructions a microsecond\n", done / (seconds(CLOCK_THREAD_CPUTIME_ID) - cpu) * 1e-6);
    return 0;
}
