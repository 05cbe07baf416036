/* SPDX-License-Identifier: GPL-2.0-or-later */
/* dcpi-1997 sections 6.1.3 and 6.1.4, and simpler rules to compare it with. DCPI: take the ratios S/M of a
 * class's issue points (M > 0), ascending. One that waits for an earlier instruction of its block takes the
 * sums of both from behind that one on. Average the first cluster (largest ratio at most 1.5 times the
 * smallest) that holds a quarter of them and implies no unreasonable stall. A class with few samples takes
 * sum(S) / sum(M). Then flow constraints, block by block, until nothing changes. */
#include "analysis/frequency/sample_priors.h"
#include "analysis/frequency/model.h"
#include "store/base/order.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

CS_ORDER(ascending, double, cs_order(*a, *b))

/* S/M of an issue point of a block. */
static double point_ratio(const struct cs_cfg *cfg, const struct cs_frequency_input *e, uint32_t block,
                          uint32_t i)
{
    double samples = 0, cycles = 0;
    uint32_t from = i, first = cfg->blocks[block].first_insn;
    if (e->waits_for && e->waits_for[i] >= (int32_t)first && e->waits_for[i] < (int32_t)i)
        from = (uint32_t)e->waits_for[i] + 1;
    for (uint32_t k = from; k <= i; k++) {
        samples += cs_frequency_samples(e, cfg->insns[k].offset, cfg->insns[k].offset + 1);
        cycles += e->m ? e->m[k] : 1;
    }
    return samples / cycles;
}

/* `most`: the largest S of the class. */
static double class_estimate(double *ratio, uint32_t n, double samples, double cycles, double most)
{
    if (samples < CS_MODEL_CLASS_SAMPLES_MIN || n < 2)
        return cycles > 0 ? samples / cycles : 0;
    cs_sort(ratio, n, ascending);
    for (uint32_t first = 0; first < n; first++) {
        uint32_t last = first;
        double sum = 0;
        if (ratio[first] <= 0)
            continue;
        while (last < n && ratio[last] <= CS_MODEL_CLUSTER * ratio[first])
            sum += ratio[last++];
        if (4 * (last - first) >= n && most <= CS_MODEL_STALL_CYCLES_MAX * sum / (last - first))
            return sum / (last - first);
    }
    return cycles > 0 ? samples / cycles : 0;
}

/* A block or edge that is the only unknown of its side of a block follows from the rest. */
static void propagate(const struct cs_cfg *cfg, const struct cs_equivalence_classes *classes, double *value)
{
    bool again = true;
    for (unsigned round = 0; again && round < 100; round++) {
        again = false;
        for (uint32_t i = 0; i < 2 * cfg->n_blocks; i++) {
            const struct cs_basic_block *b = &cfg->blocks[i / 2];
            bool ins = i & 1;
            uint32_t n = ins ? b->n_in : b->n_out, unknown = UINT32_MAX, n_unknown = 0;
            double *whole = &value[classes->of_block[i / 2]], sum = 0;
            for (uint32_t k = 0; k < n; k++) {
                uint32_t c = classes->of_edge[ins ? cfg->in[b->first_in + k] : b->first_out + k];
                if (value[c] < 0) {
                    unknown = c;
                    n_unknown++;
                } else
                    sum += value[c];
            }
            if (n && n_unknown == 0 && *whole < 0) {
                *whole = sum;
                again = true;
            } else if (n_unknown == 1 && *whole >= 0) {
                value[unknown] = *whole > sum ? *whole - sum : 0;
                again = true;
            }
        }
    }
}

