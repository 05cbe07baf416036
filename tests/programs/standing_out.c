/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Spends half of its time in ordinary work, spread over several functions, and a part of it at one place that could be better.
 * It prints what it counted itself: how often that place ran, and its turns.
 *
 *     standing_out MODE SECONDS    search, walk, table, grid, bits, copies, clocks, naps, ordinary */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define AHEAD 24
#define NEVER __attribute__((noinline, noclone))

static uint64_t entries, turns, sink;
static uint32_t keys[512];
static struct node {
    struct node *next;
    uint32_t key;
} nodes[512];
static uint32_t ahead[512]; /* key of the node that is AHEAD further on */
static uint16_t links[512][16];
static volatile uint32_t hits[64];
static uint32_t n_hits;
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

NEVER static const struct node *walk(const struct node *n, uint32_t key)
{
    while (n->key != key) /* walk */
        n = n->next;
    return n;
}

/* Pointers are loaded and followed, but none leads to the next one. */
NEVER static uint32_t table(const uint16_t *link)
{
    uint32_t sum = 0;
    for (unsigned i = 0; i < 16; i++)
        sum = (sum << 1 | sum >> 31) ^ nodes[link[i]].next->key; /* table */
    return sum;
}

/* The loop within is the one to name. It stores so rarely that it searches. */
NEVER static void grid(uint32_t low)
{
    for (unsigned row = 0; row < 16; row++) {
        hits[row] = row;
        for (unsigned i = 0; i < 24; i++)
            if ((keys[row * 32 + i] & 31) == low) /* grid */
                hits[n_hits++ & 63] = i;
    }
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
    for (unsigned i = 0; i < 512; i++) {
        nodes[i] = (struct node){&nodes[(i * 5 + 1) % 512], i};
        for (unsigned k = 0; k < 16; k++)
            links[i][k] = (uint16_t)((i * 7 + k * k * 31) % 512);
        ahead[i] = i;
        for (unsigned k = 0; k < AHEAD; k++)
            ahead[i] = (ahead[i] * 5 + 1) % 512;
    }
    struct timespec now, begun;
    clock_gettime(CLOCK_MONOTONIC, &begun);
    do {
        for (unsigned k = 0; k < 20; k++) {
            sink = mix(sink + k, 3000);
            sink = fold(sink, 3000);
            sink = step(sink, 3000);
            for (unsigned i = 0; first == 's' && i < 60; i++, entries++)
                turns += search(keys[((sink >> 20) + i) & 255]) + 1;
            for (unsigned i = 0; first == 'w' && i < 400; i++, entries++, turns += AHEAD + 1) {
                const unsigned at = ((unsigned)(sink >> 20) + i) & 511;
                sink += walk(&nodes[at], ahead[at])->key;
            }
            for (unsigned i = 0; first == 't' && i < 4000; i++, entries++, turns += 16)
                sink += table(links[((sink >> 20) + i) & 511]);
            for (unsigned i = 0; first == 'g' && i < 60; i++, entries += 16, turns += 16 * 24)
                grid(((uint32_t)(sink >> 20) + i) & 31);
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
