/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An arena of 1 MB is mapped, written once and unmapped for each request. Variant: one arena for all. */
#include "../kernels/kernel.h"

enum { ARENA = 1 << 20, RECORD = 256 };

struct requests {
    char *kept;
};

static HOT uint64_t fill_arena(char *arena)
{
    for (unsigned at = 0; at < ARENA; at += RECORD)
        *(volatile uint64_t *)(arena + at) = at;
    return ARENA / RECORD;
}

static uint64_t serve(void *argument)
{
    struct requests *r = argument;
    if (r->kept)
        return fill_arena(r->kept);
    char *arena = mmap(NULL, ARENA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(arena, ARENA, MADV_NOHUGEPAGE);
    uint64_t records = fill_arena(arena);
    munmap(arena, ARENA);
    return records;
}

int main(int argc, char **argv)
{
    struct requests r = {variant(argc, argv) ? memory(ARENA, 0) : NULL};
    return run_kernel("first_touch", argc, argv, serve, &r);
}
