/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Post-stratification (Holt and Smith 1979): bursts begin where samples fall, but samples are many more. So the
 * bursts of one piece of code have the weight of its share of samples (a burst's own trigger is a sample, too).
 * Without that the weight would be the number of bursts that by chance began there. Pieces follow each other by
 * address and are as long as it takes to have some bursts each. */
#include "analysis/frequency/edge_flow_internal.h"
#include "analysis/frequency/model.h"
#include "store/base/order.h"

#include <assert.h>
#include <stdlib.h>

struct item { /* a burst or a sample, at its place */
    uint64_t chunk;
    uint32_t image, burst; /* UINT32_MAX: samples */
    double samples;
};

CS_ORDER(by_address, struct item, cs_order(a->image, b->image), cs_order(a->chunk, b->chunk))

int strata_open(const struct burst_entry *const *entry, uint32_t n, const struct burst_edges *w,
                struct strata *strata)
{
    size_t n_items = 0;
    struct item *items = malloc((n + w->n_samples + 1) * sizeof *items);
    *strata = (struct strata){.of_burst = calloc(n + 1, sizeof *strata->of_burst),
                              .share = calloc(n + 2, sizeof *strata->share)};
    int rc = items && strata->of_burst && strata->share ? 0 : -1;
    for (uint32_t b = 0; rc == 0 && b < n; b++)
        if (entry[b] && entry[b]->image != UINT32_MAX)
            items[n_items++] = (struct item){entry[b]->start / CS_MODEL_STRATUM_BYTES, entry[b]->image, b, 0};
    for (size_t i = 0; rc == 0 && i < w->n_samples; i++)
        items[n_items++] = (struct item){w->samples[i].offset / CS_MODEL_STRATUM_BYTES, w->samples[i].image,
                                         UINT32_MAX, w->samples[i].count};
    if (rc == 0 && n_items)
        cs_sort(items, n_items, by_address);
    /* Stratum 0 is of bursts whose entry isn't known. */
    uint32_t stratum = 1, bursts = 0, all = 0;
    double samples = 0, total = 0;
    for (size_t i = 0; rc == 0 && i < n_items; i++) {
        bool ends = i + 1 == n_items || by_address(&items[i], &items[i + 1]) != 0;
        bool leaves = i + 1 == n_items || items[i].image != items[i + 1].image;
        samples += items[i].samples;
        if (items[i].burst != UINT32_MAX) {
            strata->of_burst[items[i].burst] = stratum;
            bursts++;
        }
        if (bursts && (i + 1 == n_items || (ends && bursts >= CS_MODEL_STRATUM_BURSTS) ||
                       (leaves && bursts >= CS_MODEL_STRATUM_BURSTS / 2))) {
            strata->share[stratum++] = samples + bursts;
            total += samples + bursts;
            all += bursts;
            bursts = 0;
            samples = 0;
        }
    }
    /* Shares in bursts, so that one stands for one where nothing is known. */
    for (uint32_t i = 1; rc == 0 && i < stratum; i++)
        strata->share[i] *= total > 0 ? all / total : 0;
    if (rc == 0)
        strata->share[0] = n - all;
    strata->n = rc == 0 && total > 0 ? stratum : 0;
    free(items);
    return rc;
}

void strata_weigh(const struct strata *strata, double *weight, uint32_t n, double *sums)
{
    assert(strata->n == 0 || (strata->of_burst && strata->share));
    for (uint32_t i = 0; i < strata->n; i++)
        sums[i] = 0;
    for (uint32_t b = 0; b < n && strata->n; b++)
        sums[strata->of_burst[b]] += weight[b];
    for (uint32_t b = 0; b < n && strata->n; b++)
        weight[b] *= strata->share[strata->of_burst[b]] / sums[strata->of_burst[b]];
}

void strata_fini(struct strata *strata)
{
    free(strata->of_burst);
    free(strata->share);
}
