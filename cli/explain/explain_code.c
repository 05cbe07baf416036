/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The claim is calc's sentence with the function's share before it; bounds are those of calc's tables. */
#include "cli/explain/explain.h"
#include "cli/profile/called/chain_line.h"
#include "cli/profile/lines/annotate.h"
#include "cli/profile/lines/hottest_line.h"
#include "store/base/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define RULED_OUT_BELOW 0.02  /* of the function's time, at most: nothing to gain there */
#define ALTERNATIVE_FROM 0.05 /* a cause that may have as much is evidence that a reader should weigh */
#define ALTERNATIVES_MAX 4
#define SHARING_FROM 0.1      /* of the function's time, to be named beside a locked instruction */
#define CPI_OF_FULL_SPEED 0.4 /* of cores four to eight wide */

static double of_time(const struct cs_cycle_account_summary *s, double samples)
{
    double share = s->total > 0 ? samples / s->total : (double)NAN;
    return 100 * fmin(share, 1);
}

/* At most, of the function's time. Samples whose execution counts are unknown may all have this cause. */
static double most_of(const struct cs_cycle_account_summary *s, int cause)
{
    return s->high[cause] + s->statics[cause] + s->unattributed;
}

/* Whether some values of arithmetic are denormal is seen only by bursts that look for that. */
static bool may_have_denormals(const struct cs_cycle_account *a)
{
    for (uint32_t i = 0; i < a->cfg->n_insns && (!a->values.looked || a->values.denormal); i++)
        if (a->insns[i].op.flags & CS_ISA_OP_FLOAT && a->insns[i].visits > 0)
            return true;
    return false;
}

/* Static causes are the scheduling model's: the generic one's may be wrong by more than is asked for here. */
static void rule_out(struct explanation *e, const struct cs_cycle_account *a)
{
    const struct cs_cycle_account_summary *s = &a->summary;
    const double off = s->gain; /* shares may be wrong by as much */
    for (int c = 0; c < (a->generic_core ? CS_CAUSE_DIVIDER : CS_N_CAUSES); c++) {
        double most = most_of(s, c) + off;
        if (most < RULED_OUT_BELOW * s->total && (c != CS_CAUSE_DENORMAL || !may_have_denormals(a)))
            e->ruled_out[e->n_ruled_out++] = (struct explain_ruled_out){
                cs_culprit_cause_names[c].name, cs_culprit_cause_names[c].words, of_time(s, most)};
    }
}

/* Other causes that may have a part, by what they may have at most. */
static void add_alternatives(struct explanation *e, const struct cs_cycle_account_summary *s,
                             enum cs_culprit_cause named)
{
    bool shown[CS_N_CAUSES] = {false};
    for (unsigned n = 0; n < ALTERNATIVES_MAX; n++) {
        int most = -1;
        for (int c = 0; c < CS_N_CAUSES; c++)
            if (c != (int)named && !shown[c] && s->high[c] + s->statics[c] >= ALTERNATIVE_FROM * s->total &&
                (most < 0 || s->high[c] + s->statics[c] > s->high[most] + s->statics[most]))
                most = c;
        if (most < 0)
            return;
        shown[most] = true;
        explain_number(e, cs_culprit_cause_names[most].words, of_time(s, s->share[most] + s->statics[most]),
                       of_time(s, s->low[most] + s->statics[most]),
                       of_time(s, s->high[most] + s->statics[most]), "% of the function");
    }
}

/* Twice the standard error of a share of so many samples. */
static double uncertain(double share, double samples)
{
    return samples > 0 ? 2 * sqrt(fmax(share * (1 - share), 0) / samples) : 1;
}

static void add_counts(struct explanation *e, const struct calc_subject *s, const struct calc_answer *a,
                       double share)
{
    const double total = (double)s->rows.total[s->profile.main_event];
    const double off = uncertain(share, total);
    double best, actual = summary_cpi(&s->account->summary, &best);
    explain_number(e, "share of the recording", 100 * share, 100 * fmax(share - off, 0),
                   100 * fmin(share + off, 1), "% of samples");
    explain_number(e, "samples in the function", (double)s->account->samples, NAN, NAN, "");
    explain_number(e, "bursts that saw it run", floor(a->verdict.bursts), NAN, NAN, "");
    explain_number(e, "bursts needed for a cause", ceil(a->verdict.needed), NAN, NAN, "");
    if (isfinite(actual))
        explain_number(e, "cycles per instruction", actual, NAN, NAN, "");
    if (isfinite(actual) && isfinite(best))
        explain_number(e, "the same without dynamic stalls", best, NAN, NAN, "");
}

