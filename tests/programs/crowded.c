/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Problems that look like another one, for explain_culprits.sh:
 *     crowded sets SECONDS     a ring through 53 objects at the beginnings of pages: all are in one set of the
 *                              cache, which holds fewer; the first TLB has room for their pages
 *     crowded once SECONDS     pages are mapped, written at their beginning, and unmapped: one set, but no line comes back
 *     crowded spin SECONDS     four threads take turns at a lock that they try over and over
 *     crowded copies SECONDS   a struct is passed by value */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

struct object {
    struct object *next;
    uint64_t due;
};
enum { OBJECTS = 53, PAGE = 4096, THREADS = 4, CELLS = 4096 };
static double until;
static atomic_int taken;
static unsigned cells[CELLS];
static volatile uint64_t result;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

__attribute__((noinline)) static uint64_t round_the_ring(const struct object *first)
{
    uint64_t sum = 0;
    const struct object *o = first;
    for (unsigned i = 0; i < 100 * OBJECTS; i++) {
        sum += o->due;
        o = o->next; /* sets */
    }
    return sum;
}

static void sets(void)
{
    char *area = aligned_alloc(PAGE, OBJECTS * PAGE);
    struct object *of[OBJECTS];
    for (unsigned i = 0; i < OBJECTS; i++) {
        of[i] = (struct object *)(area + i * 29 % OBJECTS * PAGE);
        of[i]->due = i;
    }
    for (unsigned i = 0; i < OBJECTS; i++)
        of[i]->next = of[(i + 1) % OBJECTS];
    while (now() < until)
        for (unsigned i = 0; i < 100; i++)
            result += round_the_ring(of[0]);
    free(area);
}

__attribute__((noinline)) static void touch(volatile char *area)
{
    for (unsigned i = 0; i < OBJECTS; i++)
        area[i * PAGE] = 1;
}

static void once(void)
{
    while (now() < until) {
        char *area = mmap(NULL, OBJECTS * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (area == MAP_FAILED)
            return;
        touch(area);
        munmap(area, OBJECTS * PAGE);
    }
}

struct large {
    char bytes[2048];
};

__attribute__((noinline)) static int one_of(struct large l, unsigned i)
{
    return l.bytes[i % sizeof l.bytes];
}

__attribute__((noinline)) static int copies(const struct large *l)
{
    int sum = 0;
    for (unsigned i = 0; i < 1000; i++)
        sum += one_of(*l, i); /* by value */
    return sum;
}

static void *take_turns(void *arg)
{
    while (now() < until)
        for (unsigned turn = 0; turn < 100; turn++) {
            while (atomic_exchange(&taken, 1)) /* spin */
                ;
            for (unsigned i = 0; i < CELLS; i++)
                cells[i] = cells[i] * 5 + 1;
            atomic_store(&taken, 0);
        }
    return arg;
}

int main(int argc, char **argv)
{
    pthread_t thread[THREADS];
    until = now() + (argc > 2 ? atof(argv[2]) : 1);
    if (argc > 1 && strcmp(argv[1], "sets") == 0) {
        sets();
        return 0;
    }
    if (argc > 1 && strcmp(argv[1], "once") == 0) {
        once();
        return 0;
    }
    if (argc > 1 && strcmp(argv[1], "copies") == 0) {
        struct large l;
        memset(&l, argc, sizeof l);
        while (now() < until)
            result += (uint64_t)copies(&l);
        return 0;
    }
    for (unsigned i = 0; i < THREADS; i++)
        if (pthread_create(&thread[i], NULL, take_turns, NULL))
            return 1;
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    return 0;
}
