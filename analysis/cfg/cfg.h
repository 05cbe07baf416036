/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The control-flow graph of a procedure: blocks, and every way control goes between them. dcpi-1997
 * section 6.1.1.
 *
 * A procedure is the instructions of all its parts (.cold parts too). A block ends with a branch, a jump, a
 * return, a call that never returns, or before the target of one; other calls don't end blocks. Each way in
 * comes from CS_CFG_ENTRY, each way out (return, tail call, no return) goes to CS_CFG_EXIT, so that flow is
 * conserved: what a block gets in equals what it gives out. Where an indirect jump stays unresolved the block
 * and the graph are marked `missing`, unless edges were observed there: those are then its edges.
 *
 * Edges are ordered by source block; `in` lists edge numbers by target block. Blocks ascend by start. Linear
 * in the procedure's size but for sorting. The graph is constant after cs_cfg_build. */
#ifndef CS_ANALYSIS_CFG_H
#define CS_ANALYSIS_CFG_H

#include "image/code.h"
#include "analysis/cfg/edge_profile.h"

#define CS_CFG_EXIT UINT32_MAX
#define CS_CFG_ENTRY (UINT32_MAX - 1)

enum cs_edge_kind {
    CS_EDGE_ENTRY,     /* call or jump from elsewhere */
    CS_EDGE_FALL,      /* to the next instruction */
    CS_EDGE_TAKEN,     /* conditional branch taken */
    CS_EDGE_JUMP,      /* direct jump */
    CS_EDGE_TABLE,     /* through a jump table that was read */
    CS_EDGE_OBSERVED,  /* through an indirect jump, seen only */
    CS_EDGE_RETURN,    /* to CS_CFG_EXIT */
    CS_EDGE_TAIL,      /* jump out of the procedure, to CS_CFG_EXIT */
    CS_EDGE_NO_RETURN, /* call that never comes back, or ud2, to CS_CFG_EXIT */
    CS_EDGE_UNKNOWN,   /* what an unresolved jump does besides the edges known, to CS_CFG_EXIT */
};

struct cs_cfg_insn {
    uint64_t offset, target; /* target: of a direct branch, jump or call; else 0 */
    uint8_t length, flow;    /* enum cs_flow */
    bool indirect, padding;
};

struct cs_block {
    uint64_t start, end, last; /* [start, end); offset of the last instruction */
    uint32_t first_insn, n_insns;
    uint32_t first_out, n_out; /* in cfg->edges */
    uint32_t first_in, n_in;   /* in cfg->in */
    bool entry;                /* has an edge from CS_CFG_ENTRY */
    bool missing;              /* ends in an indirect jump that the program's text doesn't resolve */
};

struct cs_cfg_edge {
    uint32_t from, to; /* block numbers, or CS_CFG_ENTRY, CS_CFG_EXIT */
    uint8_t kind;
    uint64_t target; /* where it goes, also when outside */
};

struct cs_cfg {
    const struct cs_procedure *procedure;
    struct cs_cfg_insn *insns; /* ascending by offset */
    struct cs_block *blocks;
    struct cs_cfg_edge *edges; /* those from CS_CFG_ENTRY come last */
    uint32_t *in;
    uint32_t n_insns, n_blocks, n_edges;
    bool missing;               /* some block is */
    uint32_t n_jumps, n_tables; /* indirect jumps that aren't calls; those resolved by a table */
    uint32_t n_bad;             /* bytes that don't decode */
};

/* `observed` may be NULL. Fails for images without bytes, other machines, no memory. */
int cs_cfg_build(struct cs_code *code, const struct cs_procedure *procedure,
                 const struct cs_edge_profile *observed, struct cs_cfg **out, struct cs_error *err);
void cs_cfg_close(struct cs_cfg *cfg);

/* Number of the block, the instruction that holds `offset`; CS_CFG_EXIT when none does. */
uint32_t cs_cfg_block(const struct cs_cfg *cfg, uint64_t offset);
uint32_t cs_cfg_insn(const struct cs_cfg *cfg, uint64_t offset);

/* Does a call of it come back? Follows calls and tail calls to a fixpoint; true where that can't be told. */
bool cs_cfg_returns(struct cs_code *code, const struct cs_procedure *procedure);

/* Cycle equivalence (Johnson, Pearson, Pingali 1994, linear time), dcpi-1997 section 6.1.2: blocks and edges
 * of equal class run equally often. Loops without an exit are closed by imaginary edges to the exit (DCPI's
 * extension). Classes are 0…n_classes-1. In a graph with missing edges every block and edge has a class of
 * its own. */
struct cs_classes {
    uint32_t *of_block, *of_edge; /* by number */
    uint32_t n_classes;
};
int cs_cfg_classes(const struct cs_cfg *cfg, struct cs_classes *classes); /* 0, -ENOMEM */
void cs_cfg_classes_fini(struct cs_classes *classes);

/* The algorithm alone: a connected graph of `n` nodes whose edge i goes from[i] → to[i]; every node must lie
 * on a path to and from every other (strongly connected). Writes class_of[i]; returns the number of classes
 * or -ENOMEM. */
int64_t cs_cycle_equivalence(uint32_t n, const uint32_t *from, const uint32_t *to, uint32_t n_edges,
                             uint32_t *class_of);

#endif
