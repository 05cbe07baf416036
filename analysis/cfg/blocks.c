/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From bytes to blocks: instructions by a linear sweep over the procedure's parts (compilers put no tables
 * between instructions), then leaders, then blocks. */
#include "analysis/cfg/cfg_internal.h"
#include "analysis/cfg/noreturn.h"
#include "image/isa/decode.h"
#include "store/base/array.h"
#include "store/base/order.h"

#include <assert.h>

static int add_insn(struct cfg_building *b, const struct cs_isa_insn *insn)
{
    struct cs_cfg *cfg = b->cfg;
    if (cs_array_room(cfg->insns, cfg->n_insns, b->insns_capacity) < 0)
        return -ENOMEM;
    cfg->insns[cfg->n_insns++] = (struct cs_cfg_instruction){.offset = insn->offset,
                                                             .target = insn->target,
                                                             .length = insn->length,
                                                             .flow = insn->flow,
                                                             .indirect = insn->indirect,
                                                             .padding = insn->padding};
    return 0;
}

CS_ORDER(by_offset, struct cs_cfg_instruction, cs_order(a->offset, b->offset))

/* The register may have been set by the instruction before it. */
static void look_before(const struct cfg_building *b, struct cs_isa_insn *insn)
{
    const struct cs_cfg *cfg = b->cfg;
    const struct cs_cfg_instruction *last = cfg->n_insns ? &cfg->insns[cfg->n_insns - 1] : NULL;
    size_t n;
    if (!last || last->offset + last->length != insn->offset)
        return;
    const uint8_t *bytes = cs_image_bytes_at(b->code, last->offset, &n, NULL);
    insn->target = bytes ? cs_isa_far_target(cs_image_isa(b->code), bytes, n, last->offset) : 0;
    insn->indirect = insn->target == 0;
}

int cfg_sweep(struct cfg_building *b)
{
    enum cs_isa isa = cs_image_isa(b->code);
    const struct cs_image_procedure *p = b->cfg->procedure;
    for (unsigned i = 0; i < p->n_parts; i++) {
        uint64_t at = p->parts[i].start, end = at + p->parts[i].size;
        while (at < end) {
            struct cs_isa_insn insn;
            size_t n;
            const uint8_t *bytes = cs_image_bytes_at(b->code, at, &n, NULL);
            if (!bytes)
                break;
            if (n > end - at)
                n = end - at;
            if (!cs_isa_decode_flow(isa, bytes, n, at, &insn)) {
                b->cfg->n_bad += cs_isa_step(isa);
                at += cs_isa_step(isa);
                continue;
            }
            if (insn.indirect)
                look_before(b, &insn);
            if (add_insn(b, &insn) < 0)
                return -ENOMEM;
            at += insn.length;
        }
    }
    /* parts ascend rarely, and damaged files overlap them */
    cs_sort(b->cfg->insns, b->cfg->n_insns, by_offset);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < b->cfg->n_insns; i++) {
        const struct cs_cfg_instruction *last = kept ? &b->cfg->insns[kept - 1] : NULL;
        if (!last || b->cfg->insns[i].offset >= last->offset + last->length)
            b->cfg->insns[kept++] = b->cfg->insns[i];
    }
    b->cfg->n_insns = kept;
    return 0;
}

/* A jump over the lock prefix lands inside an instruction: it is that instruction's. */
static void mark(struct cfg_building *b, uint64_t offset)
{
    uint32_t i = cs_cfg_insn(b->cfg, offset);
    if (i != CS_CFG_EXIT)
        b->leader[i] = 1;
}

static bool follows(const struct cs_cfg *cfg, uint32_t i)
{
    return i + 1 < cfg->n_insns && cfg->insns[i + 1].offset == cfg->insns[i].offset + cfg->insns[i].length;
}

static bool call_before(const struct cs_cfg *cfg, uint32_t i)
{
    return i > 0 && follows(cfg, i - 1) && cfg->insns[i - 1].flow == CS_ISA_FLOW_CALL;
}

/* Seen jumps and calls into the middle, from elsewhere; returns of callees aside. */
static void mark_seen(struct cfg_building *b)
{
    const struct cs_cfg *cfg = b->cfg;
    const struct cs_edge_profile *seen = b->seen;
    for (unsigned k = 0; seen && cfg->insns && k < cfg->procedure->n_parts; k++) {
        const struct cs_image_part *part = &cfg->procedure->parts[k];
        for (size_t i = cs_edge_profile_to(seen, part->start); i < seen->n_by_to; i++) {
            const struct cs_seen_edge *e = &seen->by_from[seen->by_to[i]];
            if (e->to - part->start >= part->size)
                break;
            uint32_t to = cs_cfg_insn(cfg, e->to);
            uint32_t from = e->from_image ? CS_CFG_EXIT : cs_cfg_insn(cfg, e->from);
            if (to == CS_CFG_EXIT || call_before(cfg, to))
                continue;
            if (from == CS_CFG_EXIT)
                b->leader[to] |= 3;
            else if (cfg->insns[from].flow == CS_ISA_FLOW_JUMP && cfg->insns[from].indirect)
                b->leader[to] |= 1;
        }
    }
}