/* The cause's bounds, and beyond them the chance of sampling, of the cause in the function and of the function in all. */
static void find_gain(struct explanation *e, const struct calc_subject *s, const struct calc_answer *a,
                      double share)
{
    const double all = uncertain(share, (double)s->rows.total[s->profile.main_event]);
    const double samples = (double)s->account->samples, least = a->gain.least, most = a->gain.most;
    e->of_function =
        (struct explain_gain){100 * a->gain.likely, 100 * fmax(least - uncertain(least, samples), 0),
                              100 * fmin(most + uncertain(most, samples), 1)};
    const uint32_t at = cs_cfg_insn(s->account->cfg, a->worst.responsible);
    e->gain_elsewhere = a->worst.cause == CS_CAUSE_MISPREDICT && at < s->account->cfg->n_insns &&
                        s->account->insns[at].op.flags & CS_ISA_OP_INDIRECT &&
                        s->account->insns[at].op.flags & CS_ISA_OP_CALL;
    if (e->gain_elsewhere)
        e->of_function.likely = (double)NAN;
    e->of_program =
        (struct explain_gain){share * e->of_function.likely, fmax(share - all, 0) * e->of_function.low,
                              fmin(share + all, 1) * e->of_function.high};
}

/* A library of the system whose source isn't at hand: nothing for the reader to change. */
static bool is_fixed(const struct cs_store_image *image, const char *file)
{
    const char *path = image->path;
    return image->kind == CS_IMAGE_VDSO ||
           ((strncmp(path, "/usr/lib", 8) == 0 || strncmp(path, "/lib", 4) == 0) && strstr(path, ".so") &&
            access(file, R_OK) < 0);
}

/* A header of a library can't be changed: of what is inlined from one the claim says where, and the source is the line there. */
static void add_own_line(struct explanation *e, const struct calc_subject *s)
{
    struct cs_image_frame own;
    if (!chain_line_frame(s->code, e->address, &own) ||
        (own.line == e->line && strcmp(own.file, e->file) == 0))
        return;
    e->line = own.line;
    snprintf(e->file, sizeof e->file, "%s", own.file);
    snprintf(e->claim + strlen(e->claim), sizeof e->claim - strlen(e->claim), "; it is inlined at %.200s:%u",
             cs_base_name(own.file), own.line);
}

/* Nothing waits where nearly each cycle ends an instruction or more: the cause is the amount of work. */
static bool is_at_full_speed(const struct cs_cycle_account *account, const struct calc_answer *a)
{
    double best, actual = summary_cpi(&account->summary, &best);
    const bool scaled = !account->scale_fitted || account->scale_timed > 0;
    return scaled && a->worst.cause == CS_CAUSE_PORT && isfinite(actual) && actual <= CPI_OF_FULL_SPEED;
}

/* A locked instruction whose line other threads take costs both: no counter for each thread helps where there is one. */
static void add_sharing(struct explanation *e, const struct calc_subject *s, const struct worst_cause *worst)
{
    static const enum cs_culprit_cause shared[] = {CS_CAUSE_FALSE_SHARING, CS_CAUSE_TRUE_SHARING};
    const struct cs_cycle_account_summary *sums = &s->account->summary;
    for (size_t i = 0; worst->cause == CS_CAUSE_LOCK && i < sizeof shared / sizeof *shared; i++) {
        const struct worst_cause also = {.cause = shared[i], .reason = ""};
        if (sums->share[shared[i]] < SHARING_FROM * sums->total)
            continue;
        snprintf(e->claim + strlen(e->claim), sizeof e->claim - strlen(e->claim),
                 "; another %.1f %% waits for its cache line, because other threads write %s",
                 of_time(sums, sums->share[shared[i]]),
                 shared[i] == CS_CAUSE_FALSE_SHARING ? "other data on it (false sharing)" : "it, too");
        if (!cause_spins(worst, s->account))
            e->advice = cause_advice(&also, s->account);
        return;
    }
}

