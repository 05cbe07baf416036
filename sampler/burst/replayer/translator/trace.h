/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The trace of a burst and how to read it. Records are a block number (32 bits) and the block's slots (64
 * bits each), without gaps. Pure. */
#pragma once

#include "sampler/burst/replayer/translator/blocks.h"

#define TRACE_BYTES (32ULL << 20)
struct run {
    enum cs_burst_cause cause;
    const uint8_t *start, *end; /* of the trace */
    uint64_t next;              /* address where it stopped */
    bool last_partial;          /* the last block was left in its middle */
    bool denormal;              /* SSE or AVX arithmetic met denormal numbers */
};
typedef uint32_t loose32 __attribute__((aligned(1), may_alias));
typedef uint64_t loose64 __attribute__((aligned(1), may_alias));
static inline struct block *record_block(const uint8_t *record)
{
    return &blocks[*(const loose32 *)record];
}
static inline const loose64 *record_slots(const uint8_t *record)
{
    return (const loose64 *)(record + 4);
}
static inline const uint8_t *record_next(const uint8_t *record)
{
    return record + 4 + 8 * record_block(record)->n_slots;
}
/* Is the record, behind which `next` begins, there as a whole? */
static inline bool record_whole(const struct run *run, const uint8_t *next)
{
    return next < run->end || (next == run->end && !run->last_partial);
}
static inline uint64_t operand_address(const struct memory_op *op, const loose64 *slots,
                                       const struct registers *registers)
{
    uint64_t addr = (uint64_t)op->disp + (op->base != NO_SLOT ? slots[op->base] : 0) +
                    (op->index != NO_SLOT ? slots[op->index] * op->scale : 0);
    if (op->flags & OP_ADDRESS32)
        addr = (uint32_t)addr;
    if (op->flags & OP_FS)
        addr += registers->fs_base;
    if (op->flags & OP_GS)
        addr += registers->gs_base;
    return addr;
}
