/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The length at which bursts stop threads for CS_MODEL_STOPPED_WANTED_US on average. */
#include "sampler/burst/burst_length.h"
#include "sampler/burst/burst_model.h"

#include <assert.h>
#include <stdbool.h>

uint32_t cs_burst_length_next(const struct cs_burst_length *its, const struct cs_burst_length *all)
{
    bool known = its->n >= CS_MODEL_FIRST_BURSTS;
    const struct cs_burst_length *by = known ? its : all;
    double length = by->stopped_us > 0 ? CS_MODEL_STOPPED_WANTED_US * by->instructions / by->stopped_us
                                       : CS_MODEL_BURST_INSTRUCTIONS;
    double most = known ? CS_MODEL_BURST_INSTRUCTIONS : CS_MODEL_FIRST_INSTRUCTIONS;
    double least = CS_MODEL_BURST_INSTRUCTIONS_MIN;
    return (uint32_t)(length > most ? most : length < least ? least : length);
}

void cs_burst_length_learn(struct cs_burst_length *length, double stopped_us, double instructions)
{
    assert(stopped_us >= 0 && instructions >= 0);
    length->n++;
    length->stopped_us += stopped_us - length->stopped_us / CS_MODEL_LENGTH_MEMORY;
    length->instructions += instructions - length->instructions / CS_MODEL_LENGTH_MEMORY;
}
