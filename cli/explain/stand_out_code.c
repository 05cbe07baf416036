/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A cause is named where its lower bound is enough time of the program. What the schedule alone says (chains, ports, fetch) is
 * what ordinary work costs, and isn't named. */
#include "analysis/culprit/verdict_model.h"
#include "cli/command/figures.h"
#include "cli/explain/stand_out.h"
#include "cli/output/output.h"
#include "cli/profile/called/chain_line.h"
#include "store/base/text.h"
#include "store/table/burst_schemas.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define FUNCTIONS_MAX 8
#define FUNCTION_FROM 0.04 /* of all samples */
#define CAUSE_FROM 0.03    /* of all samples, at least */
#define IMAGES_MAX 4

struct analysed { /* an image, with what its accounts need */
    const struct profile_image *image;
    struct cs_image_code *code;
    struct cs_culprit_evidence *evidence;
    struct cs_scheduler *scheduler;
};

static const enum cs_culprit_cause avoidable[] = {
    CS_CAUSE_DCACHE,        CS_CAUSE_DTLB,         CS_CAUSE_MISPREDICT, CS_CAUSE_STORE_BUFFER,
    CS_CAUSE_FORWARD,       CS_CAUSE_ALIAS,        CS_CAUSE_SPLIT,      CS_CAUSE_LOCK,
    CS_CAUSE_FALSE_SHARING, CS_CAUSE_TRUE_SHARING, CS_CAUSE_DENORMAL,   CS_CAUSE_DIVIDER,
};

/* Of the cause: the instruction that has most of it, and why. */
static const struct cs_culprit_suspect *worst_of(const struct cs_cycle_account *a,
                                                 enum cs_culprit_cause cause, uint64_t *address, double *part)
{
    const struct cs_culprit_suspect *worst = NULL;
    double most = 0, all = 0;
    *address = 0;
    for (uint32_t i = 0; i < a->cfg->n_insns; i++) {
        const struct cs_cycle_account_insn *insn = &a->insns[i];
        const double worth = insn->visits * a->scale;
        double here = cause == CS_CAUSE_DIVIDER ? insn->step.divider * worth : 0;
        const struct cs_culprit_suspect *suspect = NULL;
        if (insn->fused)
            continue;
        for (unsigned k = 0; k < insn->classification->n; k++)
            if (insn->classification->suspects[k].cause == cause) {
                suspect = &insn->classification->suspects[k];
                here += suspect->share * worth;
            }
        all += here;
        if (here > most) {
            most = here;
            worst = suspect;
            *address = suspect && suspect->responsible ? suspect->responsible : insn->op.offset;
        }
    }
    *part = all > 0 ? most / all : 0;
    return worst;
}

static double samples_of(const struct cs_cycle_account *a, enum cs_culprit_cause cause, bool least)
{
    const struct cs_cycle_account_summary *s = &a->summary;
    const double low = cause == CS_CAUSE_DCACHE ? fmax(s->low[cause], s->memory_low) : s->low[cause];
    const double share = cause == CS_CAUSE_DCACHE ? fmax(s->share[cause], s->memory_low) : s->share[cause];
    return (least ? low : share) + (cause == CS_CAUSE_DIVIDER ? s->statics[cause] : 0);
}

/* Of a cause's time, what a remedy mostly saves: it costs something itself. */
static double saved_of(enum cs_culprit_cause cause)
{
    return cause == CS_CAUSE_MISPREDICT                         ? 0.5
           : cause == CS_CAUSE_DCACHE || cause == CS_CAUSE_DTLB ? 0.7
                                                                : 0.9;
}

static void add_cause(struct stand_outs *all, const struct calc_subject *s, const struct analysed *of,
                      const struct cs_cycle_account *a, enum cs_culprit_cause cause)
{
    const double total = (double)s->rows.total[s->profile.main_event], least = samples_of(a, cause, true),
                 likely = fmax(samples_of(a, cause, false), least);
    struct stand_out row = stand_out_of(cs_culprit_cause_names[cause].name);
    struct worst_cause worst = {.cause = cause, .reason = ""};
    uint64_t address;
    double part;
    if (least < CAUSE_FROM * total)
        return;
    const struct cs_culprit_suspect *suspect = worst_of(a, cause, &address, &part);
    if (!address)
        return;
    stand_out_place(&row, of->code, address, a->procedure->name);
    row.percent = 100 * fmin(likely / total, 1);
    row.saves = 100 * fmin(least / total, 1) * saved_of(cause);
    snprintf(row.what, sizeof row.what, "%s, %.0f %% of %.80s's time%s%.110s",
             cs_culprit_cause_names[cause].words, 100 * fmin(likely / fmax(a->summary.total, 1), 1),
             row.function, suspect && *suspect->reason ? ": " : "", suspect ? suspect->reason : "");
    if (part < 0.7) {
        char text[64];
        snprintf(text, sizeof text, " (this line has %.0f %% of it)", 100 * part);
        strncat(row.what, text, sizeof row.what - strlen(row.what) - 1);
    }
    worst.responsible = worst.stalled = address;
    if (suspect) {
        worst.overlaps = suspect->overlaps;
        worst.streams = suspect->streams;
        worst.conflicts = suspect->conflicts;
        worst.reason = suspect->reason;
    }
    row.advice = cause_advice(&worst, a);
    stand_outs_add(all, &row);
}

