/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a report says where the evidence is too weak for a verdict: what is missing, and how to get it. */
#include "analysis/culprit/verdict_model.h"
#include "cli/command/figures.h"
#include "cli/procedure/calc.h"

#include <math.h>
#include <stdio.h>

#define BURST_RATE_MAX 300 /* what we advise at most: more stop a program for a third of its time */

static const char *words_of(enum cs_culprit_cause cause)
{
    return cause < CS_N_CAUSES ? cs_culprit_cause_names[cause].words : "unexplained stall";
}

static bool is_sharing(enum cs_culprit_cause cause)
{
    return cause == CS_CAUSE_FALSE_SHARING || cause == CS_CAUSE_TRUE_SHARING;
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

/* ", or with --burst-rate 90", with `before` in front: a rate higher than the recording's. "": none helps. */
static void rate_words(double rate, const char *before, const struct cs_culprit_evidence *evidence,
                       double missing, char *text, size_t size)
{
    const double asked = evidence->burst_rate_hz;
    rate = fmax(10 * ceil(rate / 10), 30);
    if (rate <= asked)
        rate = 10 * ceil(asked * fmin(fmax(missing * 1.2, 2), 10) / 10);
    rate = fmin(rate, BURST_RATE_MAX);
    *text = '\0';
    if (rate > asked)
        snprintf(text, size, "%s--burst-rate %.0f", before, rate);
}

static void several_sentence(const struct cs_culprit_verdict *v, char *text, size_t size)
{
    int n = snprintf(text, size, "Several causes share this function's time, and none has half of it: ");
    for (unsigned i = 0; i < v->n_several && n < (int)size; i++)
        n += snprintf(text + n, size - (size_t)n, "%s%s (%.0f %%)",
                      !i                     ? ""
                      : i + 1 < v->n_several ? ", "
                                             : " and ",
                      words_of(v->several[i]), 100 * v->several_share[i]);
}

enum verdict_lack verdict_sentence(const struct cs_culprit_verdict *v,
                                   const struct cs_culprit_evidence *evidence, double samples, char *text,
                                   size_t size)
{
    char had[48], higher[64];
    const double hz = evidence->machine.core_hz;
    const double cpu_seconds = hz > 0 ? samples * evidence->cycles_a_sample / hz : 0;
    double missing = v->needed / fmax(v->bursts, 0.5);
    /* Bursts see this code now and then: so many of all as are needed, and as many times more. */
    double rate = v->needed / fmax(cpu_seconds, 0.1) * fmax(missing / 10, 1.2);
    /* A fifth more, as luck may have it; told in whole seconds, of which there must be more than now. */
    double seconds = fmax(ceil(cpu_seconds * missing * 1.2), ceil(cpu_seconds) + 1);
    if (v->misfit > MISFIT_MAX) {
        snprintf(text, size,
                 "No cause named: in %.0f %% of these samples the code ran faster than the scheduling model "
                 "allows. The estimated execution counts or the model are wrong here; record "
                 "longer, or with --burst-rate 30",
                 100 * v->misfit);
        return VERDICT_MISFIT;
    }
    if (v->obscure && v->bursts >= 2 && v->named_share < 0.005) {
        snprintf(text, size, "No cause named: %.0f %% of this function's time has no known cause",
                 100 * v->first_share);
        return VERDICT_NONE;
    }
    if (v->obscure && v->bursts >= 2) {
        snprintf(text, size,
                 "No cause named: %.0f %% of this function's time has no known cause. The largest known one, "
                 "%s, has %.0f %%",
                 100 * v->first_share, words_of(v->named), 100 * v->named_share);
        return VERDICT_NONE;
    }
    if (v->slight && v->bursts >= 2) {
        snprintf(text, size, "No cause named: each has less than %.0f %% of this function's time",
                 100 * CS_MODEL_VERDICT_LEAST);
        return VERDICT_NONE;
    }
    if (v->at_width && v->bursts >= 2) {
        snprintf(
            text, size,
            "No cause named: %sthis function executes at the full width of the core for %.0f %% of its time. "
            "%sThe model gives %.0f %% to %s, which is within its error",
            v->timed ? "" : "by the model ", 100 * v->work,
            v->timed ? "Only fewer instructions would save much. " : "", 100 * v->named_share,
            words_of(v->named));
        return VERDICT_NONE;
    }
    if (v->sketched && v->bursts >= v->needed) {
        snprintf(text, size,
                 "No cause named: %s has %.0f %% by the generic model of a core, which may be wrong by %.0f "
                 "points. Install llvm-mca (Debian's package llvm), which has models of real cores",
                 words_of(v->named), 100 * v->named_share, 100 * CS_MODEL_GENERIC_OFF);
        return VERDICT_NONE;
    }
    if (v->lifted && v->bursts >= 2) {
        snprintf(
            text, size,
            "No cause named: %s has %.0f %% by timed bursts, but without them not more than %s (%.0f %%)",
            words_of(v->first), 100 * v->first_share, words_of(v->second), 100 * v->second_share);
        return VERDICT_NONE;
    }
    if (v->stretched) {
        snprintf(
            text, size,
            "No cause named: %s has %.0f %% at most. By the executions that timed bursts say, %.0f %% of "
            "this function's time has no known cause",
            words_of(v->named), 100 * v->named_share, 100 * v->unknown_as_timed);
        return VERDICT_NONE;
    }
    if (v->contended && v->bursts >= v->needed) {
        snprintf(text, size,
                 "No cause named: another thread writes cache lines that this function uses, and calc can't "
                 "distinguish what that costs from %s (%.0f %%)",
                 words_of(is_sharing(v->named) ? v->rival : v->named),
                 100 * (is_sharing(v->named) ? v->rival_share : v->named_share));
        return VERDICT_NONE;
    }
    if (v->returns && v->bursts >= v->needed) {
        const bool named = v->named == CS_CAUSE_RETURN;
        snprintf(
            text, size,
            "No cause named: returns of a deep recursion are mispredicted here, and calc can't distinguish "
            "what that costs from %s (%.0f %%). A loop in place of the recursion shows it by its speed",
            words_of(named ? v->rival : v->named), 100 * (named ? v->rival_share : v->named_share));
        return VERDICT_NONE;
    }
    if (v->denormal && v->bursts >= v->needed) {
        snprintf(
            text, size,
            "No cause named: arithmetic met denormal numbers, which may cost what looks like %s (%.0f %%). "
            "Linked with -ffast-math, which sets them to zero, the program shows it by its speed",
            words_of(v->named), 100 * v->named_share);
        return VERDICT_NONE;
    }
    if (v->unconfirmed && v->bursts >= v->needed) {
        snprintf(text, size,
                 "No cause named: %.0f %% of this function's time could be %s, but no burst saw the accesses "
                 "that would show it",
                 100 * v->named_share, words_of(v->named));
        return VERDICT_NONE;
    }
    if (v->refuted && v->bursts >= v->needed) {
        snprintf(text, size,
                 "No cause named: the model gives %.0f %% to %s, but the same loop run by itself is as fast "
                 "without it",
                 100 * v->named_share, words_of(v->named));
        return VERDICT_NONE;
    }
    if (v->n_several) {
        several_sentence(v, text, size);
        return VERDICT_SEVERAL;
    }
    int n = snprintf(text, size, "Not enough evidence to name a cause: ");
    if (v->bursts < 0.5)
        n += snprintf(text + n, size - (size_t)n, "no burst saw this code run");
    else
        n += snprintf(text + n, size - (size_t)n,
                      "%.0f burst%s saw this code run, and %.0f are needed to distinguish %s (%.0f %%) from "
                      "%s (%.0f %%)",
                      floor(v->bursts), v->bursts < 2 ? "" : "s", v->needed, words_of(v->first),
                      100 * v->first_share, words_of(v->second), 100 * v->second_share);
    figures(fmax(cpu_seconds, 0), 2, had);
    if (v->bursts < 0.5 && cpu_seconds < 1) { /* a thread must have run for a while before it is followed */
        rate_words(v->needed / 2, ", with ", evidence, missing, higher, sizeof higher);
        snprintf(text + n, size - (size_t)n, ". Record two seconds or more of its CPU time (it had %s s)%s",
                 had, higher);
    } else if (v->bursts < 0.5) {
        rate_words(rate, "with ", evidence, missing, higher, sizeof higher);
        snprintf(text + n, size - (size_t)n, ". Record %s", *higher ? higher : "for longer");
    } else {
        rate_words(rate, ", or with ", evidence, missing, higher, sizeof higher);
        snprintf(text + n, size - (size_t)n, ". Record %.0f s of CPU time instead of %s s%s", seconds, had,
                 higher);
    }
    return VERDICT_THIN;
}

const char *verdict_unseen(const struct cs_culprit_verdict *v)
{
    return v->values_unknown
               ? "Denormal numbers would look the same, and this recording's bursts didn't look for them. If "
                 "the "
                 "program is faster when linked with -ffast-math, which sets them to zero, they are the cause"
               : NULL;
}

json_t *verdict_json(const struct cs_culprit_verdict *v)
{
    json_t *several = json_array();
    for (unsigned i = 0; i < v->n_several; i++)
        json_array_append_new(several, json_string(cs_culprit_cause_names[v->several[i]].name));
    return json_pack("{s:b, s:f, s:f, s:o, s:b}", "enough", v->enough, "bursts", v->bursts, "needed",
                     v->needed, "several", several, "denormal", v->denormal);
}
