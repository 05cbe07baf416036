/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Exact counts from a file of callgrind, made with --dump-instr=yes --collect-jumps=yes. They say how often
 * each instruction of one image ran, and which way each branch went. The truth that estimates are held
 * against. */
#pragma once

#include "store/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cs_truth_insn {
    uint64_t offset;
    double count;
};

struct cs_truth_edge {
    uint64_t from, to;
    double count;
};

struct cs_truth {
    struct cs_truth_insn *insns; /* ascending, each offset once */
    struct cs_truth_edge *edges; /* branches and jumps within the image, ascending by from, to, each pair
                                  * once; of conditional branches the taken direction */
    size_t n_insns, n_edges;
    double total;    /* instructions of the whole program, all images */
    bool is_program; /* the image is the command that ran (`cmd:`), by name */
};

/* `image_path` chooses the image by its last component. Fails when the file isn't
 * callgrind's, has no instruction addresses, or doesn't speak of that image. */
int cs_truth_load(const char *path, const char *image_path, struct cs_truth **out, struct cs_error *err);
void cs_truth_close(struct cs_truth *truth);
double cs_truth_count(const struct cs_truth *truth, uint64_t offset);
double cs_truth_taken(const struct cs_truth *truth, uint64_t from, uint64_t to);
