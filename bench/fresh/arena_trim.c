/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An allocator gives the pages of its arena back to the kernel after each request. Variant: it keeps them. */
#include "../kernels/kernel.h"

enum { ARENA = 2 << 20 };

struct arena {
    char *bytes;
    int keeps;
    uint64_t requests;
};

static HOT uint64_t serve(void *argument)
{
    struct arena *a = argument;
    for (char *object = a->bytes; object < a->bytes + ARENA; object += 128) {
        ((uint64_t *)object)[0] = a->requests;
        ((uint64_t *)object)[1] = 128;
    }
    a->requests++;
    if (!a->keeps)
        madvise(a->bytes, ARENA, MADV_DONTNEED);
    return ARENA / 128;
}

int main(int argc, char **argv)
{
    struct arena a = {memory(ARENA, 0), variant(argc, argv), 0};
    return run_kernel("arena_trim", argc, argv, serve, &a);
}
