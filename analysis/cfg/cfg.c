/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Linear sweep over the procedure's parts (compilers put no tables between instructions), leaders,
 * blocks, edges, reachability. What can't be reached and isn't padding gets an edge from CS_CFG_ENTRY:
 * exception landing pads, and targets of jumps that stayed unresolved. */
#include "analysis/cfg/cfg.h"
#include "image/isa/decode.h"
#include "analysis/cfg/jump_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PROCEDURE_BYTES_MAX ((uint64_t)64 << 20)

struct building {
    struct cs_code *code;
    const struct cs_edge_profile *seen;
    struct cs_cfg *cfg;
    uint8_t *leader;  /* by instruction */
    uint8_t *never;   /* by instruction: a call that doesn't come back */
    uint8_t *verdict; /* by instruction: of an indirect jump, what cs_jump_table said */
    struct jump {
        uint32_t insn, first, n; /* in targets */
        bool outside;
    } * jumps;
    uint32_t n_jumps, room_jumps, room_insns, room_edges;
    struct targets targets;
};

uint32_t cs_cfg_insn(const struct cs_cfg *cfg, uint64_t offset)
{
    uint32_t low = 0, high = cfg->n_insns;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (cfg->insns[middle].offset <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0 || offset - cfg->insns[low - 1].offset >= cfg->insns[low - 1].length)
        return CS_CFG_EXIT;
    return low - 1;
}

uint32_t cs_cfg_block(const struct cs_cfg *cfg, uint64_t offset)
{
    uint32_t low = 0, high = cfg->n_blocks;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (cfg->blocks[middle].start <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low == 0 || offset >= cfg->blocks[low - 1].end ? CS_CFG_EXIT : low - 1;
}

static int add_insn(struct building *b, const struct cs_insn *insn)
{
    struct cs_cfg *cfg = b->cfg;
    if (cfg->n_insns == b->room_insns) {
        uint32_t room = b->room_insns ? 2 * b->room_insns : 256;
        struct cs_cfg_insn *grown = realloc(cfg->insns, room * sizeof *grown);
        if (!grown)
            return -ENOMEM;
        cfg->insns = grown;
        b->room_insns = room;
    }
    cfg->insns[cfg->n_insns++] = (struct cs_cfg_insn){.offset = insn->offset,
                                                      .target = insn->target,
                                                      .length = insn->length,
                                                      .flow = insn->flow,
                                                      .indirect = insn->indirect,
                                                      .padding = insn->padding};
    return 0;
}

static int by_offset(const void *a, const void *b)
{
    const struct cs_cfg_insn *x = a, *y = b;
    return (x->offset > y->offset) - (x->offset < y->offset);
}

static int sweep(struct building *b)
{
    enum cs_isa isa = cs_code_isa(b->code);
    const struct cs_procedure *p = b->cfg->procedure;
    for (unsigned i = 0; i < p->n_parts; i++) {
        uint64_t at = p->parts[i].start, end = at + p->parts[i].size;
        while (at < end) {
            struct cs_insn insn;
            size_t room;
            const uint8_t *bytes = cs_code_bytes(b->code, at, &room, NULL);
            if (!bytes)
                break;
            if (room > end - at)
                room = end - at;
            if (!cs_decode_flow(isa, bytes, room, at, &insn)) {
                b->cfg->n_bad += cs_isa_step(isa);
                at += cs_isa_step(isa);
                continue;
            }
            if (add_insn(b, &insn) < 0)
                return -ENOMEM;
            at += insn.length;
        }
    }
    /* parts ascend rarely, and damaged files overlap them */
    if (b->cfg->n_insns)
        qsort(b->cfg->insns, b->cfg->n_insns, sizeof *b->cfg->insns, by_offset);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < b->cfg->n_insns; i++) {
        const struct cs_cfg_insn *last = kept ? &b->cfg->insns[kept - 1] : NULL;
        if (!last || b->cfg->insns[i].offset >= last->offset + last->length)
            b->cfg->insns[kept++] = b->cfg->insns[i];
    }
    b->cfg->n_insns = kept;
    return 0;
}

/* A jump over the lock prefix lands inside an instruction: it is that instruction's. */
static void mark(struct building *b, uint64_t offset)
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
    return i > 0 && follows(cfg, i - 1) && cfg->insns[i - 1].flow == CS_FLOW_CALL;
}

/* Seen jumps and calls into the middle, from elsewhere; returns of callees aside. */
static void mark_seen(struct building *b)
{
    const struct cs_cfg *cfg = b->cfg;
    const struct cs_edge_profile *seen = b->seen;
    for (unsigned k = 0; seen && cfg->insns && k < cfg->procedure->n_parts; k++) {
        const struct cs_part *part = &cfg->procedure->parts[k];
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
            else if (cfg->insns[from].flow == CS_FLOW_JUMP && cfg->insns[from].indirect)
                b->leader[to] |= 1;
        }
    }
}