static void claim(struct explanation *e, const struct calc_subject *s, const struct calc_answer *a,
                  double share)
{
    const struct cs_cycle_account_summary *sums = &s->account->summary;
    const struct cs_culprit_cause_name *name = &cs_culprit_cause_names[a->worst.cause];
    struct cs_image_frame frame;
    e->about = EXPLAIN_CODE;
    snprintf(e->cause, sizeof e->cause, "%s", name->name);
    snprintf(e->words, sizeof e->words, "%s", name->words);
    e->advice = a->advice;
    e->address = a->worst.responsible;
    if (cs_image_line_at(s->code, e->address, &frame)) {
        snprintf(e->file, sizeof e->file, "%s", frame.file);
        e->line = frame.line;
    }
    if (is_fixed(&s->row->image->image, e->file))
        e->advice =
            "fewer calls of it, or a cheaper way to the same result: callers shows who calls it (its code "
            "can't be changed here)";
    snprintf(e->claim, sizeof e->claim, "%.200s has %.1f %% of the samples, and %s", e->function, 100 * share,
             a->sentence);
    add_sharing(e, s, &a->worst);
    if (cause_spins(&a->worst, s->account))
        snprintf(e->claim + strlen(e->claim), sizeof e->claim - strlen(e->claim),
                 "; most tries find the lock taken");
    add_own_line(e, s);
    if (is_at_full_speed(s->account, a))
        e->advice = "less work, by another algorithm or data structure, because the CPU runs this code at "
                    "nearly its full "
                    "speed; then vector instructions";
    explain_number(e, name->words, 100 * fmin(a->worst.share, 1), 100 * fmin(a->worst.low, 1),
                   100 * fmin(a->worst.high, 1), "% of the function");
    if (*a->worst.reason)
        explain_text(e, "seen", a->worst.reason);
    if (*a->removed)
        explain_text(e, "measured", a->removed);
    if (a->unseen)
        explain_text(e, "not seen", a->unseen);
    add_alternatives(e, sums, a->worst.cause);
    if (sums->unexplained > 0)
        explain_number(e, "unexplained stall", of_time(sums, sums->unexplained), NAN, NAN,
                       "% of the function");
    if (sums->unattributed > 0)
        explain_number(e, "execution count unknown", of_time(sums, sums->unattributed), NAN, NAN,
                       "% of the function");
    rule_out(e, s->account);
    find_gain(e, s, a, share);
}

/* Where no cause is named, the line that has most samples: where to look, not why. In inlined code it is the innermost
 * function's, because the call's line says nothing; a line of the function itself where no source is at hand. */
static void find_hottest(struct explanation *e, const struct calc_subject *s)
{
    struct hottest_line hottest;
    struct annotation annotation;
    struct cs_error ignored = {0};
    uint64_t most = 0;
    if (hottest_line_of(&s->profile, s->row, &hottest)) {
        e->line = hottest.line;
        snprintf(e->file, sizeof e->file, "%s", hottest.file);
        return;
    }
    if (annotate_procedure(&s->profile, s->row, s->code, NULL, &annotation, &ignored) < 0)
        return;
    const unsigned event = s->profile.main_event;
    for (size_t i = annotation.first; annotation.file && i <= annotation.last && i < annotation.n_line; i++)
        if (annotation.line[i].samples && annotation.line[i].samples[event] > most) {
            most = annotation.line[i].samples[event];
            e->line = (unsigned)i;
        }
    if (most)
        snprintf(e->file, sizeof e->file, "%s", annotation.file);
    annotation_fini(&annotation);
}

void explain_code(struct explanation *e, const struct parsed *args, const struct calc_subject *s)
{
    struct calc_answer a;
    const double total = (double)s->rows.total[s->profile.main_event],
                 share = total > 0 ? fmin((double)s->account->samples / total, 1) : 0;
    calc_answer(s, &a);
    if (a.kernel.first && explain_kernel(e, args, s))
        return;
    cs_image_short_name(s->account->procedure->name, e->function, sizeof e->function);
    snprintf(e->image, sizeof e->image, "%s", s->row->image->image.path);
    add_counts(e, s, &a, share);
    if (s->account->samples < PROFILE_SAMPLES_FEW)
        snprintf(
            e->missing, sizeof e->missing,
            "Not enough evidence: only %llu sample%s of %.200s. Run it longer, or record with a higher -F",
            (unsigned long long)s->account->samples, plural((double)s->account->samples), e->function);
    else if (explain_proven(e, s, share))
        ;
    else if (!a.verdict.enough)
        snprintf(e->missing, sizeof e->missing, "%s", a.sentence);
    else if (a.worst.cause == CS_N_CAUSES)
        snprintf(e->missing, sizeof e->missing, "No cause named: %s", a.sentence);
    else
        claim(e, s, &a, share);
    if (*e->claim)
        explain_verify(e, args, s->profile.store, false);
    else
        find_hottest(e, s);
}
