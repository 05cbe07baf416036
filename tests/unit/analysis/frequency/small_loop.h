/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A procedure made by hand, and how often it ran: entered 1,000 times, its loop turned 10 times each.
 *
 *      0x1000  two instructions          block 0, 1,000 times, no branch at its end
 *      0x1008  two, the last a branch    block 1, 10,000 times: 9,000 back to 0x1008, 1,000 on
 *      0x1010  two, the last a return    block 2, 1,000 times
 */
#ifndef CS_TESTS_SMALL_LOOP_H
#define CS_TESTS_SMALL_LOOP_H

#include "analysis/frequency/frequency.h"
#include "image/isa/decode.h"

enum { FALL_IN, BACK, FALL_OUT, RETURN, ENTRY, N_LOOP_EDGES };

static struct cs_cfg_instruction loop_insns[] = {
    {.offset = 0x1000, .length = 4},
    {.offset = 0x1004, .length = 4},
    {.offset = 0x1008, .length = 4},
    {.offset = 0x100c, .length = 4, .flow = CS_ISA_FLOW_BRANCH, .target = 0x1008},
    {.offset = 0x1010, .length = 4},
    {.offset = 0x1014, .length = 4, .flow = CS_ISA_FLOW_RETURN},
};
static struct cs_basic_block loop_blocks[] = {
    {0x1000, 0x1008, 0x1004, 0, 2, FALL_IN, 1, 0, 1, true, false},
    {0x1008, 0x1010, 0x100c, 2, 2, BACK, 2, 1, 2, false, false},
    {0x1010, 0x1018, 0x1014, 4, 2, RETURN, 1, 3, 1, false, false},
};
static struct cs_cfg_edge loop_edges[N_LOOP_EDGES] = {
    [FALL_IN] = {0, 1, CS_CFG_EDGE_FALL, 0x1008},
    [BACK] = {1, 1, CS_CFG_EDGE_TAKEN, 0x1008},
    [FALL_OUT] = {1, 2, CS_CFG_EDGE_FALL, 0x1010},
    [RETURN] = {2, CS_CFG_EXIT, CS_CFG_EDGE_RETURN, 0},
    [ENTRY] = {CS_CFG_ENTRY, 0, CS_CFG_EDGE_ENTRY, 0x1000},
};
static uint32_t loop_in[] = {ENTRY, FALL_IN, BACK, FALL_OUT};
static const struct cs_image_procedure loop_procedure = {.name = "loop", .start = 0x1000, .size = 0x18};
static const struct cs_cfg loop = {.procedure = &loop_procedure,
                                   .insns = loop_insns,
                                   .blocks = loop_blocks,
                                   .edges = loop_edges,
                                   .in = loop_in,
                                   .n_insns = 6,
                                   .n_blocks = 3,
                                   .n_edges = N_LOOP_EDGES};

#endif
