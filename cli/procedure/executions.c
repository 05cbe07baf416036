/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A line ran as often as the busiest of its own instructions. If all of its code was inlined from elsewhere, the least
 * busy instruction counts: loops in inlined code are not the line's. */
#include "cli/procedure/executions.h"
#include "cli/procedure/analysed_image.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FRAMES_MAX 16

static void take(struct execution *e, double times, bool own, uint8_t sureness)
{
    bool better = isnan(e->times) || (own && !e->own) || (own == e->own && times > e->times);
    if (better)
        *e = (struct execution){times, own, sureness};
}

/* The line of the listing that an instruction counts for: for a procedure that of its own code, for a file
 * that where the instruction came from. */
static unsigned line_of(const struct annotation *a, struct cs_image_code *code, uint64_t offset, bool *own)
{
    struct cs_image_frame frames[FRAMES_MAX];
    unsigned n = cs_image_frames_at(code, offset, frames, FRAMES_MAX);
    const struct cs_image_frame *at = n == 0 ? NULL : a->name ? &frames[n - 1] : &frames[0];
    *own = !a->name || n == 1;
    return at && a->file && strcmp(at->file, a->file) == 0 && at->line < a->n_line ? at->line : 0;
}

static int add_procedure(struct executions *e, struct analysed_image *ev,
                         const struct cs_image_procedure *procedure, const struct annotation *a,
                         struct cs_error *err)
{
    struct cs_cfg *cfg = NULL;
    struct cs_frequency f = {.n_blocks = 0};
    int rc = cs_cfg_build(ev->code, procedure, ev->found.edges, &cfg, err);
    if (rc == 0)
        rc = cs_frequency_estimate(cfg, &ev->found.input, CS_FREQUENCY_BURSTS, &f, err);
    for (uint32_t b = 0; rc == 0 && !f.from_samples && b < cfg->n_blocks; b++)
        for (uint32_t k = 0; k < cfg->blocks[b].n_insns; k++) {
            const struct cs_cfg_instruction *insn = &cfg->insns[cfg->blocks[b].first_insn + k];
            const struct annotated_insn *shown = annotation_insn(a, insn->offset);
            bool own;
            unsigned line = line_of(a, ev->code, insn->offset, &own);
            if (shown && shown->offset == insn->offset)
                e->insn[shown - a->insn] = (struct execution){f.block[b], true, f.block_confidence[b]};
            if (line)
                take(&e->line[line], f.block[b], own, f.block_confidence[b]);
        }
    cs_frequency_fini(&f);
    cs_cfg_close(cfg);
    return rc;
}

int executions_open(struct executions *e, struct profile *profile, const struct profile_rows *rows,
                    const struct profile_row *row, const struct annotation *a, struct cs_error *err)
{
    assert(a->line || a->n_line == 0);
    struct cs_edge_flow *flow = NULL;
    struct analysed_image ev = {.image = NULL};
    *e = (struct executions){.line = malloc((a->n_line + 1) * sizeof *e->line),
                             .insn = malloc((a->n_insns + 1) * sizeof *e->insn)};
    if (!e->line || !e->insn) {
        executions_fini(e);
        return cs_fail(err, ENOMEM, "out of memory for execution counts");
    }
    for (size_t i = 0; i <= a->n_line; i++)
        e->line[i] = (struct execution){.times = (double)NAN};
    for (size_t i = 0; i <= a->n_insns; i++)
        e->insn[i] = (struct execution){.times = (double)NAN};
    int rc = profile_edge_flow(profile, &flow, err);
    if (rc == 0 && flow->n && cs_edge_flow_image(flow, a->image->image.id) != UINT32_MAX) {
        e->edges_seen = flow->total_count;
        rc = analysed_image_open(&ev, profile, a->image, flow, err);
        for (size_t i = 0; rc == 0 && i < rows->n; i++) {
            const struct profile_row *r = &rows->row[i];
            const struct cs_image_procedure *p = r->image == a->image && r->name && (!row || row == r)
                                                     ? cs_image_procedure_at(ev.code, r->start)
                                                     : NULL;
            struct cs_error ignored = {0}; /* a procedure that does not decode has no counts */
            if (p)
                (void)add_procedure(e, &ev, p, a, &ignored);
        }
        analysed_image_close(&ev);
    }
    cs_edge_flow_close(flow);
    if (rc < 0)
        executions_fini(e);
    return rc;
}

void executions_fini(struct executions *e)
{
    free(e->line);
    free(e->insn);
    *e = (struct executions){.line = NULL};
}
