/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A reader of shared settings announces which one it is about to read (a hazard pointer) and that it has read it, both in
 * total order. Nobody writes. Variant 1: it announces without the order. */
#include "../kernels/kernel.h"

enum { SETTINGS = 64, READS = 100000 };

struct setting {
    uint64_t value, version;
};

struct reader {
    struct setting settings[SETTINGS], *current[SETTINGS], *hazard;
    int order;
    uint64_t sum;
};

HOT static uint64_t read_settings(struct reader *r, int loose)
{
    uint64_t sum = 0;
    for (int i = 0; i < READS; i++) {
        struct setting **place = &r->current[i % SETTINGS], *s;
        do {
            s = __atomic_load_n(place, __ATOMIC_ACQUIRE);
            if (loose)
                __atomic_store_n(&r->hazard, s, __ATOMIC_RELEASE);
            else
                __atomic_store_n(&r->hazard, s, __ATOMIC_SEQ_CST);
        } while (s != __atomic_load_n(place, __ATOMIC_ACQUIRE));
        sum += s->value;
        if (loose)
            __atomic_store_n(&r->hazard, NULL, __ATOMIC_RELEASE);
        else
            __atomic_store_n(&r->hazard, NULL, __ATOMIC_SEQ_CST);
    }
    return sum;
}

static uint64_t turn(void *argument)
{
    struct reader *r = argument;
    r->sum += read_settings(r, r->order);
    return READS;
}

int main(int argc, char **argv)
{
    static struct reader r;
    r.order = variant(argc, argv);
    for (int i = 0; i < SETTINGS; i++) {
        r.settings[i].value = (uint64_t)i;
        r.current[i] = &r.settings[i * 29 % SETTINGS];
    }
    int status = run_kernel("hazard_read", argc, argv, turn, &r);
    printf("result=%llu\n", (unsigned long long)r.sum);
    return status;
}
