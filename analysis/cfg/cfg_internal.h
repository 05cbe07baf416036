/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The steps by which a graph is made, in this order, and what they share while it is made. */
#pragma once

#include "analysis/cfg/cfg.h"
#include "analysis/cfg/jump_table.h"

/* An indirect jump and what its table says. */
struct cfg_jump {
    uint32_t insn, first, n; /* first … first + n - 1 in targets */
    bool outside;
};

struct cfg_building {
    struct cs_image_code *code;
    const struct cs_edge_profile *seen; /* NULL: none */
    struct cs_cfg *cfg;
    uint8_t *leader;   /* by instruction: 1 a block begins here, 3 and control comes from elsewhere */
    uint8_t *never;    /* by instruction: a call that doesn't come back */
    uint8_t *resolved; /* by instruction: of an indirect jump, what cs_cfg_jump_table said */
    struct cfg_jump *jumps;
    uint32_t n_jumps, jumps_capacity, insns_capacity, edges_capacity;
    struct jump_targets targets;
};

/* 0 or -ENOMEM. */
int cfg_sweep(struct cfg_building *b);        /* instructions, by a linear sweep over the parts */
int cfg_find_leaders(struct cfg_building *b); /* where blocks begin; resolves indirect jumps */
int cfg_make_blocks(struct cfg_building *b);
int cfg_link_edges(struct cfg_building *b); /* edges; what can't be reached goes or becomes an entry */
