/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Ten independent floating-point sums, more than the adders can start each cycle. Variant: the same number of
 * integer sums. */
#include "kernel.h"

enum { TURNS = 20000 };

#define SUMS(type, c)                                                                                        \
    {                                                                                                        \
        type *v = argument, step = v[10];                                                                    \
        type a0 = v[0], a1 = v[1], a2 = v[2], a3 = v[3], a4 = v[4];                                          \
        type a5 = v[5], a6 = v[6], a7 = v[7], a8 = v[8], a9 = v[9];                                          \
        for (unsigned i = 0; i < TURNS; i++) {                                                               \
            a0 += step, a1 += step, a2 += step, a3 += step, a4 += step;                                      \
            a5 += step, a6 += step, a7 += step, a8 += step, a9 += step;                                      \
            __asm__ volatile("" : "+" c(a0), "+" c(a1), "+" c(a2), "+" c(a3), "+" c(a4));                    \
            __asm__ volatile("" : "+" c(a5), "+" c(a6), "+" c(a7), "+" c(a8), "+" c(a9));                    \
        }                                                                                                    \
        v[0] = a0, v[1] = a1, v[2] = a2, v[3] = a3, v[4] = a4;                                               \
        v[5] = a5, v[6] = a6, v[7] = a7, v[8] = a8, v[9] = a9;                                               \
        return TURNS;                                                                                        \
    }

static HOT uint64_t sum_reals(void *argument) SUMS(double, "x") static HOT uint64_t
    sum_integers(void *argument) SUMS(uint64_t, "r")

        int main(int argc, char **argv)
{
    static double reals[11] = {[10] = 0.25};
    static uint64_t integers[11] = {[10] = 3};
    return variant(argc, argv) ? run_kernel("ten_sums", argc, argv, sum_integers, integers)
                               : run_kernel("ten_sums", argc, argv, sum_reals, reals);
}