static bool never_returns(struct cfg_building *b, const struct cs_cfg_instruction *call)
{
    const struct cs_image_procedure *to = call->target ? cs_image_procedure_at(b->code, call->target) : NULL;
    return to && to->start == call->target && to != b->cfg->procedure && !cs_cfg_returns(b->code, to);
}

static int resolve(struct cfg_building *b, uint32_t i)
{
    if (cs_array_room(b->jumps, b->n_jumps, b->jumps_capacity) < 0)
        return -ENOMEM;
    struct jump_targets one = {0};
    int rc = cs_cfg_jump_table(b->code, b->cfg->insns, b->cfg->n_insns, i, &one);
    struct cfg_jump *jump = &b->jumps[b->n_jumps++];
    *jump = (struct cfg_jump){i, b->targets.n, rc == 1 ? one.n : 0, rc == 1 && one.outside};
    if (rc >= 0 &&
        cs_array_reserve_in(b->targets.offset, (size_t)b->targets.n + jump->n, b->targets.capacity) < 0)
        rc = -ENOMEM;
    if (rc >= 0 && jump->n) {
        memcpy(b->targets.offset + b->targets.n, one.offset, jump->n * sizeof *one.offset);
        b->targets.n += jump->n;
        for (uint32_t k = 0; k < jump->n; k++)
            mark(b, one.offset[k]);
    }
    b->resolved[i] = rc >= 0 ? (uint8_t)rc : 0;
    b->cfg->n_jumps++;
    b->cfg->n_tables += rc == 1;
    free(one.offset);
    return rc < 0 ? rc : 0;
}

int cfg_find_leaders(struct cfg_building *b)
{
    struct cs_cfg *cfg = b->cfg;
    b->leader = calloc(cfg->n_insns + 1, 1);
    b->never = calloc(cfg->n_insns + 1, 1);
    b->resolved = calloc(cfg->n_insns + 1, 1);
    if (!b->leader || !b->never || !b->resolved)
        return -ENOMEM;
    for (unsigned i = 0; i < cfg->procedure->n_parts; i++)
        mark(b, cfg->procedure->parts[i].start);
    for (uint32_t i = 0; i < cfg->n_insns; i++) {
        const struct cs_cfg_instruction *insn = &cfg->insns[i];
        bool ends = insn->flow != CS_ISA_FLOW_NEXT && insn->flow != CS_ISA_FLOW_CALL;
        if (i && !follows(cfg, i - 1))
            b->leader[i] = 1;
        if (insn->flow == CS_ISA_FLOW_CALL && !insn->indirect && never_returns(b, insn))
            b->never[i] = ends = true;
        if (insn->flow == CS_ISA_FLOW_BRANCH || insn->flow == CS_ISA_FLOW_JUMP) {
            if (insn->indirect) {
                if (resolve(b, i) < 0)
                    return -ENOMEM;
            } else
                mark(b, insn->target);
        }
        if (ends)
            b->leader[i + 1] = 1;
    }
    mark_seen(b);
    return 0;
}

int cfg_make_blocks(struct cfg_building *b)
{
    assert(b->leader && !b->cfg->blocks /* after the leaders, once */);
    struct cs_cfg *cfg = b->cfg;
    uint32_t n = 0;
    for (uint32_t i = 0; i < cfg->n_insns; i++)
        n += i == 0 || b->leader[i];
    cfg->blocks = calloc(n + 1, sizeof *cfg->blocks);
    if (!cfg->blocks)
        return -ENOMEM;
    for (uint32_t i = 0; i < cfg->n_insns; i++) {
        const struct cs_cfg_instruction *insn = &cfg->insns[i];
        if (i == 0 || b->leader[i])
            cfg->blocks[cfg->n_blocks++] =
                (struct cs_basic_block){.start = insn->offset, .first_insn = i, .entry = b->leader[i] & 2};
        struct cs_basic_block *block = &cfg->blocks[cfg->n_blocks - 1];
        block->last = insn->offset;
        block->end = insn->offset + insn->length;
        block->n_insns++;
    }
    uint32_t entry = cs_cfg_block(cfg, cfg->procedure->start);
    if (entry != CS_CFG_EXIT)
        cfg->blocks[entry].entry = true;
    assert(cfg->n_blocks == n);
    return 0;
}
