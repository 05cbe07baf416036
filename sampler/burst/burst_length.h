/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How long the next burst of a process should be, by how long the last ones stopped its threads. Pure. */
#pragma once

#include <stdint.h>

struct cs_burst_length {             /* {0} before the first burst */
    double stopped_us, instructions; /* sums over the last bursts, older ones fading */
    unsigned n;
};

/* In instructions; `all`: of all processes, which one that is new is taken for. */
uint32_t cs_burst_length_next(const struct cs_burst_length *its, const struct cs_burst_length *all);
/* A plain burst of so many instructions that stopped its thread for so long. */
void cs_burst_length_learn(struct cs_burst_length *length, double stopped_us, double instructions);
