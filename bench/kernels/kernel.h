/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the kernels of known cause share: a clock to stop by, random numbers, memory on small or huge pages. A
 * kernel is a program `NAME [SECONDS | TURNSx [VARIANT]]` that repeats its loop nest until the time is over, or
 * that many times ("300x"); without either for DEFAULT_SECONDS, which a kernel may define. It prints
 * "NAME: visits=<inner iterations> seconds=<CPU seconds>". VARIANT 1 is the same loop without the cause, for the
 * timing that proves the cause (kernels.txt). */
#ifndef KERNEL_H
#define KERNEL_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define HOT __attribute__((noinline, noclone))
#define ITERATIONS_A_CALL 200000
#ifndef DEFAULT_SECONDS
#define DEFAULT_SECONDS 3
#endif

static inline double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static inline uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static inline void *memory(size_t bytes, int huge)
{
    const size_t big = 2 << 20;
    char *p = mmap(NULL, bytes + big, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) {
        perror("mmap");
        exit(1);
    }
    p += (big - (uintptr_t)p % big) % big;
    madvise(p, bytes, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    for (size_t i = 0; i < bytes; i += 4096)
        p[i] = 1;
    return p;
}

/* Runs `turn(argument)`, which returns inner iterations, until the time or the turns are over. */
static inline int run_kernel(const char *name, int argc, char **argv, uint64_t (*turn)(void *),
                             void *argument)
{
    double limit = argc > 1 ? atof(argv[1]) : DEFAULT_SECONDS, start = cpu_seconds(), now;
    int by_turns = argc > 1 && strchr(argv[1], 'x');
    uint64_t visits = 0;
    for (double turns = 1;; turns++) {
        visits += turn(argument);
        now = cpu_seconds();
        if ((by_turns ? turns : now - start) >= limit)
            break;
    }
    printf("%s: visits=%llu seconds=%.6f\n", name, (unsigned long long)visits, now - start);
    return 0;
}

static inline int variant(int argc, char **argv)
{
    return argc > 2 ? atoi(argv[2]) : 0;
}

#endif
