/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The edges between blocks. What can't be reached and isn't padding gets an edge from CS_CFG_ENTRY: exception
 * landing pads, and targets of jumps that stayed unresolved. */
#include "analysis/cfg/cfg_internal.h"
#include "image/isa/decode.h"
#include "store/base/array.h"

#include <assert.h>

static int add_edge(struct cfg_building *b, uint32_t from, uint64_t target, enum cs_cfg_edge_kind kind)
{
    struct cs_cfg *cfg = b->cfg;
    if (cs_array_room(cfg->edges, cfg->n_edges, b->edges_capacity) < 0)
        return -ENOMEM;
    uint32_t to = CS_CFG_EXIT;
    if (kind != CS_CFG_EDGE_RETURN && kind != CS_CFG_EDGE_NO_RETURN && kind != CS_CFG_EDGE_UNKNOWN &&
        kind != CS_CFG_EDGE_TAIL)
        to = cs_cfg_block(cfg, target);
    if (to == CS_CFG_EXIT && kind < CS_CFG_EDGE_RETURN)
        kind = CS_CFG_EDGE_TAIL;
    cfg->edges[cfg->n_edges++] = (struct cs_cfg_edge){from, to, (uint8_t)kind, target};
    return 0;
}

/* Targets read from a table, then those seen besides. */
static int add_indirect(struct cfg_building *b, uint32_t from, uint32_t insn)
{
    struct cs_cfg *cfg = b->cfg;
    uint64_t at = cfg->insns[insn].offset;
    const struct cfg_jump *jump = b->jumps;
    uint32_t first = cfg->n_edges;
    while (jump->insn != insn)
        jump++;
    bool outside = jump->outside;
    for (uint32_t k = 0; k < jump->n; k++)
        if (add_edge(b, from, b->targets.offset[jump->first + k], CS_CFG_EDGE_TABLE) < 0)
            return -ENOMEM;
    for (size_t i = b->seen ? cs_edge_profile_from(b->seen, at) : 0;
         b->seen && i < b->seen->n_own && b->seen->by_from[i].from == at; i++) {
        const struct cs_seen_edge *e = &b->seen->by_from[i];
        uint32_t to = e->to_image ? CS_CFG_EXIT : cs_cfg_block(cfg, e->to);
        bool known = false;
        for (uint32_t k = first; k < cfg->n_edges && !known; k++)
            known = cfg->edges[k].to == to;
        if (to == CS_CFG_EXIT)
            outside = true;
        else if (!known && add_edge(b, from, e->to, CS_CFG_EDGE_OBSERVED) < 0)
            return -ENOMEM;
    }
    bool inside = cfg->n_edges > first;
    if (b->resolved[insn] == 0 || (b->resolved[insn] == 2 && inside))
        cfg->blocks[from].missing = cfg->missing = true;
    if (outside || (!inside && b->resolved[insn] == 2))
        return add_edge(b, from, 0, CS_CFG_EDGE_TAIL);
    return inside ? 0 : add_edge(b, from, 0, CS_CFG_EDGE_UNKNOWN);
}

static int add_block_edges(struct cfg_building *b, uint32_t block)
{
    struct cs_cfg *cfg = b->cfg;
    const struct cs_basic_block *it = &cfg->blocks[block];
    uint32_t last = it->first_insn + it->n_insns - 1;
    const struct cs_cfg_instruction *insn = &cfg->insns[last];
    switch ((enum cs_isa_flow)insn->flow) {
    case CS_ISA_FLOW_RETURN:
        return add_edge(b, block, 0, CS_CFG_EDGE_RETURN);
    case CS_ISA_FLOW_STOP:
        return add_edge(b, block, 0, CS_CFG_EDGE_NO_RETURN);
    case CS_ISA_FLOW_JUMP:
        return insn->indirect ? add_indirect(b, block, last)
                              : add_edge(b, block, insn->target, CS_CFG_EDGE_JUMP);
    case CS_ISA_FLOW_BRANCH:
        if (add_edge(b, block, insn->target, CS_CFG_EDGE_TAKEN) < 0)
            return -ENOMEM;
        break;
    case CS_ISA_FLOW_CALL:
        if (b->never[last])
            return add_edge(b, block, 0, CS_CFG_EDGE_NO_RETURN);
        break;
    case CS_ISA_FLOW_NEXT:
        break;
    }
    return add_edge(b, block, it->end, CS_CFG_EDGE_FALL);
}

