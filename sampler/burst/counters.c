/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of counters are on disk: they don't change with the words of the code. */
#include "sampler/burst/counters.h"
#include "sampler/burst/runner_process.h"
#include "store/store.h"

#include <assert.h>
#include <stdio.h>

#define COUNTERS_MAX (6 + CS_BURST_CAUSE_N + CS_BURST_SKIP_N)

struct burst_counters {
    size_t n;
    char names[COUNTERS_MAX][64];
    struct cs_counter at[COUNTERS_MAX];
};

static void put_counter(struct burst_counters *counters, const char *name, const char *part, uint64_t n)
{
    if (n == 0)
        return;
    char *whole = counters->names[counters->n];
    snprintf(whole, sizeof counters->names[0], "%s%s%s", name, *part ? "." : "", part);
    counters->at[counters->n++] = (struct cs_counter){whole, n};
}

int cs_burst_counters_merge(const struct cs_burst_statistics *s, struct cs_burst_statistics *c,
                            struct cs_store *store, struct cs_error *err)
{
    assert(s->bursts >= c->bursts && s->instructions >= c->instructions /* sums only grow */);
    struct burst_counters fresh = {.n = 0};
    put_counter(&fresh, "bursts", "", s->bursts - c->bursts);
    put_counter(&fresh, "burst-instructions", "", s->instructions - c->instructions);
    put_counter(&fresh, "burst-values", "",
                s->bursts - c->bursts); /* that would have seen denormal numbers */
    put_counter(&fresh, "burst-denormal", "", s->denormal - c->denormal);
    put_counter(&fresh, "burst-held-ns", "", s->stopped_ns - c->stopped_ns);
    put_counter(&fresh, "burst-unplaced", "", s->unplaced - c->unplaced);
    for (unsigned i = 0; i < CS_BURST_CAUSE_N; i++)
        put_counter(&fresh, "burst-end", cs_burst_cause_name(i), s->end[i] - c->end[i]);
    for (unsigned i = 1; i < CS_BURST_SKIP_N; i++)
        put_counter(&fresh, "burst-skip", cs_burst_skip_name(i), s->skip[i] - c->skip[i]);
    int rc = fresh.n ? cs_store_count_all(store, fresh.at, fresh.n, err) : 0;
    if (rc == 0)
        *c = *s;
    return rc;
}
