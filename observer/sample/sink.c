/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Memory of the aggregates: one mapping, so that it is touched and locked as a whole before the first sample.
 */
#include "observer/sample/sink.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

int cs_sink_open(unsigned n_tags, unsigned n_counters, const struct cs_ratio *ratios, unsigned n_ratios,
                 const struct cs_dte_rule *rule, struct cs_sink **out, struct cs_error *err)
{
    assert(n_tags <= CS_TAGS_MAX && n_counters <= CS_COUNTERS_MAX && (ratios || n_ratios == 0));
    size_t head = (sizeof(struct cs_sink) + 63) & ~(size_t)63, table = cs_tags_size(n_counters + n_ratios);
    size_t bytes = head + n_tags * table;
    char *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (at == MAP_FAILED)
        return cs_fail(err, ENOMEM, "no memory for the observer's aggregates (%zu bytes)", bytes);
    madvise(at, bytes, MADV_HUGEPAGE);
    mlock(at, bytes); /* where not permitted they are at least touched */
    struct cs_sink *s = (struct cs_sink *)at;
    s->rule = *rule;
    s->edge_longest = UINT64_MAX;
    s->n_tags = n_tags;
    s->n_counters = n_counters;
    s->n_ratios = n_ratios;
    if (n_ratios)
        memcpy(s->ratios, ratios, n_ratios * sizeof *ratios);
    s->bytes = bytes;
    for (unsigned t = 0; t < n_tags; t++) {
        s->tags[t] = (struct cs_tags *)(at + head + t * table);
        cs_tags_init(s->tags[t], n_counters, n_counters + n_ratios);
    }
    *out = s;
    return 0;
}

void cs_sink_total(struct cs_sink *s)
{
    for (unsigned t = 0; t < s->n_tags; t++)
        cs_tags_settle(s->tags[t]);
    s->whole_run = s->between;
    memcpy(s->rates, s->apart, sizeof s->rates);
    if (s->n_tags == 0 || s->n_counters == 0)
        return;
    static_assert(sizeof s->rates == sizeof s->apart, "one layout");
    struct cs_tag_row rows;
    cs_tags_total(s->tags[0], &rows, &s->rates[0][0]);
    s->whole_run.kept += rows.kept;
    s->whole_run.kept_cycles += rows.kept_cycles;
    for (unsigned c = 0; c < s->n_counters; c++) {
        s->whole_run.events[c] += rows.events[c];
    }
    for (unsigned i = 0; i < cs_sink_series(s); i++)
        s->whole_run.squares[i] += rows.squares[i];
}

void cs_sink_short_period(struct cs_sink *s, uint64_t starts, unsigned changed)
{
    for (unsigned t = 0; t < s->n_tags; t++) {
        s->current[t]->probes++;
        s->current[t]->probe_changes += changed >> t & 1;
        s->current[t]->probe_cycles += starts;
    }
}

void cs_sink_interval_ratios(struct cs_sink *s, const struct cs_sink_interval *i)
{
    for (unsigned r = 0; r < s->n_ratios; r++) {
        const unsigned series = s->n_counters + r;
        double of = (double)i->deltas[s->ratios[r].of], per = (double)i->deltas[s->ratios[r].per];
        if (!(per > 0))
            continue; /* it has no value there */
        double square = of * of / per;
        size_t bin = series * (size_t)CS_DTE_RATE_BINS + cs_dte_rate_bin(of / per);
        i->into->squares[series] += square;
        i->bins[bin]++;
        for (unsigned t = 1; t < s->n_tags; t++) {
            if (i->changed[t] && s->rule.same_tag)
                continue;
            s->current[t]->squares[series] += square;
            if (s->current[t]->bins)
                s->current[t]->bins[bin]++;
        }
    }
}

void cs_sink_close(struct cs_sink *sink)
{
    if (sink)
        munmap(sink, sink->bytes);
}
