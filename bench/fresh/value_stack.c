/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An interpreter pushes values as a tag and a number of four bytes each, and takes them from its stack as one of
 * eight. Variant: it pushes eight bytes at once. */
#include "../kernels/kernel.h"

struct machine {
    uint32_t stack[64];
    uint64_t top;
};

static HOT uint64_t push_pop(void *argument)
{
    struct machine *m = argument;
    uint64_t top = m->top;
    for (unsigned i = 0; i < ITERATIONS_A_CALL; i++) {
        uint32_t *slot = m->stack + (i & 15) * 2;
        slot[0] = (uint32_t)(top >> 5), slot[1] = (uint32_t)top + i;
        __asm__ volatile("" ::: "memory");
        top += *(const volatile uint64_t *)slot;
    }
    m->top = top;
    return ITERATIONS_A_CALL;
}

static HOT uint64_t push_pop_whole(void *argument)
{
    struct machine *m = argument;
    uint64_t top = m->top;
    for (unsigned i = 0; i < ITERATIONS_A_CALL; i++) {
        uint32_t *slot = m->stack + (i & 15) * 2;
        *(volatile uint64_t *)slot = (uint32_t)(top >> 5) | (uint64_t)((uint32_t)top + i) << 32;
        top += *(const volatile uint64_t *)slot;
    }
    m->top = top;
    return ITERATIONS_A_CALL;
}

int main(int argc, char **argv)
{
    static _Alignas(64) struct machine m;
    m.top = 1;
    return run_kernel("value_stack", argc, argv, variant(argc, argv) ? push_pop_whole : push_pop, &m);
}
