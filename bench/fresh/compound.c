/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Compounds the balance of an account over many months in long double. Variant: four accounts at a time. */
#include "../kernels/kernel.h"

#define MONTHS 12000u

struct bank {
    long double balance[4], rate;
    int together;
};

static HOT uint64_t add_interest(void *argument)
{
    struct bank *b = argument;
    long double rate = b->rate;
    if (b->together) {
        long double w = b->balance[0], x = b->balance[1], y = b->balance[2], z = b->balance[3];
        for (unsigned m = 0; m < MONTHS; m++)
            w = w * rate + 50, x = x * rate + 50, y = y * rate + 50, z = z * rate + 50;
        b->balance[0] = w, b->balance[1] = x, b->balance[2] = y, b->balance[3] = z;
    } else
        for (unsigned account = 0; account < 4; account++) {
            long double balance = b->balance[account];
            for (unsigned m = 0; m < MONTHS; m++)
                balance = balance * rate + 50;
            b->balance[account] = balance;
        }
    return 4 * MONTHS;
}

int main(int argc, char **argv)
{
    struct bank b = {{100, 200, 300, 400}, 0.9995L, variant(argc, argv)};
    return run_kernel("compound", argc, argv, add_interest, &b);
}
