/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Edges are laid on the graph. One whose source is a block's last instruction is that block's edge. One that
 * comes from elsewhere (a call, a jump; not a return behind a call) is an entry. Blocks that end without a
 * branch pass on what they got, in ascending order of address. A block's frequency is the mean of what comes in
 * and what goes out, which differ only by where bursts began and ended. */
#include "analysis/frequency/frequency.h"
#include "analysis/frequency/edge_flow_internal.h"
#include "analysis/frequency/model.h"
#include "analysis/frequency/sample_priors.h"
#include "image/isa/decode.h"
#include "store/base/bisect.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SIDES (1 + CS_EDGE_FLOW_REPLICATES)

/* Flows of all edges and blocks, the estimate first, then its replicates. */
struct laying {
    const struct cs_cfg *cfg;
    const struct cs_frequency_input *e;
    float (*edge)[SIDES], (*in)[SIDES], (*block)[SIDES];
    double *seen; /* by block: edges counted in or out */
    bool *ends_in_branch;
};

static float side(const struct cs_counted_edge *t, int k)
{
    return k == 0 ? (float)t->flow : t->replicate[k - 1];
}

static uint32_t edge_of(const struct cs_cfg *cfg, uint32_t block, const struct cs_counted_edge *t, bool own)
{
    const struct cs_basic_block *b = &cfg->blocks[block];
    uint32_t to = own ? cs_cfg_block(cfg, t->to) : CS_CFG_EXIT, out = CS_CFG_EXIT;
    if (to != CS_CFG_EXIT && cfg->blocks[to].start != t->to)
        to = CS_CFG_EXIT;
    for (uint32_t k = 0; k < b->n_out; k++) {
        const struct cs_cfg_edge *edge = &cfg->edges[b->first_out + k];
        if (edge->to == to && (to != CS_CFG_EXIT || edge->target == t->to))
            return b->first_out + k;
        if (edge->to == CS_CFG_EXIT)
            out = b->first_out + k;
    }
    return to == CS_CFG_EXIT ? out : CS_CFG_EXIT;
}

static void add_to(float (*sides)[SIDES], const struct cs_counted_edge *t)
{
    for (int k = 0; k < SIDES; k++)
        (*sides)[k] += side(t, k);
}

static uint32_t entry_edge(const struct cs_cfg *cfg, uint32_t block)
{
    const struct cs_basic_block *b = &cfg->blocks[block];
    for (uint32_t k = 0; k < b->n_in; k++)
        if (cfg->edges[cfg->in[b->first_in + k]].from == CS_CFG_ENTRY)
            return cfg->in[b->first_in + k];
    return CS_CFG_EXIT;
}

/* Out of this procedure's branches; calls of itself are entries. */
static void lay_own(struct laying *l)
{
    const struct cs_edge_flow *t = l->e->flow;
    for (uint32_t i = 0; i < l->cfg->n_blocks; i++) {
        const struct cs_basic_block *b = &l->cfg->blocks[i];
        for (size_t k = edge_flow_next_branch(t, l->e->image, b->start);
             k < t->n && t->list[k].image == l->e->image && t->list[k].from < b->end; k++) {
            const struct cs_counted_edge *one = &t->list[k];
            bool own = one->to_image == l->e->image;
            if (one->count <= 0 && one->flow <= 0)
                continue;
            if (one->from != b->last ||
                l->cfg->insns[b->first_insn + b->n_insns - 1].flow == CS_ISA_FLOW_CALL) {
                if (own && one->to == l->cfg->procedure->start) {
                    uint32_t entry = cs_cfg_block(l->cfg, one->to);
                    uint32_t edge = entry == CS_CFG_EXIT ? entry : entry_edge(l->cfg, entry);
                    if (edge != CS_CFG_EXIT)
                        add_to(&l->edge[edge], one);
                }
                continue;
            }
            uint32_t edge = edge_of(l->cfg, i, one, own);
            if (edge == CS_CFG_EXIT)
                continue;
            add_to(&l->edge[edge], one);
            l->seen[i] += one->count;
            l->ends_in_branch[i] = true;
        }
    }
}

/* Into its entries, from everywhere else. */
static void lay_entries(struct laying *l)
{
    const struct cs_edge_flow *t = l->e->flow;
    const struct cs_cfg *cfg = l->cfg;
    for (uint32_t block = 0; block < cfg->n_blocks; block++) {
        const struct cs_basic_block *b = &cfg->blocks[block];
        uint32_t edge = b->entry ? entry_edge(cfg, block) : CS_CFG_EXIT;
        if (edge == CS_CFG_EXIT)
            continue;
        for (size_t k = cs_edge_flow_to(t, l->e->image, b->start); k < t->n; k++) {
            const struct cs_counted_edge *one = &t->list[t->by_to[k]];
            if (one->count <= 0 && one->flow <= 0)
                continue;
            if (one->to_image != l->e->image || one->to != b->start)
                break;
            if (one->image == l->e->image && cs_cfg_block(cfg, one->from) != CS_CFG_EXIT)
                continue; /* own, laid before */
            add_to(&l->edge[edge], one);
            l->seen[block] += one->count;
        }
    }
}

