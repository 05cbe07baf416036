/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes are taken while a profile is written and summed up at the end: only then every count is known. */
#include "exchange/export/source_loss.h"
#include "store/base/array.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define WITHIN 0.1

struct cs_noted_block {
    double count;
    uint32_t n_insns, first_place, n_places;
};
struct cs_noted_place {
    uint32_t site, copies;
};
struct cs_noted_flow {
    double count;
    uint32_t from, to;
};

/* Room for one more; false, and the notes have failed, when there is none. */
#define ROOM(notes, list)                                                                                    \
    (!(notes)->failed &&                                                                                     \
     !((notes)->failed = cs_array_room((notes)->list, (notes)->n_##list, (notes)->list##_capacity) < 0))

uint32_t cs_export_source_loss_block(struct cs_export_source_loss_notes *notes, double count,
                                     uint32_t n_insns)
{
    assert(count >= 0);
    if (!ROOM(notes, blocks))
        return 0;
    notes->blocks[notes->n_blocks] = (struct cs_noted_block){count, n_insns, (uint32_t)notes->n_places, 0};
    return (uint32_t)notes->n_blocks++;
}

void cs_export_source_loss_place(struct cs_export_source_loss_notes *notes, uint32_t site, uint32_t copies)
{
    if (notes->n_blocks == 0)
        return;
    if (!ROOM(notes, places))
        return;
    notes->places[notes->n_places++] = (struct cs_noted_place){site, copies};
    notes->blocks[notes->n_blocks - 1].n_places++;
}

void cs_export_source_loss_flow(struct cs_export_source_loss_notes *notes, uint32_t from, uint32_t to,
                                double count)
{
    if (!ROOM(notes, flows))
        return;
    notes->flows[notes->n_flows++] = (struct cs_noted_flow){count, from, to};
}

int cs_export_source_loss_sum(const struct cs_export_source_loss_notes *notes, const double *site_count,
                              struct cs_export_source_loss *loss)
{
    bool *lost = calloc(notes->n_blocks + 1, sizeof *lost);
    if (!lost || notes->failed) {
        free(lost);
        return -ENOMEM;
    }
    for (size_t i = 0; i < notes->n_blocks; i++) {
        const struct cs_noted_block *block = &notes->blocks[i];
        double read_back = 0, weight = block->count * block->n_insns;
        for (uint32_t k = 0; k < block->n_places; k++) {
            const struct cs_noted_place *place = &notes->places[block->first_place + k];
            read_back = fmax(read_back, site_count[place->site] / place->copies);
        }
        bool blurred = fabs(read_back - block->count) > WITHIN * block->count;
        lost[i] = block->n_places == 0 || blurred;
        loss->instructions += weight;
        if (block->n_places == 0)
            loss->unlined += weight;
        else if (blurred)
            loss->blurred += weight;
    }
    for (size_t i = 0; i < notes->n_flows; i++) {
        loss->edges += notes->flows[i].count;
        if (lost[notes->flows[i].from] || lost[notes->flows[i].to])
            loss->edges_lost += notes->flows[i].count;
    }
    free(lost);
    return 0;
}

void cs_export_source_loss_fini(struct cs_export_source_loss_notes *notes)
{
    free(notes->blocks);
    free(notes->places);
    free(notes->flows);
    *notes = (struct cs_export_source_loss_notes){0};
}

static double percent(double part, double of)
{
    return of > 0 ? 100 * part / of : 0;
}

void cs_export_source_loss_text(const struct cs_export_source_loss *loss, char *text, size_t capacity)
{
    double n = loss->instructions;
    snprintf(text, capacity,
             "%.1f %% of the instructions that ran keep their count in this format (within 10 %%): %.1f %% "
             "share a line with code that runs at another rate, %.1f %% have no line; edges: %.1f %%; calls: "
             "%.1f %% have a name; %.1f %% of the samples were in code that can't be read",
             percent(n - loss->unlined - loss->blurred, n), percent(loss->blurred, n),
             percent(loss->unlined, n), percent(loss->edges - loss->edges_lost, loss->edges),
             percent(loss->calls - loss->calls_unnamed, loss->calls),
             percent(loss->samples_elsewhere, loss->samples));
}
