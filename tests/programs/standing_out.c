/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Spends half of its time in ordinary work, spread over several functions, and a part of it at one place that could be better.
 * It prints what it counted itself: how often that place ran, and its turns.
 *
 *     standing_out MODE SECONDS    search, bits, copies, clocks, naps, ordinary */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NEVER __attribute__((noinline, noclone))

static uint64_t entries, turns, sink;
static uint32_t keys[512];
static char from[1 << 16], to[1 << 16];

/* Ordinary work: three chains, none of which has half of the time. */
NEVER static uint64_t mix(uint64_t x, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        x = (x ^ x >> 7) * 0x9e3779b97f4a7c15U;
    return x;
}

NEVER static uint64_t fold(uint64_t x, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        x = (x << 5 | x >> 59) + (x ^ i) * 31;
    return x;
}

NEVER static uint64_t step(uint64_t x, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        x = x * 6364136223846793005U + 1442695040888963407U;
    return x;
}

NEVER static unsigned search(uint32_t key)
{
    unsigned i = 0;
    while (keys[i] != key) /* search */
        i++;
    return i;
}

NEVER static uint32_t bits(uint32_t x)
{
    uint32_t sum = 0x1234567;
    while (x) {
        sum ^= x & 1 ? 0x04c11db7 : 0; /* bits */
        x >>= 1;
    }
    return sum;
}

NEVER static void copies(void)
{
    memcpy(to, from, sizeof to - (sink & 1)); /* copies */
    __asm__ volatile("" ::: "memory");        // no tail call
}

NEVER static long clocks(void)
{
    const long id = syscall(SYS_getppid); /* clocks */
    __asm__ volatile("" ::: "memory");
    return id;
}

NEVER static void naps(void)
{
    usleep(200); /* naps */
    __asm__ volatile("" ::: "memory");
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "ordinary";
    const double seconds = argc > 2 ? atof(argv[2]) : 1;
    const char first = mode[0], second = first ? mode[1] : 0;
    for (unsigned i = 0; i < 512; i++)
        keys[i] = i * 2654435761U;
    struct timespec now, begun;
    clock_gettime(CLOCK_MONOTONIC, &begun);
    do {
        for (unsigned k = 0; k < 20; k++) {
            sink = mix(sink + k, 3000);
            sink = fold(sink, 3000);
            sink = step(sink, 3000);
            for (unsigned i = 0; first == 's' && i < 60; i++, entries++)
                turns += search(keys[((sink >> 20) + i) & 255]) + 1;
            for (uint32_t i = 0, x = (uint32_t)sink; first == 'b' && i < 2000;
                 i++, entries++, x = x * 1664525 + 1) {
                turns += 24 - (unsigned)__builtin_clz((x >> 24) | 128) + 8;
                sink += bits((x >> 24) | 128);
            }
            for (unsigned i = 0; second == 'o' && i < 10; i++, entries++)
                copies();
            for (unsigned i = 0; second == 'l' && i < 200; i++, entries++)
                sink += (uint64_t)clocks();
            if (first == 'n' && k % 5 == 0) {
                naps();
                entries++;
            }
        }
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((double)(now.tv_sec - begun.tv_sec) + 1e-9 * (double)(now.tv_nsec - begun.tv_nsec) < seconds);
    printf("%llu entries, %llu turns%s\n", (unsigned long long)entries, (unsigned long long)turns,
           sink ? "" : ".");
    return 0;
}
