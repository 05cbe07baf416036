/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tag has the share p of time. Let l be the period in units of the chain's own time, and h = exp(-l). A sample is
 * followed by one of the same tag with probability q = p + (1 - p) h. A program may change its tag in step with the
 * observer, which then never sees that. Short periods of random length show how often it changes. */
#include "observer/sample/mixed.h"

#include <assert.h>
#include <math.h>

#define LEAST_H 0.02 /* below it neighbours know nothing of each other: l is at least 4 */
#define USABLE 0.01  /* mixed so much, a rate is within its bound unless the rest's is five times as large */

#define PROBES_FEW 20
#define EDGES 0.35    /* of a rate's time: its events are divided between two tags */
#define NOTHING 0.002 /* of the run's rate: a tag without events isn't off by that */

/* Of the same-tag intervals' time, the part that isn't the tag's, by the share of the time that others have. */
static double foreign(double p, double l)
{
    const double h = exp(-l), r = 1 - p, q = p + r * h,
                 own = l > 0 ? p * p + 2 * p * r * (1 - h) / l + r * r * h : q;
    const double elsewhere = r > 0 ? (1 - own / q) / r : 0;
    return elsewhere < 0 ? 0 : elsewhere;
}

/* The l at which it is usable, by bisection. */
static double usable_at(double p, double from)
{
    double low = 0, high = from;
    for (int i = 0; i < 40; i++) {
        const double middle = (low + high) / 2;
        if (foreign(p, middle) > USABLE)
            high = middle;
        else
            low = middle;
    }
    return low;
}

/* Would another rate be shown than the tag's? With y of the time foreign it is (1 - y) of the tag's and y of the run's. */
static bool is_off(const struct cs_sink *s, const struct cs_tag_row *row, double y)
{
    for (unsigned c = 0; c < s->n_counters; c++) {
        const double shown = cs_tag_mean(row, c),
                     run = s->whole_run.kept_cycles
                               ? (double)s->whole_run.events[c] / (double)s->whole_run.kept_cycles
                               : 0,
                     own = (shown - y * run) / (1 - y);
        if (fabs(shown - own) > fmax(CS_RATES_MIXED * fabs(own), NOTHING * run))
            return true;
    }
    return false;
}

/* l of the mean period, by how many of the short ones end elsewhere. Their lengths are uniform up to twice the mean. */
static double by_probes(const struct cs_tag_row *row, double p, double period)
{
    const double n = (double)row->probes, same = 1 - (double)row->probe_changes / n,
                 longest = 2 * (double)row->probe_cycles / n;
    double low = 0, high = 50; /* l of the longest short one */
    for (int i = 0; i < 40; i++) {
        const double middle = (low + high) / 2;
        if (p + (1 - p) * (1 - exp(-middle)) / middle > same)
            low = middle;
        else
            high = middle;
    }
    return low * period / longest;
}

static double by_neighbours(const struct cs_tag_row *row, double p)
{
    const double q = 1 - (double)row->visits / (double)row->samples, h = (q - p) / (1 - p);
    return -log(h < LEAST_H ? LEAST_H : h > 1 ? 1 : h);
}

struct cs_rates_mixed cs_rates_mixed(const struct cs_sink *s, const struct cs_tag_row *row, uint64_t samples)
{
    assert(s->n_counters <= CS_COUNTERS_MAX);
    struct cs_rates_mixed m = {CS_RATES_OK, 1};
    if (s->n_counters == 0 || !s->rule.same_tag || row->samples == 0 || samples < row->samples)
        return m;
    if (row->kept < CS_RATES_FEW)
        m.usable = CS_RATES_TOO_FEW;
    const double p = (double)row->samples / (double)samples;
    if (p == 1 || row->visits < 2)
        return m;
    const uint64_t intervals = cs_dte_tally_intervals(&s->tally);
    const double period = intervals ? (double)cs_dte_tally_cycles(&s->tally) / (double)intervals : 0,
                 probed = row->probes >= PROBES_FEW ? by_probes(row, p, period) : 0,
                 l = fmax(probed, by_neighbours(row, p)), y = foreign(p, l),
                 edges = row->edge_cycles / ((double)row->kept_cycles + row->edge_cycles);
    if (exp(-l) <= LEAST_H || y > 0.5 || edges > EDGES || is_off(s, row, y))
        m = (struct cs_rates_mixed){CS_RATES_ARE_MIXED,
                                    fmin(usable_at(p, l) / l, edges > EDGES ? EDGES / 2 : 1)};
    return m;
}
