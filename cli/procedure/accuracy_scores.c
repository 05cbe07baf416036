/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/procedure/accuracy_scores.h"
#include "analysis/frequency/markov_chain.h"
#include "store/base/random.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static double draw_poisson(struct cs_random *state, double mean)
{
    if (mean > 100) /* normal is near enough */
        return fmax(0, floor(mean +
                             sqrt(mean) * sqrt(-2 * log(cs_random_unit(state))) *
                                 cos(6.283185307179586 * cs_random_unit(state)) +
                             0.5));
    double limit = exp(-mean), product = cs_random_unit(state), n = 0;
    for (; product > limit; n++)
        product *= cs_random_unit(state);
    return n;
}

/* As many passages of each block as were observed, their directions drawn from the truth, then the
 * procedure's own chain: what is left is noise. */
static int redraw(const struct cs_cfg *cfg, const struct cs_truth *truth, struct cs_frequency *f)
{
    uint32_t n = cfg->n_blocks, m = cfg->n_edges;
    uint32_t *from = malloc((m + n + 1) * sizeof *from), *to = malloc((m + n + 1) * sizeof *to);
    double *weight = calloc(m + n + 1, sizeof *weight), *visits = calloc(n + 1, sizeof *visits);
    struct cs_random state = {cfg->procedure->start + 1};
    int rc = from && to && weight && visits ? 0 : -ENOMEM;
    for (uint32_t e = 0; rc == 0 && e < m; e++) {
        const struct cs_cfg_edge *edge = &cfg->edges[e];
        from[e] = edge->from == CS_CFG_ENTRY ? 0 : edge->from + 1;
        to[e] = edge->to == CS_CFG_EXIT ? 0 : edge->to + 1;
        double block = edge->from < n ? cs_truth_count(truth, cfg->blocks[edge->from].start) : 0;
        double there = cs_accuracy_true_edge(cfg, e, truth);
        if (edge->from == CS_CFG_ENTRY)
            weight[e] = edge->to < n && cfg->blocks[edge->to].start == cfg->procedure->start ? 1 : 1e-9;
        else if (there < 0)
            weight[e] = cfg->blocks[edge->from].n_out == 1 ? 1 : 1e-9;
        else if (block > 0)
            weight[e] = draw_poisson(&state, f->block[edge->from] * there / block) + 1e-9;
    }
    struct cs_markov *chain = NULL;
    if (rc == 0 && (chain = cs_markov_open(n + 1, from, to, m)) == NULL)
        rc = -ENOMEM;
    if (rc == 0)
        rc = cs_markov_solve(chain, weight, visits);
    for (uint32_t i = 0; rc == 0 && i < n; i++) {
        const struct cs_basic_block *b = &cfg->blocks[i];
        double out = 0;
        f->block[i] = visits[i + 1];
        for (uint32_t k = 0; k < b->n_insns; k++)
            f->insn[b->first_insn + k] = f->block[i];
        for (uint32_t k = 0; k < b->n_out; k++)
            out += weight[b->first_out + k];
        for (uint32_t k = 0; k < b->n_out; k++)
            f->edge[b->first_out + k] = out > 0 ? f->block[i] * weight[b->first_out + k] / out : 0;
    }
    cs_markov_close(chain);
    free(from);
    free(to);
    free(weight);
    free(visits);
    return rc;
}

struct judged { /* a procedure's points, kept until the image's scale is known */
    struct cs_accuracy_points insns, edges;
};

static void judge_procedure(struct score *s, const struct cs_cfg *cfg, const struct cs_frequency *f,
                            struct judged *j, struct cs_procedure_accuracy *line)
{
    struct cs_accuracy_errors own = {0};
    double scale = cs_accuracy_scale(&j->insns);
    cs_accuracy_add(&own, &j->insns, scale);
    cs_accuracy_add(&s->insns, &j->insns, scale);
    cs_accuracy_add(&s->edges, &j->edges, scale);
    *line = (struct cs_procedure_accuracy){.name = strdup(cfg->procedure->name),
                                           .start = cfg->procedure->start,
                                           .samples = own.weight,
                                           .bad = own.weight - own.within[2],
                                           .low = own.by_confidence[CS_CONFIDENCE_LOW][3],
                                           .observed = f->observed,
                                           .missing = cfg->missing};
}

int accuracy_score(struct score *s, const struct accuracy_subject *subject,
                   const struct cs_frequency_input *evidence, struct cs_error *err)
{
    assert(subject->truth);
    const struct cs_truth *truth = subject->truth;
    struct judged *judged = calloc(subject->n + 1, sizeof *judged);
    s->procedures = calloc(subject->n + 1, sizeof *s->procedures);
    int rc = judged && s->procedures ? 0 : cs_fail(err, ENOMEM, "no memory for %zu functions", subject->n);
    for (size_t i = 0; rc == 0 && i < subject->n; i++) {
        const struct cs_cfg *cfg = subject->cfgs[i];
        struct cs_frequency f;
        struct cs_frequency_input e = *evidence;
        e.m = subject->cycles ? subject->cycles[i].m : NULL;
        e.waits_for = subject->cycles ? subject->cycles[i].waits_for : NULL;
        if ((rc = cs_frequency_estimate(cfg, &e, s->method, &f, err)) < 0)
            break;
        if (s->redraw && redraw(cfg, truth, &f) < 0)
            rc = cs_fail(err, ENOMEM, "no memory for %s", cfg->procedure->name);
        for (uint32_t k = 0; rc == 0 && k < cfg->n_insns; k++) {
            s->estimated += f.insn[k];
            s->true_work += cs_truth_count(truth, cfg->insns[k].offset);
        }
        if (rc == 0 && cs_accuracy_collect(cfg, &f, &e, truth, &judged[i].insns, &judged[i].edges) < 0)
            rc = cs_fail(err, ENOMEM, "no memory for %s", cfg->procedure->name);
        else if (rc == 0 && judged[i].insns.n)
            judge_procedure(s, cfg, &f, &judged[i], &s->procedures[s->n_procedures++]);
        cs_frequency_fini(&f);
    }
    for (size_t i = 0; judged && i < subject->n; i++) {
        if (rc == 0 && s->true_work > 0) {
            cs_accuracy_add(&s->program_insns, &judged[i].insns, s->estimated / s->true_work);
            cs_accuracy_add(&s->program_edges, &judged[i].edges, s->estimated / s->true_work);
        }
        cs_accuracy_points_fini(&judged[i].insns);
        cs_accuracy_points_fini(&judged[i].edges);
    }
    free(judged);
    return rc;
}

