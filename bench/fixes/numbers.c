/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes numbers as digits of a base that is known at run time only: a division a digit, each needs the one
 * before. Fixed: the base is ten, which the compiler turns into a multiplication. */
#include "../kernels/kernel.h"

struct report {
    uint64_t base, values[256];
    char line[32];
    uint64_t bytes;
};

static HOT uint64_t write_numbers(void *argument)
{
    struct report *r = argument;
    uint64_t digits = 0;
    for (unsigned i = 0; i < 256; i++) {
        uint64_t value = r->values[i];
        unsigned at = 24;
        do {
            r->line[--at] = (char)('0' + value % r->base);
            value /= r->base;
            digits++;
        } while (value);
        r->bytes += (uint64_t)r->line[at];
    }
    return digits;
}

static HOT uint64_t write_decimals(void *argument)
{
    struct report *r = argument;
    uint64_t digits = 0;
    for (unsigned i = 0; i < 256; i++) {
        uint64_t value = r->values[i];
        unsigned at = 24;
        do {
            r->line[--at] = (char)('0' + value % 10);
            value /= 10;
            digits++;
        } while (value);
        r->bytes += (uint64_t)r->line[at];
    }
    return digits;
}

int main(int argc, char **argv)
{
    static struct report r = {.base = 10};
    uint64_t seed = 88172645463325252;
    for (unsigned i = 0; i < 256; i++)
        r.values[i] = next_random(&seed) | UINT64_C(1) << 63;
    return run_kernel("numbers", argc, argv, variant(argc, argv) ? write_decimals : write_numbers, &r);
}
