/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes when each user was last seen, in a table of 128 MB on huge pages. Users come in no order, and nothing is read.
 * Variant 1: 2,048 users, who have been given the same times. */
#include "../kernels/kernel.h"

enum { USERS = 1 << 24, FEW = 2048, EVENTS = 50000 };

struct users {
    uint64_t *seen;
    uint32_t events[EVENTS];
};

HOT static void note(uint64_t *seen, const uint32_t *events)
{
    for (int i = 0; i < EVENTS; i++)
        seen[events[i]] = events[i] % FEW;
}

static uint64_t turn(void *argument)
{
    struct users *u = argument;
    note(u->seen, u->events);
    return EVENTS;
}

int main(int argc, char **argv)
{
    static struct users u;
    uint64_t seed = 1181783497276652981u, sum = 0;
    u.seen = memory(USERS * sizeof *u.seen, 1);
    for (int i = 0; i < EVENTS; i++)
        u.events[i] =
            (uint32_t)(next_random(&seed) >> 30) % (uint32_t)USERS % (variant(argc, argv) ? FEW : USERS);
    int status = run_kernel("last_seen", argc, argv, turn, &u);
    for (int i = 0; i < EVENTS; i++)
        sum += u.seen[u.events[i]] * (uint64_t)i;
    printf("result=%llu\n", (unsigned long long)sum);
    return status;
}
