/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/culprit/account/cycle_account.h"

#include "analysis/culprit/account/cycle_account_internal.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

static const struct cs_culprit_classification no_stall;

/* Neither samples nor executions, nor a way in or out that was taken: no sample is attributed to it, and no path leads
 * through it. */
static bool never_ran(const struct accounting *x, uint32_t block)
{
    const struct cs_cfg *cfg = x->a->cfg;
    const struct cs_basic_block *b = &cfg->blocks[block];
    bool ran =
        x->a->blocks[block].visits > 0 || cs_frequency_samples(&x->e->flow.input, b->start, b->end) > 0;
    for (uint32_t i = b->first_out; i < b->first_out + b->n_out && !ran; i++)
        ran = x->edge_visits[i] > 0;
    for (uint32_t k = b->first_in; k < b->first_in + b->n_in && !ran; k++)
        ran = x->edge_visits[cfg->in[k]] > 0;
    return !ran;
}

static void decode(struct accounting *x, struct cs_image_code *code)
{
    struct cs_cycle_account *a = x->a;
    const struct cs_cfg *cfg = a->cfg;
    enum cs_isa isa = x->isa = cs_image_isa(code);
    for (uint32_t b = 0; b < cfg->n_blocks; b++) {
        const struct cs_basic_block *block = &cfg->blocks[b];
        bool skip = x->what_ran && never_ran(x, b);
        for (uint32_t i = block->first_insn; i < block->first_insn + block->n_insns; i++) {
            struct cs_cycle_account_insn *insn = &a->insns[i];
            size_t n = 0;
            insn->block = b;
            insn->op.offset = cfg->insns[i].offset;
            insn->op.length = cfg->insns[i].length;
            if (skip)
                continue;
            const uint8_t *bytes = cs_image_bytes_at(code, cfg->insns[i].offset, &n, NULL);
            cs_isa_op_decode(isa, bytes, bytes ? n : 0, cfg->insns[i].offset, &insn->op);
            insn->visits = a->blocks[b].visits;
            insn->samples = cs_culprit_evidence_samples(x->e, insn->op.offset);
            a->samples += insn->samples;
            struct cs_cycle_account_insn *before = i > block->first_insn ? &a->insns[i - 1] : NULL;
            if (before && !before->fused && cs_isa_op_fused(&before->op, &insn->op)) {
                insn->fused = true;
                before->branch = insn->op.offset;
                before->op.flags |= insn->op.flags & CS_ISA_OP_BRANCH;
            }
        }
    }
}

/* Up to what each instruction is to answer for. */
static int prepare(struct accounting *x, struct cs_image_code *code,
                   const struct cs_image_procedure *procedure, struct cs_error *err)
{
    struct cs_cycle_account *a = x->a = calloc(1, sizeof *a);
    if (!a)
        return cs_fail(err, ENOMEM, "no memory for the cycle accounting of %s", procedure->name);
    a->procedure = procedure;
    a->cycles_a_sample = x->e->cycles_a_sample;
    int rc = cs_cfg_build(code, procedure, x->e->flow.edges, &a->cfg, err);
    if (rc)
        return rc;
    a->insns = calloc(a->cfg->n_insns + 1, sizeof *a->insns);
    a->blocks = calloc(a->cfg->n_blocks + 1, sizeof *a->blocks);
    x->edge_visits = calloc(a->cfg->n_edges + 1, sizeof *x->edge_visits);
    if (!a->insns || !a->blocks || !x->edge_visits)
        return cs_fail(err, ENOMEM, "no memory for the cycle accounting of %s", procedure->name);
    for (uint32_t i = 0; i < a->cfg->n_insns; i++)
        a->insns[i].classification = &no_stall;
    rc = account_visits(x, err);
    if (rc)
        return rc;
    decode(x, code);
    return account_attribute(x, err);
}

/* From what `prepare` left; ends x. */
static int finish(struct accounting *x, int rc, struct cs_cycle_account **out, struct cs_error *err)
{
    *out = NULL;
    if (rc == 0)
        rc = account_paths(x, err);
    if (rc == 0) {
        account_stalls(x);
        account_summary(x->a);
        *out = x->a;
    } else {
        cs_cycle_account_close(x->a);
    }
    free(x->edge_visits);
    return rc;
}

int cs_cycle_account_open(struct cs_image_code *code, const struct cs_image_procedure *procedure,
                          const struct cs_culprit_evidence *evidence, struct cs_scheduler *scheduler,
                          const struct cs_cycle_account_count *known, struct cs_cycle_account **out,
                          struct cs_error *err)
{
    struct accounting x = {.e = evidence, .scheduler = scheduler, .known = known};
    return finish(&x, prepare(&x, code, procedure, err), out, err);
}

struct cs_cycle_account_begun {
    struct accounting x;
};

int cs_cycle_account_begin(struct cs_image_code *code, const struct cs_image_procedure *procedure,
                           const struct cs_culprit_evidence *evidence, struct cs_scheduler *scheduler,
                           struct cs_cycle_account_begun **begun, struct cs_error *err)
{
    struct cs_cycle_account_begun *b = calloc(1, sizeof *b);
    if (begun)
        *begun = NULL;
    if (!b)
        return cs_fail(err, ENOMEM, "no memory for the cycle accounting of %s", procedure->name);
    b->x = (struct accounting){.e = evidence, .scheduler = scheduler, .what_ran = true};
    int rc = prepare(&b->x, code, procedure, err);
    if (rc == 0)
        rc = account_paths_ahead(&b->x, err);
    if (rc == 0 && begun)
        *begun = b;
    else
        cs_cycle_account_drop(b);
    return rc;
}

size_t cs_cycle_account_begun_bytes(const struct cs_cycle_account_begun *b)
{
    const struct cs_cfg *cfg = b->x.a->cfg;
    return sizeof *b + cfg->n_insns * (sizeof *b->x.a->insns + sizeof *cfg->insns) +
           cfg->n_blocks * (sizeof *b->x.a->blocks + sizeof *cfg->blocks) +
           cfg->n_edges * (sizeof *b->x.edge_visits + sizeof *cfg->edges + sizeof *cfg->in);
}

int cs_cycle_account_finish(struct cs_cycle_account_begun *b, struct cs_cycle_account **out,
                            struct cs_error *err)
{
    assert(b->x.a);
    int rc = finish(&b->x, 0, out, err);
    free(b);
    return rc;
}

void cs_cycle_account_drop(struct cs_cycle_account_begun *b)
{
    if (!b)
        return;
    cs_cycle_account_close(b->x.a);
    free(b->x.edge_visits);
    free(b);
}

void cs_cycle_account_close(struct cs_cycle_account *a)
{
    if (!a)
        return;
    cs_cfg_close(a->cfg);
    free(a->insns);
    free(a->blocks);
    free(a->classifications);
    free(a);
}
