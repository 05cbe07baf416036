/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/base/hash_seed.h"

#include <sys/random.h>
#include <time.h>

uint64_t cs_hash_seed = 0x9E3779B97F4A7C15ULL;

__attribute__((constructor)) static void draw(void)
{
    uint64_t drawn = 0;
    if (getrandom(&drawn, sizeof drawn, GRND_NONBLOCK) != sizeof drawn) {
        struct timespec now; /* in the first second of a machine */
        clock_gettime(CLOCK_MONOTONIC, &now);
        drawn = (uint64_t)now.tv_nsec * 0x9E3779B97F4A7C15ULL;
    }
    cs_hash_seed ^= drawn;
    cs_hash_seed |= 1;
}