static bool never_returns(struct building *b, const struct cs_cfg_insn *call)
{
    const struct cs_procedure *to = call->target ? cs_code_procedure(b->code, call->target) : NULL;
    return to && to->start == call->target && to != b->cfg->procedure && !cs_cfg_returns(b->code, to);
}

static int resolve(struct building *b, uint32_t i)
{
    if (b->n_jumps == b->room_jumps) {
        uint32_t room = b->room_jumps ? 2 * b->room_jumps : 16;
        struct jump *grown = realloc(b->jumps, room * sizeof *grown);
        if (!grown)
            return -ENOMEM;
        b->jumps = grown;
        b->room_jumps = room;
    }
    struct targets one = {0};
    int rc = cs_jump_table(b->code, b->cfg->insns, b->cfg->n_insns, i, &one);
    struct jump *jump = &b->jumps[b->n_jumps++];
    *jump = (struct jump){i, b->targets.n, rc == 1 ? one.n : 0, rc == 1 && one.outside};
    if (rc >= 0 && b->targets.n + jump->n > b->targets.room) {
        uint32_t room = 2 * (b->targets.n + jump->n);
        uint64_t *grown = realloc(b->targets.offset, room * sizeof *grown);
        if (grown) {
            b->targets.offset = grown;
            b->targets.room = room;
        } else
            rc = -ENOMEM;
    }
    if (rc >= 0 && jump->n) {
        memcpy(b->targets.offset + b->targets.n, one.offset, jump->n * sizeof *one.offset);
        b->targets.n += jump->n;
        for (uint32_t k = 0; k < jump->n; k++)
            mark(b, one.offset[k]);
    }
    b->verdict[i] = rc >= 0 ? (uint8_t)rc : 0;
    b->cfg->n_jumps++;
    b->cfg->n_tables += rc == 1;
    free(one.offset);
    return rc < 0 ? rc : 0;
}

