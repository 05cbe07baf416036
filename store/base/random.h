/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pseudo-random numbers: splitmix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators",
 * OOPSLA 2014), one addition and two multiplications a number. Any seed is good, 0 too; the caller seeds and
 * owns the state, so that the same seed gives the same numbers on every machine. Not for secrets. */
#pragma once

#include <assert.h>
#include <stdint.h>

struct cs_random {
    uint64_t state; /* the seed, at the start */
};

static inline uint64_t cs_random_next(struct cs_random *random)
{
    uint64_t x = random->state += 0x9e3779b97f4a7c15;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
}

/* Uniform in 0 to limit - 1, limit > 0, by Lemire's multiplication: no value is likelier than another by more
 * than limit / 2^64. */
static inline uint64_t cs_random_below(struct cs_random *random, uint64_t limit)
{
    assert(limit > 0);
    return (uint64_t)((unsigned __int128)cs_random_next(random) * limit >> 64);
}

/* Uniform in the open interval (0, 1): its logarithm is finite. */
static inline double cs_random_unit(struct cs_random *random)
{
    return ((double)(cs_random_next(random) >> 12) + 0.5) * 0x1p-52;
}
