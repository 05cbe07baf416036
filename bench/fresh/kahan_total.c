/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The total of a ledger with Kahan's compensation: four dependent operations an entry.
 * Variant 1: four such totals in turns, which wait less for one another. */
#include "../kernels/kernel.h"

enum { ENTRIES = 2048 };

struct ledger {
    double *entries, total;
    int four;
};

HOT static double total(const double *entry, size_t n)
{
    double sum = 0, lost = 0;
    for (size_t i = 0; i < n; i++) {
        double y = entry[i] - lost, t = sum + y;
        lost = (t - sum) - y;
        sum = t;
    }
    return sum;
}

HOT static double total_in_four(const double *entry, size_t n)
{
    double sum[4] = {0}, lost[4] = {0};
    for (size_t i = 0; i < n; i += 4)
#pragma GCC unroll 4
        for (size_t k = 0; k < 4; k++) {
            double y = entry[i + k] - lost[k], t = sum[k] + y;
            lost[k] = (t - sum[k]) - y;
            sum[k] = t;
        }
    return sum[0] + sum[1] + sum[2] + sum[3];
}

static uint64_t turn(void *argument)
{
    struct ledger *l = argument;
    for (int i = 0; i < 32; i++)
        l->total += (l->four ? total_in_four : total)(l->entries, ENTRIES);
    return ENTRIES * 32;
}

int main(int argc, char **argv)
{
    uint64_t seed = 0xFEDCBA9876543210u;
    struct ledger l = {memory(ENTRIES * sizeof(double), 0), 0, variant(argc, argv)};
    for (size_t i = 0; i < ENTRIES; i++)
        l.entries[i] = (double)(next_random(&seed) >> 40) / 100;
    return run_kernel("kahan_total", argc, argv, turn, &l);
}
