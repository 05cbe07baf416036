/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sampler/burst/replayer/trace/list_steps.h"

uint32_t list_steps(const struct run *run, uint32_t wanted)
{
    uint32_t position = 0, n = 0;
    for (const uint8_t *p = run->start, *next; p < run->end && position < wanted && n < STEPS_MAX; p = next) {
        const struct block *block = record_block(p);
        struct steps *steps = &boundary->steps[n];
        next = record_next(p);
        if (!record_whole(run, next))
            break;
        n++;
        position += block->n_insns;
        steps->pc = block->pc;
        steps->straight = block->n_insns > 3;
        steps->branch = block->end < END_FALL;
        steps->n = 0;
        for (unsigned i = steps->straight ? block->n_insns - 1U : 0; i < block->n_insns; i++)
            steps->at[steps->n++] = block->pc + insn_notes[block->first_note + i].offset;
    }
    return n;
}
