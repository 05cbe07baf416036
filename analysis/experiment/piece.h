/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Instructions as a loop that can run by itself. Internal to this module and the benchmark of its truth. Pure.
 *
 * A turn is the instructions in the order in which they run. Its last branch, and a comparison that fuses with it, make way
 * for "dec REGISTER; jnz". Every instruction keeps its place if they all can, and with it its alignment; else they are
 * packed. Branches within have a displacement of 0 where the next instruction follows. A branch that was taken keeps its
 * target, and a jump to the same place stands behind it.
 *
 * Registers: what forms an address points to a page and an offset of its own. So no store meets another's load. Numbers are
 * small. */
#pragma once

#include "analysis/experiment/child/order.h"
#include "analysis/experiment/experiment.h"

enum { PIECE_OPS_MAX = 192 };

struct piece {
    uint64_t first; /* offset of code[0] */
    size_t n;       /* bytes */
    size_t head, exit_at;
    size_t turn_end; /* of a turn, with the branch back; the jump out follows */
    bool packed;
    int counter;
    bool floats, gathers, branches; /* floating-point arithmetic, vectors of addresses, branches within */
    bool loaded_address;            /* an address that was loaded is loaded from, or stored to */
    unsigned grain;     /* bytes of what is loaded and forms an index, else of the narrowest load */
    uint16_t addresses; /* registers that form one when the turn begins */
    uint8_t code[ORDER_CODE_BYTES];
};

/* Which of them a turn begins with: the one behind the jump that ends it. */
size_t piece_beginning(const struct cs_isa_op *ops, size_t n);
/* What a general register holds before the first turn. */
uint64_t piece_register(const struct piece *piece, int reg);
enum cs_experiment_why piece_make(const struct cs_isa_op *ops, size_t n, struct piece *piece);

/* Runs it, whatever it is (experiment.c). */
enum cs_experiment_why piece_run(struct cs_experiments *experiments, const struct piece *piece,
                                 struct cs_experiment_result *out);
/* Pure: what its process answered. */
enum cs_experiment_why piece_judge(const struct order *answer, struct cs_experiment_result *out);