static int find_leaders(struct building *b)
{
    struct cs_cfg *cfg = b->cfg;
    b->leader = calloc(cfg->n_insns + 1, 1);
    b->never = calloc(cfg->n_insns + 1, 1);
    b->verdict = calloc(cfg->n_insns + 1, 1);
    if (!b->leader || !b->never || !b->verdict)
        return -ENOMEM;
    for (unsigned i = 0; i < cfg->procedure->n_parts; i++)
        mark(b, cfg->procedure->parts[i].start);
    for (uint32_t i = 0; i < cfg->n_insns; i++) {
        const struct cs_cfg_insn *insn = &cfg->insns[i];
        bool ends = insn->flow != CS_FLOW_NEXT && insn->flow != CS_FLOW_CALL;
        if (i && !follows(cfg, i - 1))
            b->leader[i] = 1;
        if (insn->flow == CS_FLOW_CALL && !insn->indirect && never_returns(b, insn))
            b->never[i] = ends = true;
        if (insn->flow == CS_FLOW_BRANCH || insn->flow == CS_FLOW_JUMP) {
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

static int make_blocks(struct building *b)
{
    struct cs_cfg *cfg = b->cfg;
    uint32_t n = 0;
    for (uint32_t i = 0; i < cfg->n_insns; i++)
        n += i == 0 || b->leader[i];
    cfg->blocks = calloc(n + 1, sizeof *cfg->blocks);
    if (!cfg->blocks)
        return -ENOMEM;
    for (uint32_t i = 0; i < cfg->n_insns; i++) {
        const struct cs_cfg_insn *insn = &cfg->insns[i];
        if (i == 0 || b->leader[i])
            cfg->blocks[cfg->n_blocks++] =
                (struct cs_block){.start = insn->offset, .first_insn = i, .entry = b->leader[i] & 2};
        struct cs_block *block = &cfg->blocks[cfg->n_blocks - 1];
        block->last = insn->offset;
        block->end = insn->offset + insn->length;
        block->n_insns++;
    }
    uint32_t entry = cs_cfg_block(cfg, cfg->procedure->start);
    if (entry != CS_CFG_EXIT)
        cfg->blocks[entry].entry = true;
    return 0;
}

static int add_edge(struct building *b, uint32_t from, uint64_t target, enum cs_edge_kind kind)
{
    struct cs_cfg *cfg = b->cfg;
    if (cfg->n_edges == b->room_edges) {
        uint32_t room = b->room_edges ? 2 * b->room_edges : 256;
        struct cs_cfg_edge *grown = realloc(cfg->edges, room * sizeof *grown);
        if (!grown)
            return -ENOMEM;
        cfg->edges = grown;
        b->room_edges = room;
    }
    uint32_t to = CS_CFG_EXIT;
    if (kind != CS_EDGE_RETURN && kind != CS_EDGE_NO_RETURN && kind != CS_EDGE_UNKNOWN &&
        kind != CS_EDGE_TAIL)
        to = cs_cfg_block(cfg, target);
    if (to == CS_CFG_EXIT && kind < CS_EDGE_RETURN)
        kind = CS_EDGE_TAIL;
    cfg->edges[cfg->n_edges++] = (struct cs_cfg_edge){from, to, (uint8_t)kind, target};
    return 0;
}

/* Targets read from a table, then those seen besides. */
static int add_indirect(struct building *b, uint32_t from, uint32_t insn)
{
    struct cs_cfg *cfg = b->cfg;
    uint64_t at = cfg->insns[insn].offset;
    const struct jump *jump = b->jumps;
    uint32_t first = cfg->n_edges;
    while (jump->insn != insn)
        jump++;
    bool outside = jump->outside;
    for (uint32_t k = 0; k < jump->n; k++)
        if (add_edge(b, from, b->targets.offset[jump->first + k], CS_EDGE_TABLE) < 0)
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
        else if (!known && add_edge(b, from, e->to, CS_EDGE_OBSERVED) < 0)
            return -ENOMEM;
    }
    bool inside = cfg->n_edges > first;
    if (b->verdict[insn] == 0 || (b->verdict[insn] == 2 && inside))
        cfg->blocks[from].missing = cfg->missing = true;
    if (outside || (!inside && b->verdict[insn] == 2))
        return add_edge(b, from, 0, CS_EDGE_TAIL);
    return inside ? 0 : add_edge(b, from, 0, CS_EDGE_UNKNOWN);
}

static int add_block_edges(struct building *b, uint32_t block)
{
    struct cs_cfg *cfg = b->cfg;
    const struct cs_block *it = &cfg->blocks[block];
    uint32_t last = it->first_insn + it->n_insns - 1;
    const struct cs_cfg_insn *insn = &cfg->insns[last];
    switch ((enum cs_flow)insn->flow) {
    case CS_FLOW_RETURN:
        return add_edge(b, block, 0, CS_EDGE_RETURN);
    case CS_FLOW_STOP:
        return add_edge(b, block, 0, CS_EDGE_NO_RETURN);
    case CS_FLOW_JUMP:
        return insn->indirect ? add_indirect(b, block, last) : add_edge(b, block, insn->target, CS_EDGE_JUMP);
    case CS_FLOW_BRANCH:
        if (add_edge(b, block, insn->target, CS_EDGE_TAKEN) < 0)
            return -ENOMEM;
        break;
    case CS_FLOW_CALL:
        if (b->never[last])
            return add_edge(b, block, 0, CS_EDGE_NO_RETURN);
        break;
    case CS_FLOW_NEXT:
        break;
    }
    return add_edge(b, block, it->end, CS_EDGE_FALL);
}

static bool is_padding(const struct cs_cfg *cfg, const struct cs_block *block)
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
        const struct cs_block *at = &cfg->blocks[stack[--n]];
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
static int reach(struct building *b)
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
        struct cs_block block = cfg->blocks[i];
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

static int link_edges(struct building *b)
{
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
        if (cfg->blocks[i].entry && add_edge(b, CS_CFG_ENTRY, cfg->blocks[i].start, CS_EDGE_ENTRY) < 0)
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
            struct cs_block *to = &cfg->blocks[cfg->edges[e].to];
            cfg->in[to->first_in + to->n_in++] = e;
        }
    return 0;
}

int cs_cfg_build(struct cs_code *code, const struct cs_procedure *procedure,
                 const struct cs_edge_profile *observed, struct cs_cfg **out, struct cs_error *err)
{
    struct cs_cfg *cfg = calloc(1, sizeof *cfg);
    struct building b = {.code = code, .seen = observed, .cfg = cfg};
    uint64_t size = 0;
    int rc = 0;
    for (unsigned i = 0; i < procedure->n_parts; i++)
        size += procedure->parts[i].size;
    if (cs_code_isa(code) == CS_ISA_NONE)
        rc = cs_fail(err, ENOTSUP, "%s: no x86-64 or AArch64 code to read%s%s", procedure->name,
                     *cs_code_trouble(code) ? ": " : "", cs_code_trouble(code));
    else if (size > PROCEDURE_BYTES_MAX)
        rc = cs_fail(err, EFBIG, "%s claims %llu bytes: its symbol is damaged", procedure->name,
                     (unsigned long long)size);
    if (rc < 0) {
        free(cfg);
        return rc;
    }
    if (!cfg)
        return cs_fail(err, ENOMEM, "no memory for the control flow of %s", procedure->name);
    cfg->procedure = procedure;
    if (sweep(&b) < 0 || find_leaders(&b) < 0 || make_blocks(&b) < 0 || link_edges(&b) < 0)
        rc = cs_fail(err, ENOMEM, "no memory for the control flow of %s", procedure->name);
    free(b.leader);
    free(b.never);
    free(b.verdict);
    free(b.jumps);
    free(b.targets.offset);
    if (rc < 0) {
        cs_cfg_close(cfg);
        return rc;
    }
    *out = cfg;
    return 0;
}

void cs_cfg_close(struct cs_cfg *cfg)
{
    if (!cfg)
        return;
    free(cfg->insns);
    free(cfg->blocks);
    free(cfg->edges);
    free(cfg->in);
    free(cfg);
}
