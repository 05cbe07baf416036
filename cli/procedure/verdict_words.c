/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a report says where the evidence carries no verdict: what is missing, and how to get it. */
#include "cli/command/figures.h"
#include "cli/procedure/calc.h"

#include <math.h>
#include <stdio.h>

#define BURST_RATE_MAX 300 /* what we advise at most: more stop a program for a third of its time */

static const char *words_of(enum cs_culprit_cause cause)
{
    return cause < CS_N_CAUSES ? cs_culprit_cause_names[cause].words : "unexplained stall";
}

struct cs_culprit_verdict procedure_verdict(const struct cs_cycle_account *account,
                                            struct cs_image_code *code)
{
    struct cs_culprit_verdict v = cs_culprit_verdict(account);
    v.enough |= cs_image_isa(code) != CS_ISA_X86_64;
    v.misfit = v.enough ? v.misfit : 0; /* where evidence is missing, that is what to say */
    v.enough &= v.misfit <= MISFIT_MAX;
    return v;
}

void verdict_sentence(const struct cs_culprit_verdict *v, double cpu_seconds, char *text, size_t size)
{
    char had[48];
    double missing = v->needed / fmax(v->bursts, 0.5);
    /* Bursts see this code now and then: so many of all as are needed, and as many times more. */
    double rate = v->needed / fmax(cpu_seconds, 0.1);
    /* A fifth more, as luck may have it; told in whole seconds, of which there must be more than now. */
    double seconds = fmax(ceil(cpu_seconds * missing * 1.2), ceil(cpu_seconds) + 1);
    if (v->misfit > MISFIT_MAX) {
        snprintf(
            text, size,
            "No cause is named: by %.0f %% of these samples code ran faster than the model says, so that "
            "how often it ran, or its static cycles, must be wrong",
            100 * v->misfit);
        return;
    }
    int n = snprintf(text, size, "Not enough evidence to name a cause: ");
    if (v->bursts < 0.5)
        n += snprintf(text + n, size - (size_t)n, "no burst saw this code run");
    else
        n += snprintf(text + n, size - (size_t)n,
                      "%.0f burst%s saw this code run, and to tell %s (%.0f %%) from %s (%.0f %%) takes %.0f",
                      floor(v->bursts), v->bursts < 2 ? "" : "s", words_of(v->first), 100 * v->first_share,
                      words_of(v->second), 100 * v->second_share, v->needed);
    rate = fmax(10, 10 * ceil(rate * fmax(missing / 10, 1.2)));
    if (v->bursts < 0.5 && cpu_seconds < 1) /* a thread must have run for a while before it is followed */
        snprintf(text + n, size - (size_t)n,
                 ". Record two seconds of its CPU time and more (it had %s), with --burst-rate %.0f",
                 figures(fmax(cpu_seconds, 0), 2, had),
                 fmin(fmax(10 * ceil(v->needed / 20), 30), BURST_RATE_MAX));
    else if (v->bursts < 0.5)
        snprintf(text + n, size - (size_t)n, ". Record with --burst-rate %.0f",
                 fmin(fmax(rate, 30), BURST_RATE_MAX));
    else
        snprintf(text + n, size - (size_t)n,
                 ". Record %.0f s of CPU time instead of %s, or with --burst-rate %.0f", seconds,
                 figures(cpu_seconds, 2, had), fmin(fmax(rate, 30), BURST_RATE_MAX));
}

json_t *verdict_json(const struct cs_culprit_verdict *v)
{
    return json_pack("{s:b, s:f, s:f}", "enough", v->enough, "bursts", v->bursts, "needed", v->needed);
}
