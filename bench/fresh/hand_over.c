/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two threads work on parcels in turns: each sleeps until the other has handed its parcel over, and wakes the other when it
 * is done. Variant 1: they hand over 64 parcels at a time. */
#include "pair.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PARCELS = 64, ROUNDS = 1024 };

struct side {
    _Alignas(128) uint32_t turn; /* 1: this side may work */
    struct side *other;
    uint64_t *parcels;
    int at_once;
};

static void wake(struct side *s)
{
    __atomic_store_n(&s->turn, 1, __ATOMIC_RELEASE);
    syscall(SYS_futex, &s->turn, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static int sleep_until_turn(struct side *s)
{
    struct timespec longest = {0, 50000000};
    for (int tries = 0; tries < 2; tries++) {
        if (__atomic_load_n(&s->turn, __ATOMIC_ACQUIRE))
            return 1;
        syscall(SYS_futex, &s->turn, FUTEX_WAIT_PRIVATE, 0, &longest, NULL, 0);
    }
    return (int)__atomic_load_n(&s->turn, __ATOMIC_ACQUIRE);
}

HOT static uint64_t hand_over(struct side *s)
{
    uint64_t done = 0;
    for (int i = 0; i < ROUNDS; i += s->at_once) {
        if (!sleep_until_turn(s))
            break;
        for (int k = 0; k < s->at_once; k++, done++)
            for (int pass = 0; pass < 20; pass++)
                s->parcels[k] = s->parcels[k] * 6364136223846793005u + 1;
        s->turn = 0;
        wake(s->other);
    }
    return done;
}

static uint64_t turn(void *argument)
{
    return hand_over(argument);
}

int main(int argc, char **argv)
{
    static struct side a, b;
    static uint64_t parcels[PARCELS];
    int at_once = variant(argc, argv) ? PARCELS : 1;
    a = (struct side){1, &b, parcels, at_once};
    b = (struct side){0, &a, parcels, at_once};
    return run_pair("hand_over", argc, argv, turn, &a, &b);
}
