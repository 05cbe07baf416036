/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A function that calls the kernel or touches new memory, and computes next to it: `kernel_share MODE SECONDS COMPUTED`.
 * COMPUTED: turns of arithmetic for each call. With mode `two` the arithmetic is in a function of its own. Prints how much
 * of its CPU time the kernel's account says was in the kernel. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define ROOM (1u << 20)
#define NOINLINE __attribute__((noinline))

static volatile uint64_t sink;
static char *room;
static int file;

static inline __attribute__((always_inline)) void compute(unsigned turns)
{
    uint64_t x = sink;
    for (unsigned i = 0; i < turns; i++)
        x = x * 6364136223846793005u + 1442695040888963407u;
    sink = x;
}

static NOINLINE void computing(unsigned turns)
{
    compute(turns);
}

static NOINLINE void touching(unsigned turns)
{
    for (unsigned i = 0; i < ROOM; i += 4096) {
        room[i] = 1; /* touch */
        compute(turns);
    }
}

static NOINLINE void writing(unsigned turns)
{
    static char record[4096];
    for (unsigned i = 0; i < 256; i++) {
        if (pwrite(file, record, sizeof record, i * (off_t)sizeof record) < 0) /* write */
            exit(1);
        compute(turns);
    }
}

static double seconds_of(struct timeval t)
{
    return (double)t.tv_sec + 1e-6 * (double)t.tv_usec;
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "touch";
    const double seconds = argc > 2 ? atof(argv[2]) : 1;
    const unsigned turns = argc > 3 ? (unsigned)atoi(argv[3]) : 0;
    struct rusage used;
    file = memfd_create("records", 0);
    room = mmap(NULL, ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (file < 0 || room == MAP_FAILED || madvise(room, ROOM, MADV_NOHUGEPAGE))
        return 1;
    do {
        if (strcmp(mode, "write") == 0)
            writing(turns);
        else if (madvise(room, ROOM, MADV_DONTNEED) == 0)
            touching(strcmp(mode, "two") == 0 ? 0 : turns);
        if (strcmp(mode, "two") == 0)
            computing(256 * turns);
        getrusage(RUSAGE_SELF, &used);
    } while (seconds_of(used.ru_utime) + seconds_of(used.ru_stime) < seconds);
    printf("user=%.3f system=%.3f\n", seconds_of(used.ru_utime), seconds_of(used.ru_stime));
    return 0;
}
