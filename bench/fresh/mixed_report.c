/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A report: chooses rows by an unpredictable flag, probes a table of 64 MB and divides. No cause has more than
 * half of the time. Variants 1 to 3 remove the mispredictions, the misses and the divisions. */
#include "../kernels/kernel.h"

enum { ROWS = 4096, PROBES = 1400, DIVISIONS = 4096, TABLE = 4 << 20 };

struct report {
    uint32_t flag[ROWS], chosen[ROWS];
    uint64_t *table, mask, at, cost[ROWS], weight[ROWS], share[ROWS], sum;
    int shifts;
};

static HOT uint64_t make_report(void *argument)
{
    struct report *r = argument;
    uint64_t sum = 0, at = r->at, chosen = 0, mask = r->mask;
    for (unsigned i = 0; i < ROWS; i++)
        if (r->flag[i] & 1) {
            r->chosen[chosen++] = i;
            __asm__ volatile("" : "+r"(chosen));
        }
    for (unsigned i = 0; i < PROBES; i++, at += 0x9e3779b97f4a7c15)
        sum += r->table[at >> 33 & mask];
    if (r->shifts)
        for (unsigned i = 0; i < DIVISIONS; i++)
            r->share[i] = r->cost[i] >> (r->weight[i] & 63);
    else
        for (unsigned i = 0; i < DIVISIONS; i++)
            r->share[i] = r->cost[i] / r->weight[i];
    r->sum += sum + chosen, r->at = at;
    for (unsigned i = 0; i < ROWS; i++)
        r->flag[i] = r->flag[i] >> 1 | r->flag[i] << 31;
    return ROWS;
}

int main(int argc, char **argv)
{
    static struct report r;
    uint64_t seed = 88172645463325252;
    int without = variant(argc, argv);
    for (unsigned i = 0; i < ROWS; i++) {
        r.flag[i] = without == 1 ? (i & 1) * UINT32_MAX : (uint32_t)(next_random(&seed) >> 20);
        r.cost[i] = next_random(&seed), r.weight[i] = (next_random(&seed) & 0xfffff) + 3;
    }
    r.table = memory((size_t)TABLE * 2 * 8, 1);
    r.mask = without == 2 ? 2047 : TABLE * 2 - 1;
    r.shifts = without == 3;
    return run_kernel("mixed_report", argc, argv, make_report, &r);
}