static int estimate_dcpi(const struct cs_cfg *cfg, const struct cs_frequency_input *e, struct cs_frequency *f)
{
    struct cs_equivalence_classes classes;
    if (cs_cfg_classes(cfg, &classes) < 0)
        return -ENOMEM;
    uint32_t n = classes.n_classes;
    double *value = malloc((n + 1) * sizeof *value), *ratio = malloc((cfg->n_insns + 1) * sizeof *ratio);
    uint32_t *first = calloc(n + 2, sizeof *first), *member = calloc(cfg->n_blocks + 1, sizeof *member);
    int rc = value && ratio && first && member ? 0 : -ENOMEM;
    for (uint32_t i = 0; rc == 0 && i < cfg->n_blocks; i++)
        first[classes.of_block[i] + 1]++;
    for (uint32_t c = 0; rc == 0 && c < n; c++)
        first[c + 1] += first[c];
    for (uint32_t i = cfg->n_blocks; rc == 0 && i-- > 0;) /* fills each class's range from its end */
        member[--first[classes.of_block[i] + 1]] = i;
    for (uint32_t c = 0; rc == 0 && c < n; c++) {
        uint32_t points = 0, end = c + 2 <= n ? first[c + 2] : cfg->n_blocks;
        double samples = 0, cycles = 0, largest = 0;
        for (uint32_t k = first[c + 1]; k < end; k++) {
            const struct cs_basic_block *b = &cfg->blocks[member[k]];
            for (uint32_t i = b->first_insn; i < b->first_insn + b->n_insns; i++) {
                double s = cs_frequency_samples(e, cfg->insns[i].offset, cfg->insns[i].offset + 1),
                       m = e->m ? e->m[i] : 1;
                samples += s;
                cycles += m;
                largest = s > largest ? s : largest;
                if (m > 0)
                    ratio[points++] = point_ratio(cfg, e, member[k], i);
            }
        }
        value[c] = points ? class_estimate(ratio, points, samples, cycles, largest) : -1;
    }
    if (rc == 0)
        propagate(cfg, &classes, value);
    for (uint32_t i = 0; rc == 0 && i < cfg->n_blocks; i++)
        f->block[i] = value[classes.of_block[i]] > 0 ? value[classes.of_block[i]] : 0;
    for (uint32_t k = 0; rc == 0 && k < cfg->n_edges; k++)
        f->edge[k] = value[classes.of_edge[k]] > 0 ? value[classes.of_edge[k]] : 0;
    free(value);
    free(ratio);
    free(first);
    free(member);
    cs_cfg_classes_fini(&classes);
    return rc;
}

/* Edges of a block share it in proportion to their targets. */
static void share_out(const struct cs_cfg *cfg, struct cs_frequency *f)
{
    for (uint32_t i = 0; i < cfg->n_blocks; i++) {
        const struct cs_basic_block *b = &cfg->blocks[i];
        double sum = 0;
        for (uint32_t k = 0; k < b->n_out; k++) {
            uint32_t to = cfg->edges[b->first_out + k].to;
            f->edge[b->first_out + k] = to < cfg->n_blocks ? f->block[to] : 0;
            sum += f->edge[b->first_out + k];
        }
        for (uint32_t k = 0; k < b->n_out; k++)
            f->edge[b->first_out + k] =
                sum > 0 ? f->edge[b->first_out + k] / sum * f->block[i] : f->block[i] / b->n_out;
    }
}

int frequency_from_samples(const struct cs_cfg *cfg, const struct cs_frequency_input *e,
                           enum cs_frequency_method method, struct cs_frequency *f)
{
    assert(method != CS_FREQUENCY_BURSTS);
    double samples = 0;
    for (uint32_t i = 0; i < cfg->n_blocks; i++)
        samples += f->samples[i];
    if (method == CS_FREQUENCY_DCPI)
        return estimate_dcpi(cfg, e, f);
    for (uint32_t i = 0; i < cfg->n_blocks; i++)
        f->block[i] = method == CS_FREQUENCY_EQUAL ? samples / (cfg->n_insns ? cfg->n_insns : 1)
                                                   : f->samples[i] / cfg->blocks[i].n_insns;
    if (method == CS_FREQUENCY_NAIVE)
        for (uint32_t i = 0; i < cfg->n_insns; i++)
            f->insn[i] = cs_frequency_samples(e, cfg->insns[i].offset, cfg->insns[i].offset + 1);
    share_out(cfg, f);
    return 0;
}
