/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Control-flow graphs of procedures, and what follows from the graph itself (dcpi-1997 section 6.1.1).
 *
 * Files of this module:
 *   blocks               from bytes to instructions, leaders and blocks
 *   cfg                  the graph: building it, looking up in it
 *   cfg_internal         the steps of building, and what they share
 *   cycle_equivalence    the algorithm of Johnson, Pearson and Pingali
 *   edge_profile         edges that were seen, sorted by either end
 *   edges                the edges between blocks, and what can't be reached
 *   equivalence_classes  blocks and edges that must run equally often
 *   jump_table           where an indirect jump can go
 *   jump_table_aarch64   the search for a table in AArch64 code
 *   jump_table_internal  what the searches share
 *   jump_table_riscv64   the search for a table in RISC-V code
 *   jump_table_targets   the list of targets that a search fills
 *   jump_table_x86_64    the search for a table in x86-64 code
 *   loops                natural loops, and how often each is entered
 *   noreturn             calls that don't come back
 *
 * A procedure is the instructions of all its parts (.cold parts too). A block ends with a branch, a jump, a
 * return, a call that never returns, or before the target of one. Other calls don't end blocks. Each way in
 * comes from CS_CFG_ENTRY. Each way out (return, tail call, no return) goes to CS_CFG_EXIT. So flow is
 * conserved: what a block gets in equals what it gives out. Where an indirect jump stays unresolved the block
 * and the graph are marked `missing`, unless edges were observed there: those are then its edges.
 *
 * Edges are ordered by source block; `in` lists edge numbers by target block. Blocks ascend by start. Linear
 * in the procedure's size but for sorting. The graph is constant after cs_cfg_build. */
#pragma once

#include "analysis/cfg/edge_profile.h"
#include "image/code.h"

#define CS_CFG_EXIT UINT32_MAX
#define CS_CFG_ENTRY (UINT32_MAX - 1)

enum cs_cfg_edge_kind {
    CS_CFG_EDGE_ENTRY,     /* call or jump from elsewhere */
    CS_CFG_EDGE_FALL,      /* to the next instruction */
    CS_CFG_EDGE_TAKEN,     /* conditional branch taken */
    CS_CFG_EDGE_JUMP,      /* direct jump */
    CS_CFG_EDGE_TABLE,     /* through a jump table that was read */
    CS_CFG_EDGE_OBSERVED,  /* through an indirect jump, seen only */
    CS_CFG_EDGE_RETURN,    /* to CS_CFG_EXIT */
    CS_CFG_EDGE_TAIL,      /* jump out of the procedure, to CS_CFG_EXIT */
    CS_CFG_EDGE_NO_RETURN, /* call that never comes back, or ud2, to CS_CFG_EXIT */
    CS_CFG_EDGE_UNKNOWN,   /* what an unresolved jump does besides the edges known, to CS_CFG_EXIT */
};

struct cs_cfg_instruction {
    uint64_t offset, target; /* target: of a direct branch, jump or call; else 0 */
    uint8_t length, flow;    /* enum cs_isa_flow */
    bool indirect, padding;
};

struct cs_basic_block {
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
    const struct cs_image_procedure *procedure;
    struct cs_cfg_instruction *insns; /* ascending by offset */
    struct cs_basic_block *blocks;
    struct cs_cfg_edge *edges; /* those from CS_CFG_ENTRY come last */
    uint32_t *in;
    uint32_t n_insns, n_blocks, n_edges;
    bool missing;               /* some block is */
    uint32_t n_jumps, n_tables; /* indirect jumps that aren't calls; those resolved by a table */
    uint32_t n_bad;             /* bytes that don't decode */
};

/* `observed` may be NULL. Fails for images without bytes, other machines, no memory. */
int cs_cfg_build(struct cs_image_code *code, const struct cs_image_procedure *procedure,
                 const struct cs_edge_profile *observed, struct cs_cfg **out, struct cs_error *err);
void cs_cfg_close(struct cs_cfg *cfg);

/* Number of the block, the instruction that holds `offset`; CS_CFG_EXIT when none does. */
uint32_t cs_cfg_block(const struct cs_cfg *cfg, uint64_t offset);
uint32_t cs_cfg_insn(const struct cs_cfg *cfg, uint64_t offset);

/* Cycle equivalence (Johnson, Pearson, Pingali 1994, linear time), dcpi-1997 section 6.1.2: blocks and edges
 * of equal class run equally often. Loops without an exit are closed by imaginary edges to the exit (DCPI's
 * extension). Classes are 0…n_classes-1. In a graph with missing edges every block and edge has a class of
 * its own. */
struct cs_equivalence_classes {
    uint32_t *of_block, *of_edge; /* by number */
    uint32_t n_classes;
};
int cs_cfg_classes(const struct cs_cfg *cfg, struct cs_equivalence_classes *classes); /* 0, -ENOMEM */
void cs_cfg_classes_fini(struct cs_equivalence_classes *classes);

/* The algorithm alone: a connected graph of `n` nodes whose edge i goes from[i] → to[i]; every node must lie
 * on a path to and from every other (strongly connected). Writes class_of[i]; returns the number of classes
 * or -ENOMEM. */
int64_t cs_cfg_cycle_equivalence(uint32_t n, const uint32_t *from, const uint32_t *to, uint32_t n_edges,
                                 uint32_t *class_of);
