/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sampler/burst_pacing.h"

/* Of what bursts cost goes to paced ones. Half of those less cost frequencies five points (within 10 %,
 * twelve runs), half of the plain ones half a point. */
#define PART 0.75
#define SHARE_LEAST 0.1
/* Programs that touch new pages all the time (zstd) use up the time for which a paced burst may hold them
 * before there is anything to time, and its edges are cut off at a page: all of it for plain ones, but for a
 * few that look whether that is still so. */
#define IN_VAIN 0.1
#define SHARE_IN_VAIN 0.03
#define MEMORY 16 /* bursts */

double cs_pacing_share(const struct cs_pacing *pacing)
{
    if (pacing->n_paced >= MEMORY && pacing->timed < IN_VAIN)
        return SHARE_IN_VAIN;
    double plain = PART * pacing->plain_us, paced = (1 - PART) * pacing->paced_us;
    double share = plain > 0 && paced > 0 ? plain / (plain + paced) : 0.5;
    return share < SHARE_LEAST ? SHARE_LEAST : share;
}

void cs_pacing_learn(struct cs_pacing *pacing, bool paced, bool timed, double cost_us)
{
    double *cost = paced ? &pacing->paced_us : &pacing->plain_us;
    *cost += *cost > 0 ? (cost_us - *cost) / MEMORY : cost_us;
    if (!paced)
        return;
    if (pacing->n_paced < MEMORY)
        pacing->n_paced++;
    pacing->timed += ((timed ? 1 : 0) - pacing->timed) / pacing->n_paced;
}
