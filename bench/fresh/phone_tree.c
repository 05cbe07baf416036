/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An alarm goes through a chain of 384 members, each of whom calls the next one. The record of each is a line on a page of its
 * own, so that the first cache holds them all, but not the first table of pages. Variant 1: the lines follow one another. */
#define DEFAULT_SECONDS 6
#include "../kernels/kernel.h"

enum { MEMBERS = 384, PITCH = 5 * 4096, LINE = 64, CALLS = 50000 };

struct member {
    const struct member *next;
    uint64_t minutes;
};

struct club {
    const struct member *at;
    uint64_t minutes;
};

HOT static const struct member *alarm_all(const struct member *m, uint64_t *minutes)
{
    uint64_t sum = 0;
    for (int i = 0; i < CALLS; i++) {
        sum += m->minutes;
        m = m->next;
    }
    *minutes += sum;
    return m;
}

static uint64_t turn(void *argument)
{
    struct club *c = argument;
    c->at = alarm_all(c->at, &c->minutes);
    return CALLS;
}

int main(int argc, char **argv)
{
    static struct club c;
    static struct member *members[MEMBERS];
    uint64_t seed = 6148914691236517205u;
    char *pages = memory((size_t)MEMBERS * PITCH, 0);
    for (size_t i = 0; i < MEMBERS; i++)
        members[i] =
            (struct member *)(void *)(pages + (variant(argc, argv) ? i : i * PITCH / LINE + i % 64) * LINE);
    for (size_t i = MEMBERS - 1; i > 0; i--) {
        size_t other = (next_random(&seed) >> 20) % (i + 1);
        struct member *t = members[i];
        members[i] = members[other];
        members[other] = t;
    }
    for (size_t i = 0; i < MEMBERS; i++) {
        members[i]->next = members[(i + 1) % MEMBERS];
        members[i]->minutes = 1 + i % 9;
    }
    c.at = members[0];
    int status = run_kernel("phone_tree", argc, argv, turn, &c);
    printf("result=%llu\n", (unsigned long long)c.minutes);
    return status;
}
