/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An exchange reports executions; each is looked up in a hash table of open orders, 128 MB on huge pages.
 * Variant 1: the reports come sorted by slot. */
#include "../kernels/kernel.h"

enum { LOG = 23, SLOTS = 1 << LOG, REPORTS = 1500000, BATCH = 100000 };

struct order {
    uint64_t id, quantity;
};

struct book {
    struct order *table;
    uint64_t *reports, filled, unknown;
    int next;
};

static inline uint64_t slot_of(uint64_t id)
{
    return id * 0x9E3779B97F4A7C15u >> (64 - LOG);
}

HOT static void match(struct book *b, const uint64_t *reports)
{
    uint64_t filled = 0, unknown = 0;
    for (int i = 0; i < BATCH; i++) {
        const struct order *o = &b->table[slot_of(reports[i])];
        if (o->id == reports[i])
            filled += o->quantity;
        else
            unknown++;
    }
    b->filled += filled, b->unknown += unknown;
}

static uint64_t turn(void *argument)
{
    struct book *b = argument;
    match(b, b->reports + b->next);
    b->next = (b->next + BATCH) % REPORTS;
    return BATCH;
}

int main(int argc, char **argv)
{
    static struct book b;
    uint64_t seed = 2862933555777941757u;
    b.table = memory(SLOTS * sizeof *b.table, 1);
    b.reports = memory(REPORTS * sizeof *b.reports, 1);
    for (int i = 0; i < SLOTS; i += 256)
        b.table[i].id = 0;
    for (int i = 0; i < REPORTS;) {
        uint64_t id = next_random(&seed);
        struct order *o = &b.table[slot_of(id)];
        if (o->id)
            continue;
        *o = (struct order){id, 1 + id % 500};
        b.reports[i++] = id;
    }
    if (variant(argc, argv))
        for (int i = 0, next = 0; i < SLOTS && next < REPORTS; i++)
            if (b.table[i].id)
                b.reports[next++] = b.table[i].id;
    int status = run_kernel("order_lookup", argc, argv, turn, &b);
    printf("result=%llu\n", (unsigned long long)(b.filled + b.unknown));
    return status;
}
