/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Multiplies beliefs by likelihoods so small that the products are denormal numbers. Variant: likelihoods that
 * are scaled up. */
#include "../kernels/kernel.h"

enum { STATES = 1024 };

struct beliefs {
    double prior[STATES], likelihood[STATES], posterior[STATES];
};

static HOT uint64_t update_beliefs(void *argument)
{
    struct beliefs *b = argument;
    for (unsigned turn = 0; turn < 32; turn++)
        for (unsigned i = 0; i < STATES; i++)
            b->posterior[i] = b->prior[i] * b->likelihood[i];
    return 32 * STATES;
}

int main(int argc, char **argv)
{
    static struct beliefs b;
    for (unsigned i = 0; i < STATES; i++) {
        b.prior[i] = 1e-160 * (1 + i % 7);
        b.likelihood[i] = variant(argc, argv) ? 0.25 : 1e-155 / (1 + i % 11);
    }
    return run_kernel("belief_update", argc, argv, update_beliefs, &b);
}
