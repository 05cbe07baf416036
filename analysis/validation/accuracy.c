/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A point is one instruction or edge: its weight and estimate / truth. */
#include "analysis/validation/accuracy.h"
#include "image/isa/decode.h"
#include "store/base/array.h"
#include "store/base/order.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>

static int add(struct cs_accuracy_points *points, double weight, double estimate, double truth,
               uint8_t confidence, bool seen)
{
    if (!(weight > 0))
        return 0;
    if (cs_array_room(points->list, points->n, points->capacity) < 0)
        return -ENOMEM;
    double ratio = truth > 0 ? estimate / truth : estimate > 0 ? 1e30 : 0;
    points->list[points->n++] = (struct cs_accuracy_point){(float)weight, (float)ratio, confidence, seen};
    return 0;
}

double cs_accuracy_true_edge(const struct cs_cfg *cfg, uint32_t edge, const struct cs_truth *truth)
{
    assert(edge < cfg->n_edges);
    const struct cs_cfg_edge *it = &cfg->edges[edge];
    if (it->from >= cfg->n_blocks)
        return -1;
    const struct cs_basic_block *b = &cfg->blocks[it->from];
    uint32_t last = b->first_insn + b->n_insns - 1;
    double count = cs_truth_count(truth, b->last);
    switch (cfg->insns[last].flow) {
    case CS_ISA_FLOW_BRANCH: {
        double taken = cs_truth_taken(truth, b->last, cfg->insns[last].target);
        if (cfg->insns[last].target == b->end) /* both ways lead to the same place */
            return -1;
        return it->kind == CS_CFG_EDGE_FALL ? count - taken : taken;
    }
    case CS_ISA_FLOW_JUMP:
        if (!cfg->insns[last].indirect)
            return count;
        return it->to == CS_CFG_EXIT ? -1 : cs_truth_taken(truth, b->last, it->target);
    default:
        return count;
    }
}

int cs_accuracy_collect(const struct cs_cfg *cfg, const struct cs_frequency *f,
                        const struct cs_frequency_input *e, const struct cs_truth *truth,
                        struct cs_accuracy_points *insns, struct cs_accuracy_points *edges)
{
    for (uint32_t i = 0; i < cfg->n_blocks; i++) {
        const struct cs_basic_block *b = &cfg->blocks[i];
        for (uint32_t k = b->first_insn; k < b->first_insn + b->n_insns; k++) {
            double s = cs_frequency_samples(e, cfg->insns[k].offset, cfg->insns[k].offset + 1);
            if (s > 0 && add(insns, s, f->insn[k], cs_truth_count(truth, cfg->insns[k].offset),
                             f->block_confidence[i], f->seen[i] > 0) < 0)
                return -ENOMEM;
        }
    }
    for (uint32_t i = 0; i < cfg->n_edges; i++) {
        double true_count = cs_accuracy_true_edge(cfg, i, truth);
        if (true_count > 0 &&
            add(edges, true_count, f->edge[i], true_count, f->edge_confidence[i], f->edge[i] > 0) < 0)
            return -ENOMEM;
    }
    return 0;
}

CS_ORDER(by_ratio, struct cs_accuracy_point, cs_order(a->ratio, b->ratio))

double cs_accuracy_scale(const struct cs_accuracy_points *points)
{
    double weight = 0, half = 0;
    if (points->n == 0)
        return 0;
    cs_sort(points->list, points->n, by_ratio);
    for (size_t i = 0; i < points->n; i++)
        weight += (double)points->list[i].weight;
    for (size_t i = 0; i < points->n; i++) {
        half += (double)points->list[i].weight;
        if (half >= weight / 2)
            return (double)points->list[i].ratio;
    }
    return 0;
}

void cs_accuracy_add(struct cs_accuracy_errors *errors, const struct cs_accuracy_points *points, double scale)
{
    for (size_t i = 0; i < points->n; i++) {
        double weight = (double)points->list[i].weight;
        double error = scale > 0 ? (double)points->list[i].ratio / scale - 1 : -1;
        int bucket = (int)floor(error * 20) + CS_ACCURACY_BUCKETS / 2;
        bucket = error < -0.45 ? 0 : error >= 0.45 ? CS_ACCURACY_BUCKETS - 1 : bucket;
        double *confidence = errors->by_confidence[points->list[i].confidence];
        errors->weight += weight;
        errors->bucket[bucket] += weight;
        confidence[3] += weight;
        errors->unseen[3] += points->list[i].seen ? 0 : weight;
        for (int w = 0; w < 3; w++)
            if (fabs(error) <= 0.05 * (w + 1)) {
                errors->within[w] += weight;
                confidence[w] += weight;
                errors->unseen[w] += points->list[i].seen ? 0 : weight;
            }
    }
}

void cs_accuracy_points_fini(struct cs_accuracy_points *points)
{
    free(points->list);
    *points = (struct cs_accuracy_points){0};
}