/* That an execution touches, on average. */
static double bytes_of(const struct cs_culprit_evidence *evidence, uint64_t offset)
{
    for (size_t i = 0; evidence->memory && i < cs_table_rows(evidence->memory); i++) {
        const uint64_t *row = cs_table_row(evidence->memory, i);
        if (row[CS_MEMORY_OFFSET] == offset && row[CS_MEMORY_EXECUTIONS])
            return stand_out_written(row) / (double)row[CS_MEMORY_EXECUTIONS];
    }
    return (double)NAN;
}

/* String instructions that copy or fill, which compilers use for structs by value and for clearing. */
static void add_copies(struct stand_outs *all, const struct calc_subject *s, const struct analysed *of,
                       const struct cs_cycle_account *a)
{
    const double total = (double)s->rows.total[s->profile.main_event];
    for (uint32_t i = 0; i < a->cfg->n_insns; i++) {
        const struct cs_cycle_account_insn *insn = &a->insns[i];
        struct stand_out row = stand_out_of("copy");
        if (!(insn->op.flags & CS_ISA_OP_REPEAT) || insn->attributed < CAUSE_FROM * total)
            continue;
        stand_out_place(&row, of->code, insn->op.offset, a->procedure->name);
        row.percent = 100 * fmin(insn->attributed / total, 1);
        row.saves = 0.9 * row.percent;
        row.bytes = bytes_of(of->evidence, insn->op.offset);
        row.advice =
            "a pointer or a reference in place of a struct by value, or less memory to copy or to clear";
        snprintf(row.what, sizeof row.what, "one instruction that copies or fills a block of memory%s%s%s",
                 isfinite(row.bytes) ? ", " : "", isfinite(row.bytes) ? thousands(row.bytes).text : "",
                 isfinite(row.bytes) ? " bytes each time" : "");
        stand_outs_add(all, &row);
    }
}

static bool has_evidence(const struct cs_cycle_account *a)
{
    const struct cs_culprit_verdict v = cs_culprit_verdict(a);
    return a->frequencies && v.misfit <= MISFIT_MAX && v.bursts >= CS_MODEL_VERDICT_BURSTS_MIN && !v.denormal;
}

static struct analysed *of_image(struct analysed *images, size_t *n, const struct parsed *args,
                                 const struct calc_subject *s, const struct profile_image *image)
{
    struct cs_error ignored = {0};
    for (size_t i = 0; i < *n; i++)
        if (images[i].image == image)
            return images[i].scheduler ? &images[i] : NULL;
    if (*n == IMAGES_MAX)
        return NULL;
    struct analysed *of = &images[(*n)++];
    *of = (struct analysed){.image = image, .code = profile_code(&s->profile, image)};
    if (of->code && cs_image_isa(of->code) == cs_image_isa(s->code) &&
        cs_culprit_evidence_open(s->profile.store, s->flow, image->image.id,
                                 s->profile.events[s->profile.main_event].name, &of->evidence,
                                 &ignored) == 0) {
        of->evidence->values = s->evidence->values;
        (void)calc_scheduler(args, cs_image_isa(of->code), &of->evidence->machine, image->image.id,
                             &of->scheduler, &ignored);
    }
    return of->scheduler ? of : NULL;
}

static void add_function(struct stand_outs *all, const struct calc_subject *s, const struct analysed *of,
                         const struct cs_cycle_account *a)
{
    add_copies(all, s, of, a);
    if (!has_evidence(a))
        return;
    for (size_t i = 0; i < sizeof avoidable / sizeof *avoidable; i++)
        add_cause(all, s, of, a, avoidable[i]);
    stand_out_loops(all, s, of->code, of->evidence, a);
}

void stand_out_code(struct stand_outs *all, const struct parsed *args, const struct calc_subject *s)
{
    struct analysed images[IMAGES_MAX];
    size_t n_images = 0, n = 0;
    const size_t event = s->profile.main_event;
    for (size_t i = 0; s->account && i < s->rows.n && n < FUNCTIONS_MAX; i++) {
        const struct profile_row *row = &s->rows.row[i];
        struct cs_image_frame frame;
        struct cs_error ignored = {0};
        if ((double)row->samples[event] < FUNCTION_FROM * (double)s->rows.total[event] ||
            row->samples[event] < PROFILE_SAMPLES_FEW)
            break;
        all->n_hot++;
        if (!row->image || row->image->image.kind != CS_IMAGE_ELF || !row->readable || !row->name)
            continue;
        const struct analysed *of = of_image(images, &n_images, args, s, row->image);
        const struct cs_image_procedure *p = of ? cs_image_procedure_at(of->code, row->start) : NULL;
        struct cs_cycle_account *account = NULL;
        if (!p || !chain_line_frame(of->code, p->start, &frame))
            continue;
        n++;
        all->n_functions++;
        if (row == s->row)
            add_function(all, s, of, s->account);
        else if (cs_cycle_account_open(of->code, p, of->evidence, of->scheduler, NULL, &account, &ignored) ==
                 0)
            add_function(all, s, of, account);
        cs_cycle_account_close(account);
    }
    for (size_t i = 0; i < n_images; i++) {
        cs_scheduler_close(images[i].scheduler);
        cs_culprit_evidence_close(images[i].evidence);
        if (images[i].code)
            cs_image_close(images[i].code);
    }
}