static bool is_padding(const struct cs_cfg *cfg, const struct cs_basic_block *block)
{
    for (uint32_t i = 0; i < block->n_insns; i++)
        if (!cfg->insns[block->first_insn + i].padding)
            return false;
    return true;
}

static void flood(const struct cs_cfg *cfg, uint32_t block, uint8_t *reached, uint32_t *stack)
{
    uint32_t n = 0;
    reached[block] = 1;
    stack[n++] = block;
    while (n) {
        const struct cs_basic_block *at = &cfg->blocks[stack[--n]];
        for (uint32_t k = 0; k < at->n_out; k++) {
            uint32_t to = cfg->edges[at->first_out + k].to;
            if (to < cfg->n_blocks && !reached[to]) {
                reached[to] = 1;
                stack[n++] = to;
            }
        }
    }
}

/* Padding goes, other unreachable code becomes an entry. */
static int reach(struct cfg_building *b)
{
    struct cs_cfg *cfg = b->cfg;
    uint8_t *reached = calloc(cfg->n_blocks + 1, 1);
    uint32_t *stack = malloc((cfg->n_blocks + 1) * sizeof *stack);
    if (!reached || !stack) {
        free(reached);
        free(stack);
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < cfg->n_blocks; i++)
        if (cfg->blocks[i].entry && !reached[i])
            flood(cfg, i, reached, stack);
    for (uint32_t i = 0; i < cfg->n_blocks; i++)
        if (!reached[i] && !is_padding(cfg, &cfg->blocks[i])) {
            cfg->blocks[i].entry = true;
            flood(cfg, i, reached, stack);
        }
    uint32_t kept = 0, kept_edges = 0;
    for (uint32_t i = 0; i < cfg->n_blocks; i++)
        stack[i] = reached[i] ? kept++ : CS_CFG_EXIT;
    for (uint32_t i = 0; i < cfg->n_blocks; i++) {
        if (!reached[i])
            continue;
        struct cs_basic_block block = cfg->blocks[i];
        uint32_t first = block.first_out;
        block.first_out = kept_edges;
        for (uint32_t k = 0; k < block.n_out; k++) {
            struct cs_cfg_edge edge = cfg->edges[first + k];
            edge.from = stack[i];
            edge.to = edge.to < cfg->n_blocks ? stack[edge.to] : edge.to;
            cfg->edges[kept_edges++] = edge;
        }
        cfg->blocks[stack[i]] = block;
    }
    cfg->n_blocks = kept;
    cfg->n_edges = kept_edges;
    free(reached);
    free(stack);
    return 0;
}

int cfg_link_edges(struct cfg_building *b)
{
    assert(b->cfg->blocks && !b->cfg->in /* after the blocks, once */);
    struct cs_cfg *cfg = b->cfg;
    for (uint32_t i = 0; i < cfg->n_blocks; i++) {
        cfg->blocks[i].first_out = cfg->n_edges;
        if (add_block_edges(b, i) < 0)
            return -ENOMEM;
        cfg->blocks[i].n_out = cfg->n_edges - cfg->blocks[i].first_out;
    }
    if (reach(b) < 0)
        return -ENOMEM;
    for (uint32_t i = 0; i < cfg->n_blocks; i++)
        if (cfg->blocks[i].entry && add_edge(b, CS_CFG_ENTRY, cfg->blocks[i].start, CS_CFG_EDGE_ENTRY) < 0)
            return -ENOMEM;
    cfg->in = malloc((cfg->n_edges + 1) * sizeof *cfg->in);
    if (!cfg->in)
        return -ENOMEM;
    for (uint32_t e = 0; e < cfg->n_edges; e++)
        if (cfg->edges[e].to < cfg->n_blocks)
            cfg->blocks[cfg->edges[e].to].n_in++;
    for (uint32_t i = 0, at = 0; i < cfg->n_blocks; i++) {
        cfg->blocks[i].first_in = at;
        at += cfg->blocks[i].n_in;
        cfg->blocks[i].n_in = 0;
    }
    for (uint32_t e = 0; e < cfg->n_edges; e++)
        if (cfg->edges[e].to < cfg->n_blocks) {
            struct cs_basic_block *to = &cfg->blocks[cfg->edges[e].to];
            cfg->in[to->first_in + to->n_in++] = e;
        }
    return 0;
}
