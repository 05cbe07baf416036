/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/gate/off_cpu.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#define MOST 0.5

/* What is taken off the elapsed time. The first two are all where the time without a CPU is exact. */
static const struct way {
    bool cpu, queued;
} ways[] = {{true, true}, {false, true}, {true, false}, {false, false}};
#define EXACT_WAYS 2
#define WAYS (sizeof ways / sizeof ways[0])

static bool is_known(const struct gate_timed *t, bool *exact)
{
    *exact = true;
    for (size_t i = 0; i < t->n; i++) {
        if (isnan(t->time[i].elapsed) || isnan(t->time[i].queued))
            return false;
        *exact &= t->time[i].exact;
    }
    return t->n > 0;
}

bool gate_off_cpu(const struct gate_timed *t, double whole_ns, double least, struct gate_off_cpu *out)
{
    bool exact;
    assert(least >= 0);
    *out = (struct gate_off_cpu){.known = false};
    if (!is_known(t, &exact) || !(whole_ns > 0))
        return true;
    struct gate_run *run = calloc(t->n, sizeof *run);
    if (!run)
        return false;
    out->known = out->grew = true;
    out->exact = exact;
    out->high = -INFINITY;
    for (size_t w = 0; out->known && w < (exact ? EXACT_WAYS : WAYS); w++) {
        struct gate_estimate e;
        for (size_t i = 0; i < t->n; i++) {
            run[i] = t->run[i];
            run[i].value = (t->time[i].elapsed - (ways[w].cpu ? t->run[i].value : 0) -
                            (ways[w].queued ? t->time[i].queued : 0)) /
                           whole_ns;
        }
        out->known = gate_estimate(run, t->n, GATE_DIFFERENCE, 0, &e);
        out->grew &= out->known && e.in_turn && e.change > least && e.chance < GATE_OFF_CPU_CHANCE;
        out->high = fmax(out->high, e.high);
        if (!w || e.change < out->estimate.change)
            out->estimate = e;
        if (w == (exact ? 0 : WAYS - 1)) {
            out->base_ns = whole_ns * gate_mean(run, t->n, 0);
            out->head_ns = whole_ns * gate_mean(run, t->n, 1);
        }
    }
    out->grew &= out->known;
    free(run);
    return true;
}

double gate_kernel_time_grew(const struct gate_timed *t, double change)
{
    struct gate_estimate e;
    const double cpu = gate_mean(t->run, t->n, 0);
    bool known = t->n > 0 && cpu > 0;
    struct gate_run *run = known ? calloc(t->n, sizeof *run) : NULL;
    for (size_t i = 0; run && i < t->n; i++) {
        run[i] = t->run[i];
        run[i].value = t->time[i].in_kernel / cpu; /* NAN: left out */
    }
    known = run && gate_estimate(run, t->n, GATE_DIFFERENCE, 0, &e) && e.in_turn;
    free(run);
    return known && e.chance < GATE_CHANCE && e.change >= MOST * change ? e.change : 0;
}
