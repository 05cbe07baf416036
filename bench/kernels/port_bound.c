/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Six independent multiplications an iteration: no chain is long, but most cores have one integer multiplier.
 * Variant: the same with additions, which have four ports. */
#include "kernel.h"

#define BODY(op)                                                                                             \
    uint64_t *v = argument, a = v[0], b = v[1], c = v[2], d = v[3], e = v[4], f = v[5], k = v[6];            \
    for (unsigned i = 0; i < ITERATIONS_A_CALL; i++) {                                                       \
        a op k, b op k, c op k, d op k, e op k, f op k;                                                      \
        __asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f));                         \
    }                                                                                                        \
    v[0] = a, v[1] = b, v[2] = c, v[3] = d, v[4] = e, v[5] = f;                                              \
    return ITERATIONS_A_CALL;

static HOT uint64_t hash_six(void *argument)
{
    BODY(*=)
}
static HOT uint64_t add_six(void *argument)
{
    BODY(+=)
}

int main(int argc, char **argv)
{
    static uint64_t v[7] = {1, 3, 5, 7, 9, 11, 0x9e3779b97f4a7c15};
    return run_kernel("port_bound", argc, argv, variant(argc, argv) ? add_six : hash_six, v);
}
