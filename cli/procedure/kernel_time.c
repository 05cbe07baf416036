/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Samples are counts, so two of them differ by chance as their sum's square root. */
#include "cli/procedure/kernel_time.h"
#include "analysis/culprit/account/account_model.h"
#include "analysis/culprit/verdict_model.h"
#include "cli/profile/called/called_claim.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

bool kernel_time_leads(double caused, double other)
{
    return caused - other > CS_MODEL_VERDICT_SD * sqrt(caused + other);
}

static bool is_kernel(const struct profile_row *row)
{
    return row->image &&
           (row->image->image.kind == CS_IMAGE_KERNEL || row->image->image.kind == CS_IMAGE_MODULE);
}

/* The kernel's function with most samples; NULL: none has a name. */
static const struct profile_row *hottest_of(const struct profile_rows *rows, size_t event, double *kernel)
{
    const struct profile_row *hottest = NULL;
    *kernel = 0;
    for (size_t i = 0; i < rows->n; i++) {
        const struct profile_row *row = &rows->row[i];
        if (!is_kernel(row))
            continue;
        *kernel += (double)row->samples[event];
        if (row->name && (!hottest || row->samples[event] > hottest->samples[event]))
            hottest = row;
    }
    return hottest;
}

static void tell_caused(const struct called *c, const struct called_claim *claim, struct kernel_time *out)
{
    const struct called_line *at = &c->lines[claim->line];
    out->cause = claim->cause;
    out->words = claim->words;
    out->advice = claim->advice;
    out->line = at->line;
    snprintf(out->file, sizeof out->file, "%s", at->file);
    snprintf(out->sentence, sizeof out->sentence, "%s. This function's own instructions have %.1f %%",
             claim->text, 100 * out->own);
}

void kernel_time_find(const struct profile *profile, const struct profile_rows *rows,
                      const struct profile_row *row, const struct cs_image_procedure *function,
                      double samples, double cause_share, struct kernel_time *out)
{
    assert(cause_share >= 0);
    struct called c;
    struct called_claim claim;
    double kernel;
    const size_t event = profile->main_event;
    const double total = (double)rows->total[event];
    const struct profile_row *hottest = hottest_of(rows, event, &kernel);
    *out = (struct kernel_time){0};
    if (!(total > 0))
        return;
    out->all = kernel / total;
    out->own = samples / total;
    const double least = fmax(1, CS_MODEL_VERDICT_LEAST / (1 - CS_MODEL_VERDICT_LEAST) * samples);
    if (kernel >= least && called_kernel(&c, profile, row->image->image.id, function, least)) {
        double caused = 0;
        for (uint32_t i = 0; i < c.n_calls; i++)
            caused += (double)c.calls[i].samples;
        out->caused = fmin(caused / c.total, 1);
        out->first = caused >= PROFILE_SAMPLES_FEW && kernel_time_leads(caused, cause_share * samples);
        called_claim(&c, NULL, &claim);
        if (caused >= least)
            tell_caused(&c, &claim, out);
    }
    if (kernel >= least)
        called_close(&c);
    if (!*out->sentence && hottest && out->all >= CS_MODEL_VERDICT_LEAST && kernel > samples)
        snprintf(out->sentence, sizeof out->sentence,
                 "The kernel has %.1f %% of all samples, most of them in %.120s (%.1f %%), and this function "
                 "%.1f %%",
                 100 * out->all, hottest->name, 100 * (double)hottest->samples[event] / total,
                 100 * out->own);
}

json_t *kernel_time_json(const struct kernel_time *k)
{
    return json_pack("{s:b, s:s?, s:f, s:f, s:s?, s:i, s:s?}", "first", k->first, "cause", k->cause, "share",
                     100 * k->caused, "own", 100 * k->own, "file", *k->file ? k->file : NULL, "line",
                     (int)k->line, "sentence", *k->sentence ? k->sentence : NULL);
}