static void balance(struct laying *l)
{
    const struct cs_cfg *cfg = l->cfg;
    for (uint32_t i = 0; i < cfg->n_blocks; i++) {
        const struct cs_basic_block *b = &cfg->blocks[i];
        float out[SIDES] = {0};
        for (uint32_t e = 0; e < b->n_in; e++)
            for (int k = 0; k < SIDES; k++)
                l->in[i][k] += l->edge[cfg->in[b->first_in + e]][k];
        for (uint32_t e = 0; e < b->n_out; e++)
            for (int k = 0; k < SIDES; k++)
                out[k] += l->edge[b->first_out + e][k];
        for (int k = 0; k < SIDES; k++)
            l->block[i][k] = l->ends_in_branch[i] ? (l->in[i][k] + out[k]) / 2 : l->in[i][k];
        if (!l->ends_in_branch[i] && b->n_out == 1)
            memcpy(l->edge[b->first_out], l->block[i], sizeof l->block[i]);
        if (!l->ends_in_branch[i] && b->n_out == 1 && cfg->edges[b->first_out].to < cfg->n_blocks)
            l->seen[cfg->edges[b->first_out].to] += l->seen[i];
    }
}

/* What a replicate is off by as a whole is no error within the procedure: the mean of its log ratios, weighted
 * by samples. */
static double centre(const struct laying *l, const struct cs_frequency *f, int k)
{
    double sum = 0, weight = 0;
    for (uint32_t i = 0; i < l->cfg->n_blocks; i++) {
        double w = f->samples[i] + 1e-6 * l->block[i][0];
        if (l->block[i][0] > 0 && l->block[i][k] > 0) {
            sum += w * log((double)l->block[i][k] / (double)l->block[i][0]);
            weight += w;
        }
    }
    return weight > 0 ? sum / weight : 0;
}

static double spread(const float *sides, const double *centres)
{
    double sum = 0;
    if (!(sides[0] > 0))
        return 3;
    for (int k = 1; k < SIDES; k++) {
        double d = sides[k] > 0 ? log((double)sides[k] / (double)sides[0]) - centres[k] : 3;
        sum += d * d;
    }
    return sqrt(sum / CS_EDGE_FLOW_REPLICATES);
}

enum cs_confidence cs_confidence_of(double error)
{
    return !(error <= CS_MODEL_MEDIUM_ERROR) ? CS_CONFIDENCE_LOW
           : error > CS_MODEL_HIGH_ERROR     ? CS_CONFIDENCE_MEDIUM
                                             : CS_CONFIDENCE_HIGH;
}

static uint8_t confidence(double error)
{
    return (uint8_t)cs_confidence_of(error);
}

static void judge(struct laying *l, struct cs_frequency *f)
{
    double centres[SIDES] = {0};
    for (int k = 1; k < SIDES; k++)
        centres[k] = centre(l, f, k);
    for (uint32_t i = 0; i < f->n_blocks; i++) {
        f->block[i] = l->block[i][0];
        f->block_error[i] = (float)spread(l->block[i], centres);
        f->block_confidence[i] = confidence((double)f->block_error[i]);
    }
    for (uint32_t e = 0; e < f->n_edges; e++) {
        f->edge[e] = l->edge[e][0];
        f->edge_error[e] = (float)spread(l->edge[e], centres);
        f->edge_confidence[e] = confidence((double)f->edge_error[e]);
    }
}

static int estimate_from_edges(const struct cs_cfg *cfg, const struct cs_frequency_input *e,
                               struct cs_frequency *f)
{
    struct laying l = {.cfg = cfg, .e = e};
    int rc = -ENOMEM;
    l.edge = calloc(cfg->n_edges + 1, sizeof *l.edge);
    l.in = calloc(cfg->n_blocks + 1, sizeof *l.in);
    l.block = calloc(cfg->n_blocks + 1, sizeof *l.block);
    l.seen = calloc(cfg->n_blocks + 1, sizeof *l.seen);
    l.ends_in_branch = calloc(cfg->n_blocks + 1, sizeof *l.ends_in_branch);
    if (l.edge && l.in && l.block && l.seen && l.ends_in_branch) {
        lay_own(&l);
        lay_entries(&l);
        balance(&l);
        judge(&l, f);
        for (uint32_t i = 0; i < cfg->n_blocks; i++)
            f->observed += l.ends_in_branch[i] ? l.seen[i] : 0;
        memcpy(f->seen, l.seen, cfg->n_blocks * sizeof *f->seen);
        rc = 0;
    }
    free(l.edge);
    free(l.in);
    free(l.block);
    free(l.seen);
    free(l.ends_in_branch);
    return rc;
}

