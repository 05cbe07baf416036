/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Phases of some milliseconds, in turn, each a function of its own that runs at its own rate: what
 * bench/burst-pace.py compares timed bursts with. Prints the seconds of CPU time of each: a thread that is
 * held has none.
 *
 *      _burst_pace ROUNDS
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PHASE __attribute__((noinline))
#define RECORDS 40000   /* 640 KB: what a second-level cache just holds */
#define NODES (1 << 18) /* 16 MB */

#define HEADERS (1 << 16) /* 4 MB */

struct record {
    uint32_t group, key;
    double weight;
};
struct node {
    struct node *next;
    uint64_t value[7];
};
static struct record original[RECORDS], sorted[RECORDS];
static struct node *nodes;
static struct node headers[HEADERS];
static uint8_t text[16 << 10];
static uint32_t buckets[1 << 16];
static uint64_t state = 88172645463325252u;

static uint64_t draw(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static PHASE uint64_t phase_shell_sort(void)
{
    for (size_t gap = RECORDS / 2; gap; gap = gap == 2 ? 1 : gap * 5 / 11)
        for (size_t i = gap; i < RECORDS; i++) {
            struct record x = sorted[i];
            size_t k = i;
            for (; k >= gap && x.group < sorted[k - gap].group; k -= gap)
                sorted[k] = sorted[k - gap];
            sorted[k] = x;
        }
    return sorted[7].key;
}

static PHASE uint64_t phase_search(void)
{
    uint64_t found = 0;
    for (unsigned i = 0; i < 30000; i++) {
        uint32_t group = (uint32_t)(draw() % 5000);
        size_t low = 0, high = RECORDS;
        while (low < high) {
            size_t middle = (low + high) / 2;
            if (sorted[middle].group < group)
                low = middle + 1;
            else
                high = middle;
        }
        found += low;
    }
    return found;
}

/* A stream: what no cache of a core's own holds, and is not come back to soon. */
static PHASE uint64_t phase_walk(void)
{
    static struct node *at;
    uint64_t sum = 0;
    at = at ? at : nodes;
    for (unsigned i = 0; i < 50000; i++, at = at->next)
        sum += at->value[0];
    return sum;
}

/* Lines that this core has in its caches, one after the other: what a heap's headers are to free. */
static PHASE uint64_t phase_see(void)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < 6 * HEADERS; i++)
        sum += headers[(i / 64 * 64 + i * 37 % 64) % HEADERS].value[0];
    return sum;
}

static PHASE uint64_t phase_mark(void)
{
    for (unsigned i = 0; i < 6 * HEADERS; i++)
        headers[(i / 64 * 64 + i * 37 % 64) % HEADERS].value[0] += i;
    return headers[7].value[0];
}

static PHASE uint64_t phase_hash(void)
{
    uint64_t hash = 14695981039346656037u;
    for (unsigned turn = 0; turn < 60; turn++)
        for (size_t i = 0; i < sizeof text; i++)
            hash = (hash ^ text[i]) * 1099511628211u;
    return hash;
}

static PHASE uint64_t phase_count(void)
{
    for (unsigned i = 0; i < 800000; i++)
        buckets[draw() >> 48]++;
    return buckets[42];
}

static double seconds(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        uint64_t (*run)(void);
    } phases[] = {{"phase_shell_sort", phase_shell_sort},
                  {"phase_search", phase_search},
                  {"phase_walk", phase_walk},
                  {"phase_see", phase_see},
                  {"phase_mark", phase_mark},
                  {"phase_hash", phase_hash},
                  {"phase_count", phase_count}};
    enum { PHASES = sizeof phases / sizeof *phases };
    double took[PHASES] = {0};
    uint64_t sum = 0;
    nodes = calloc(NODES, sizeof *nodes);
    if (argc != 2 || !nodes)
        return 2;
    for (size_t i = 0; i < RECORDS; i++)
        original[i] = (struct record){(uint32_t)(draw() % 5000), (uint32_t)draw(), 1};
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = (uint8_t)draw();
    for (size_t i = 0; i < NODES; i++) { /* page after page, the lines of each in an order of their own */
        size_t next = (i + 1) % NODES;
        nodes[i / 64 * 64 + i * 37 % 64].next = &nodes[next / 64 * 64 + next * 37 % 64];
    }
    for (int round = atoi(argv[1]); round > 0; round--) {
        memcpy(sorted, original, sizeof sorted);
        for (int i = 0; i < PHASES; i++) {
            double begin = seconds();
            sum += phases[i].run();
            took[i] += seconds() - begin;
        }
    }
    for (int i = 0; i < PHASES; i++)
        printf("%s %.6f\n", phases[i].name, took[i]);
    return sum == 1;
}
