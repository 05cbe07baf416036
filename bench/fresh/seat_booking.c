/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Books seats of a theatre by an atomic exchange each, though there is one thread. Variant 1: by a load and a store. */
#include "../kernels/kernel.h"

enum { SEATS = 1024, BOOKINGS = 8192 };

struct theatre {
    uint32_t seats[SEATS];
    uint16_t wishes[BOOKINGS];
    int plain;
    uint64_t moved;
};

HOT static uint64_t book(struct theatre *t)
{
    uint64_t moved = 0;
    for (uint32_t i = 0; i < BOOKINGS; i++)
        moved += __atomic_exchange_n(&t->seats[t->wishes[i]], i, __ATOMIC_ACQ_REL);
    return moved;
}

HOT static uint64_t book_plain(struct theatre *t)
{
    uint64_t moved = 0;
    for (uint32_t i = 0; i < BOOKINGS; i++) {
        moved += t->seats[t->wishes[i]];
        t->seats[t->wishes[i]] = i;
    }
    return moved;
}

static uint64_t turn(void *argument)
{
    struct theatre *t = argument;
    for (int i = 0; i < 10; i++)
        t->moved += t->plain ? book_plain(t) : book(t);
    return 10 * BOOKINGS;
}

int main(int argc, char **argv)
{
    static struct theatre t;
    uint64_t seed = 3935559000370003845u;
    for (int i = 0; i < BOOKINGS; i++)
        t.wishes[i] = (uint16_t)((next_random(&seed) >> 40) % SEATS);
    t.plain = variant(argc, argv);
    int status = run_kernel("seat_booking", argc, argv, turn, &t);
    printf("result=%llu\n", (unsigned long long)t.moved);
    return status;
}