double cs_frequency_samples(const struct cs_frequency_input *e, uint64_t start, uint64_t end)
{
    size_t low = cs_bisect(e->n_samples, i, e->sample_offset[i] < start);
    double sum = 0;
    for (; low < e->n_samples && e->sample_offset[low] < end; low++)
        sum += e->sample_count[low];
    return sum;
}

static void count_samples(const struct cs_cfg *cfg, const struct cs_frequency_input *e,
                          struct cs_frequency *f)
{
    for (uint32_t i = 0; i < cfg->n_blocks; i++)
        f->samples[i] = cs_frequency_samples(e, cfg->blocks[i].start, cfg->blocks[i].end);
}

/* Sampled, but never passed by a burst: few executions, or none of the bursts came by. */
static void fill_silent_blocks(const struct cs_cfg *cfg, struct cs_frequency *f)
{
    double work = 0, samples = 0;
    for (uint32_t i = 0; i < cfg->n_blocks; i++) {
        work += f->block[i] * cfg->blocks[i].n_insns;
        samples += f->samples[i];
    }
    for (uint32_t i = 0; i < cfg->n_blocks; i++)
        if (f->block[i] <= 0 && f->samples[i] > 0 && samples > 0)
            f->block[i] = f->samples[i] / samples * work / cfg->blocks[i].n_insns;
}

static bool all_finite(const double *frequency, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (!(frequency[i] >= 0) || isinf(frequency[i]))
            return false;
    return true;
}

int cs_frequency_estimate(const struct cs_cfg *cfg, const struct cs_frequency_input *e,
                          enum cs_frequency_method method, struct cs_frequency *f, struct cs_error *err)
{
    uint32_t n = cfg->n_blocks, m = cfg->n_edges;
    int rc = 0;
    *f = (struct cs_frequency){.n_blocks = n, .n_edges = m, .n_insns = cfg->n_insns};
    f->block = calloc(n + 1, sizeof *f->block);
    f->edge = calloc(m + 1, sizeof *f->edge);
    f->insn = calloc(cfg->n_insns + 1, sizeof *f->insn);
    f->block_error = calloc(n + 1, sizeof *f->block_error);
    f->edge_error = calloc(m + 1, sizeof *f->edge_error);
    f->block_confidence = calloc(n + 1, 1);
    f->edge_confidence = calloc(m + 1, 1);
    f->samples = calloc(n + 1, sizeof *f->samples);
    f->seen = calloc(n + 1, sizeof *f->seen);
    if (!f->block || !f->edge || !f->insn || !f->block_error || !f->edge_error || !f->block_confidence ||
        !f->edge_confidence || !f->samples || !f->seen)
        rc = -ENOMEM;
    if (rc == 0)
        count_samples(cfg, e, f);
    if (rc == 0 && method == CS_FREQUENCY_BURSTS && e->flow && e->image != UINT32_MAX)
        rc = estimate_from_edges(cfg, e, f);
    if (rc == 0 && method == CS_FREQUENCY_BURSTS && f->observed > 0)
        fill_silent_blocks(cfg, f);
    else if (rc == 0) {
        f->from_samples = true;
        rc = frequency_from_samples(cfg, e, method == CS_FREQUENCY_BURSTS ? CS_FREQUENCY_AVERAGE : method, f);
    }
    if (rc < 0) {
        cs_frequency_fini(f);
        return cs_fail(err, ENOMEM, "no memory for the frequencies of %s", cfg->procedure->name);
    }
    if (method != CS_FREQUENCY_NAIVE)
        for (uint32_t i = 0; i < n; i++)
            for (uint32_t k = 0; k < cfg->blocks[i].n_insns; k++)
                f->insn[cfg->blocks[i].first_insn + k] = f->block[i];
    assert(all_finite(f->block, f->n_blocks) && all_finite(f->edge, f->n_edges));
    return 0;
}

void cs_frequency_fini(struct cs_frequency *f)
{
    free(f->block);
    free(f->edge);
    free(f->insn);
    free(f->block_error);
    free(f->edge_error);
    free(f->block_confidence);
    free(f->edge_confidence);
    free(f->samples);
    free(f->seen);
    *f = (struct cs_frequency){0};
}

const char *cs_confidence_name(enum cs_confidence c)
{
    return c == CS_CONFIDENCE_HIGH ? "high" : c == CS_CONFIDENCE_MEDIUM ? "medium" : "low";
}

double cs_frequency_left(const struct cs_cfg *cfg, const struct cs_frequency *frequency, uint32_t block)
{
    const struct cs_basic_block *b = &cfg->blocks[block];
    double sum = 0;
    for (uint32_t k = b->first_out; k < b->first_out + b->n_out; k++)
        sum += frequency->edge[k];
    return sum > frequency->block[block] ? sum : frequency->block[block];
}
