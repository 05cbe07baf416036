/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How much of a profile source lines can express. A compiler gives a block the largest count that the lines
 * and discriminators of its instructions have. So each block's count is read back in that way and compared
 * with what went in. What stands on one line but runs at different rates is lost, and what has no line.
 *
 *      struct cs_export_source_loss_notes notes = {0};
 *      uint32_t block = cs_export_source_loss_block(&notes, count, n_insns);   // then its instructions:
 *      cs_export_source_loss_place(&notes, site_number, copies);
 *      cs_export_source_loss_flow(&notes, block, other_block, count);
 *      cs_export_source_loss_sum(&notes, count_by_site_number, &loss);
 *      cs_export_source_loss_fini(&notes);
 *
 * Pure; memory that is out makes `failed` stick. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Counts are in the profile's unit, samples are samples. */
struct cs_export_source_loss {
    double samples, samples_elsewhere; /* of a clock; of them in no procedure whose code can be read */
    double instructions;               /* executed, by the solved frequencies */
    double unlined;                    /* of them: in blocks without any line */
    double blurred;                    /* in blocks whose count doesn't come back within 10 % */
    double edges, edges_lost;    /* between blocks of a procedure; of them with an end in such a block */
    double calls, calls_unnamed; /* of them to another file, or to nowhere that has a name */
};

struct cs_export_source_loss_notes {
    struct cs_noted_block *blocks;
    struct cs_noted_place *places;
    struct cs_noted_flow *flows;
    size_t n_blocks, n_places, n_flows, blocks_capacity, places_capacity, flows_capacity;
    bool failed;
};

uint32_t cs_export_source_loss_block(struct cs_export_source_loss_notes *notes, double count,
                                     uint32_t n_insns);
/* Of an instruction of the last block: its site, and of how many copies of the source it is one. */
void cs_export_source_loss_place(struct cs_export_source_loss_notes *notes, uint32_t site, uint32_t copies);
void cs_export_source_loss_flow(struct cs_export_source_loss_notes *notes, uint32_t from, uint32_t to,
                                double count);
/* Fills instructions, unlined, blurred and edges; 0 or -ENOMEM. */
int cs_export_source_loss_sum(const struct cs_export_source_loss_notes *notes, const double *site_count,
                              struct cs_export_source_loss *loss);
void cs_export_source_loss_fini(struct cs_export_source_loss_notes *notes);

/* One sentence for people. */
void cs_export_source_loss_text(const struct cs_export_source_loss *loss, char *text, size_t capacity);
