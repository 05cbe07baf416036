/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A claim about calls, and its evidence. */
#include "cli/explain/explain.h"
#include "cli/profile/called/called_claim.h"
#include "store/base/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define CLAIM_FROM 0.1     /* of all samples, or the claim isn't worth its place */
#define EVIDENCE_FROM 0.02 /* the same for a row of the evidence */
#define ROWS_MAX 9
/* What goes with calls into the kernel, by their time: the function's own work around them, on cold caches. Four programs
 * without their calls saved 1.08 to 1.27 times the kernel's time. */
#define AROUND_CALLS 1.3

static void add_share(struct explanation *e, const char *what, const char *text, double samples, double total)
{
    const double share = fmin(samples / total, 1), off = 2 * sqrt(share * (1 - share) / total);
    explain_number(e, what, 100 * share, 100 * fmax(share - off, 0), 100 * fmin(share + off, 1),
                   "% of samples");
    if (text && e->n_evidence)
        snprintf(e->evidence[e->n_evidence - 1].text, sizeof e->evidence->text, "%s", text);
}

static void add_evidence(struct explanation *e, const struct called *c, const struct called_claim *claim)
{
    const uint32_t line = claim->line;
    const double all = claim->samples, in_system_calls = claim->in_system_calls, in_faults = claim->in_faults;
    struct called_sum sums[64];
    const size_t n = called_sums(c, line, true, sums, sizeof sums / sizeof *sums);
    char text[400];
    double samples = 0;
    const uint32_t caller = called_caller(c, line, all, &samples);
    add_share(e, "in these calls", NULL, all, c->total);
    explain_number(e, "samples in these calls", all, NAN, NAN, "");
    if (in_system_calls > 0)
        add_share(e, "of it in system calls", NULL, in_system_calls, c->total);
    if (in_faults > 0)
        add_share(e, "of it in page faults", NULL, in_faults, c->total);
    if (caller != UINT32_MAX) {
        const struct called_line *from = &c->lines[caller];
        if (from->line)
            snprintf(text, sizeof text, "%.200s:%u (%.120s)", cs_base_name(from->file), from->line,
                     from->function);
        else
            snprintf(text, sizeof text, "%.120s", from->function);
        add_share(e, "called from", text, samples, c->total);
    }
    for (size_t i = 0; i < n && i < ROWS_MAX; i++) {
        const struct called_line *at = &c->lines[sums[i].first->line];
        if (sums[i].samples < EVIDENCE_FROM * c->total)
            break;
        if (at->begins || !at->line) /* no line to name */
            snprintf(text, sizeof text, "%.120s in %.120s", called_name(c, sums[i].first), at->function);
        else
            snprintf(text, sizeof text, "%.120s at %.200s:%u", called_name(c, sums[i].first),
                     cs_base_name(at->file), at->line);
        add_share(e, "call", text, sums[i].samples, c->total);
    }
}

static void tell(struct explanation *e, const struct called *c, const struct called_claim *claim)
{
    const struct called_line *at = &c->lines[claim->line];
    e->about = EXPLAIN_CALL;
    snprintf(e->claim, sizeof e->claim, "%s", claim->text);
    snprintf(e->cause, sizeof e->cause, "%s", claim->cause);
    snprintf(e->words, sizeof e->words, "%s", claim->words);
    snprintf(e->function, sizeof e->function, "%s", at->function);
    snprintf(e->image, sizeof e->image, "%s", c->path);
    snprintf(e->file, sizeof e->file, "%s", at->file);
    e->line = at->line;
    e->advice = claim->advice;
    e->of_program.low = 0; /* what takes the calls' place costs time, too */
    const double share = fmin(claim->samples / c->total, 1);
    e->of_program.high = 100 * fmin(share + 2 * sqrt(share * (1 - share) / c->total), 1);
    add_evidence(e, c, claim);
}

bool explain_kernel(struct explanation *e, const struct parsed *args, const struct calc_subject *s)
{
    struct called c;
    struct called_claim claim;
    const bool found = called_kernel(&c, &s->profile, s->row->image->image.id, s->account->procedure, 1);
    if (found) {
        const struct cs_cycle_account_summary *own = &s->account->summary;
        called_claim(&c, NULL, &claim);
        tell(e, &c, &claim);
        /* the way into the kernel and back, which samples find at the instruction that goes there */
        e->of_program.high +=
            100 *
            (own->high[CS_CAUSE_SYSCALL] + own->statics[CS_CAUSE_SYSCALL] + own->high[CS_CAUSE_PAGE_FAULT]) /
            c.total;
        e->of_program.high = fmin(AROUND_CALLS * e->of_program.high, 100);
        explain_verify(e, args, s->profile.store, false);
    }
    called_close(&c);
    return found;
}

bool explain_call(struct explanation *e, const struct parsed *args, const struct calc_subject *s,
                  const struct profile_row *through)
{
    struct called c;
    struct called_claim claim;
    char brief[256];
    bool found = false;
    if (called_find(&c, &s->profile, through)) {
        called_claim(&c, through ? cs_image_short_name(through->name, brief, sizeof brief) : NULL, &claim);
        found = claim.samples >= PROFILE_SAMPLES_FEW &&
                (through || (claim.samples > c.own && claim.samples >= CLAIM_FROM * c.total));
        if (found) {
            tell(e, &c, &claim);
            explain_verify(e, args, s->profile.store, false);
        }
    }
    called_close(&c);
    return found;
}
