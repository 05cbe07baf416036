/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Follows the baton of a relay through 32,768 runners, 2 MB on huge pages: more than the second level, less than the third. Who
 * runs next stands in the runner's record. Variant 1: the records lie in the order of the race. */
#define DEFAULT_SECONDS 6
#include "../kernels/kernel.h"

enum { RUNNERS = 32768, HANDOVERS = 50000 };

struct runner {
    uint32_t next, seconds;
    char name[56];
};

struct race {
    struct runner *runners;
    uint32_t order[RUNNERS], at;
    uint64_t seconds;
};

HOT static uint32_t follow(const struct runner *runners, uint32_t at, uint64_t *seconds)
{
    uint64_t sum = 0;
    for (int i = 0; i < HANDOVERS; i++) {
        sum += runners[at].seconds;
        at = runners[at].next;
    }
    *seconds += sum;
    return at;
}

static uint64_t turn(void *argument)
{
    struct race *r = argument;
    r->at = follow(r->runners, r->at, &r->seconds);
    return HANDOVERS;
}

int main(int argc, char **argv)
{
    static struct race r;
    uint64_t seed = 5536918475261234567u;
    r.runners = memory(RUNNERS * sizeof *r.runners, 1);
    for (uint32_t i = 0; i < RUNNERS; i++)
        r.order[i] = i;
    for (uint32_t i = RUNNERS - 1; i > 0 && !variant(argc, argv); i--) {
        uint32_t other = (uint32_t)((next_random(&seed) >> 20) % (i + 1)), t = r.order[i];
        r.order[i] = r.order[other];
        r.order[other] = t;
    }
    for (uint32_t i = 0; i < RUNNERS; i++) {
        r.runners[r.order[i]].next = r.order[(i + 1) % RUNNERS];
        r.runners[r.order[i]].seconds = 10 + i * 2654435761u % 80;
    }
    r.at = r.order[0];
    int status = run_kernel("relay_race", argc, argv, turn, &r);
    printf("result=%llu\n", (unsigned long long)r.seconds);
    return status;
}
