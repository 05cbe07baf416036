/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Converts 16 million amounts into another currency, whose unit is known when the program runs, and adds them up. They are
 * read in order out of 64 MB, which costs nothing beside the divisions. Variant 1: a multiplication by the reciprocal. */
#include "../kernels/kernel.h"

enum { AMOUNTS = 1 << 24, PART = 1 << 18 };

struct bank {
    const uint32_t *amounts;
    uint32_t unit;
    uint64_t reciprocal;
    size_t next;
    uint64_t sum;
};

HOT static uint64_t convert(const uint32_t *amounts, uint32_t unit)
{
    uint64_t sum = 0;
    for (int i = 0; i < PART; i++)
        sum += amounts[i] / unit;
    return sum;
}

/* Exact, since an amount is below 2^26 and the unit below 2^10. */
HOT static uint64_t convert_by_reciprocal(const uint32_t *amounts, uint64_t reciprocal)
{
    uint64_t sum = 0;
    for (int i = 0; i < PART; i++)
        sum += amounts[i] * reciprocal >> 37;
    return sum;
}

static uint64_t turn(void *argument)
{
    struct bank *b = argument;
    const uint32_t *part = b->amounts + b->next;
    b->sum += b->reciprocal ? convert_by_reciprocal(part, b->reciprocal) : convert(part, b->unit);
    b->next = (b->next + PART) % AMOUNTS;
    return PART;
}

int main(int argc, char **argv)
{
    static struct bank b;
    uint64_t seed = 5495119349029388257u;
    uint32_t *amounts = memory(AMOUNTS * sizeof *amounts, 1);
    for (int i = 0; i < AMOUNTS; i++)
        amounts[i] = (uint32_t)(next_random(&seed) >> 38);
    b.amounts = amounts;
    b.unit = argc > 3 ? (uint32_t)atoi(argv[3]) : 733;
    b.reciprocal = variant(argc, argv) ? (1ull << 37) / b.unit + 1 : 0;
    int status = run_kernel("wealth_scan", argc, argv, turn, &b);
    printf("result=%llu\n", (unsigned long long)b.sum);
    return status;
}