/* One replicate of one procedure against the estimate, where edges were seen. */
static int add_noise(const struct cs_cfg *cfg, const struct cs_frequency_input *e,
                     const struct cs_frequency_input *varied, struct cs_accuracy_errors *errors,
                     struct cs_error *err)
{
    struct cs_frequency f, other = {0};
    struct cs_accuracy_points points = {calloc(cfg->n_blocks + 1, sizeof *points.list), 0, cfg->n_blocks + 1};
    int rc = points.list ? 0 : cs_fail(err, ENOMEM, "no memory for %s", cfg->procedure->name);
    if (rc == 0)
        rc = cs_frequency_estimate(cfg, e, CS_FREQUENCY_BURSTS, &f, err);
    if (rc < 0) {
        cs_accuracy_points_fini(&points);
        return rc;
    }
    rc = cs_frequency_estimate(cfg, varied, CS_FREQUENCY_BURSTS, &other, err);
    for (uint32_t b = 0; rc == 0 && b < cfg->n_blocks; b++)
        if (f.samples[b] > 0 && f.seen[b] > 0 && f.block[b] > 0)
            points.list[points.n++] = (struct cs_accuracy_point){
                .weight = (float)f.samples[b], .ratio = (float)(other.block[b] / f.block[b])};
    if (rc == 0)
        cs_accuracy_add(errors, &points, cs_accuracy_scale(&points));
    cs_frequency_fini(&other);
    cs_frequency_fini(&f);
    cs_accuracy_points_fini(&points);
    return rc;
}

int accuracy_noise(const struct accuracy_subject *subject, const struct cs_frequency_input *evidence,
                   struct cs_edge_flow *varied, double over[3], struct cs_error *err)
{
    assert(varied);
    struct cs_accuracy_errors errors = {0};
    struct cs_frequency_input e = *evidence;
    int rc = 0;
    e.flow = varied;
    for (int k = 0; k < CS_EDGE_FLOW_REPLICATES && rc == 0; k++) {
        for (size_t i = 0; i < varied->n; i++)
            varied->list[i].flow = (double)varied->list[i].replicate[k];
        for (size_t i = 0; i < subject->n && rc == 0; i++)
            rc = add_noise(subject->cfgs[i], evidence, &e, &errors, err);
    }
    for (int w = 0; w < 3; w++)
        over[w] = (errors.weight - errors.within[w]) / CS_EDGE_FLOW_REPLICATES;
    return rc;
}

void accuracy_score_fini(struct score *s)
{
    for (size_t k = 0; k < s->n_procedures; k++)
        free(s->procedures[k].name);
    free(s->procedures);
    s->procedures = NULL;
    s->n_procedures = 0;
}

/* Procedures that ran, or that are large enough to have run without their first instruction. */
int accuracy_subject_open(struct accuracy_subject *subject, struct analysed_image *ev,
                          const struct cs_truth *truth, struct cs_error *err)
{
    size_t n = cs_image_procedures(ev->code);
    *subject = (struct accuracy_subject){.truth = truth, .cfgs = calloc(n + 1, sizeof(*subject->cfgs))};
    if (!subject->cfgs)
        return cs_fail(err, ENOMEM, "no memory for %zu functions", n);
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < n; i++) {
        const struct cs_image_procedure *p = cs_image_procedure_nth(ev->code, i);
        if (cs_truth_count(truth, p->start) <= 0 && p->n_parts == 1 && p->size < 16)
            continue;
        if ((rc = cs_cfg_build(ev->code, p, ev->found.edges, &subject->cfgs[subject->n], err)) == 0)
            subject->n++;
    }
    return rc;
}

static double samples_within(uint64_t start, uint64_t end, void *evidence)
{
    return cs_frequency_samples(evidence, start, end);
}

int accuracy_subject_schedule(struct accuracy_subject *subject, struct analysed_image *ev,
                              struct cs_scheduler *scheduler, struct cs_error *err)
{
    struct cs_schedule_block_cycles *cycles = calloc(subject->n + 1, sizeof *cycles);
    if (!cycles)
        return cs_fail(err, ENOMEM, "no memory for %zu functions", subject->n);
    int rc = cs_schedule_block_cycles(ev->code, subject->cfgs, subject->n, samples_within, &ev->found.input,
                                      scheduler, cycles, err);
    if (rc < 0)
        free(cycles);
    else
        subject->cycles = cycles;
    return rc;
}

void accuracy_subject_close(struct accuracy_subject *subject)
{
    for (size_t i = 0; i < subject->n; i++) {
        if (subject->cycles)
            cs_schedule_block_cycles_fini(&subject->cycles[i]);
        cs_cfg_close(subject->cfgs[i]);
    }
    free(subject->cycles);
    free(subject->cfgs);
    *subject = (struct accuracy_subject){0};
}
