/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A program whose time is in one place for each mode: an inlined loop, the C library, or the kernel. The comment at the
 * end of a line says which mode has its time there. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define ITEMS 512
#define ROOM (1u << 20)

static volatile uint64_t sink;
static char *texts[ITEMS];
static uint64_t numbers[ITEMS];

static inline unsigned position(uint64_t wanted)
{
    unsigned i = 0;
    while (i + 1 < ITEMS && numbers[i] < wanted) /* inlined */
        i++;
    return i;
}

static __attribute__((noinline)) void inlined(unsigned round)
{
    for (unsigned i = 0; i < 1000; i++)
        sink += position((round * 7919 + i * 104729) % (ITEMS * 64));
}

static __attribute__((noinline)) void strings(unsigned round)
{
    for (unsigned i = 0; i < ITEMS; i++)
        sink += strlen(texts[(i + round) % ITEMS]); /* strings */
}

static __attribute__((noinline)) void allocations(unsigned round)
{
    for (unsigned i = 0; i < ITEMS; i++) {
        char *room = malloc(24 + (i + round) % 8 * 1024);
        sink += (uintptr_t)room;
        free(room);
    }
}

static __attribute__((noinline)) void faults(unsigned round)
{
    char *room = mmap(NULL, ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED)
        exit(1);
    for (unsigned i = 0; i < ROOM; i += 4096)
        room[i] = (char)round; /* faults */
    munmap(room, ROOM);
}

static __attribute__((noinline)) void reads(unsigned round)
{
    static int zero = -1;
    char byte;
    if (zero < 0)
        zero = open("/dev/zero", O_RDONLY);
    for (unsigned i = 0; i < 1000; i++)
        sink += (uint64_t)read(zero, &byte, 1) + round; /* reads */
}

static double cpu_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(unsigned round);
    } modes[] = {{"inlined", inlined},
                 {"strings", strings},
                 {"allocations", allocations},
                 {"faults", faults},
                 {"reads", reads}};
    const double seconds = argc > 2 ? strtod(argv[2], NULL) : 1;
    for (unsigned i = 0; i < ITEMS; i++) {
        numbers[i] = 64ull * i;
        if (!(texts[i] = malloc(1000)))
            return 1;
        memset(texts[i], 'a', 999);
        texts[i][999 - i % 64] = 0;
    }
    for (size_t m = 0; argc > 1 && m < sizeof modes / sizeof *modes; m++)
        for (unsigned round = 0; strcmp(modes[m].name, argv[1]) == 0 && (round % 64 || cpu_s() < seconds);
             round++)
            modes[m].run(round);
    return 0;
}
