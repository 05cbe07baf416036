/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two threads count the votes for sixteen candidates in one table, atomically, a line for each candidate. Variant 1: each
 * thread has a table, still atomic. */
#include "pair.h"

enum { CANDIDATES = 16, VOTES = 4096 };

struct count {
    _Alignas(64) uint64_t votes;
};

struct office {
    _Alignas(128) uint8_t votes[VOTES];
    struct count *table;
};

HOT static void count_votes(const uint8_t *votes, struct count *table)
{
    for (int i = 0; i < VOTES; i++)
        __atomic_fetch_add(&table[votes[i]].votes, 1, __ATOMIC_RELAXED);
}

static uint64_t turn(void *argument)
{
    struct office *o = argument;
    count_votes(o->votes, o->table);
    return VOTES;
}

int main(int argc, char **argv)
{
    static struct count tables[2][CANDIDATES];
    static struct office offices[2];
    uint64_t seed = 1865811235122147685u;
    for (int o = 0; o < 2; o++) {
        for (int i = 0; i < VOTES; i++)
            offices[o].votes[i] = (uint8_t)((next_random(&seed) >> 40) % CANDIDATES);
        offices[o].table = tables[variant(argc, argv) ? o : 0];
    }
    return run_pair("vote_table", argc, argv, turn, &offices[0], &offices[1]);
}
