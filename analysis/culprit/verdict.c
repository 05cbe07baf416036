/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A burst's thousand turns of a loop are of one moment, so each burst is one draw of the time's causes. Of n
 * draws with shares p and q of two causes, p - q has the variance (p + q - (p - q)²) / n. The first is first with
 * some confidence where p - q is at least a number of standard deviations: that gives n. Five are the least: where all
 * of five have the same cause, one with less than half of the time is ruled out (1/32).
 *
 * Bursts are those that saw the instructions on which the first cause lies. Their number is a harmonic mean,
 * weighted by the time there, so that time without bursts counts most. A cause that counted events
 * speak for needs no bursts. */
#include "analysis/culprit/verdict.h"
#include "analysis/culprit/account/account_model.h"
#include "analysis/culprit/classify/model.h"
#include "analysis/culprit/removed.h"
#include "analysis/culprit/verdict_model.h"

#include <assert.h>
#include <math.h>

double cs_culprit_bursts_needed(double p, double q)
{
    double d = p - q, sd = CS_MODEL_VERDICT_SD;
    double n = d > 0 ? sd * sd * (p + q - d * d) / (d * d) : (double)INFINITY;
    return fmin(fmax(ceil(n), CS_MODEL_VERDICT_BURSTS_MIN), CS_MODEL_VERDICT_BURSTS_MAX);
}

static void find_first(const struct cs_cycle_account_summary *s, struct cs_culprit_verdict *v)
{
    v->first = v->second = CS_N_CAUSES;
    v->first_share = v->second_share = 0;
    for (int c = 0; c <= CS_N_CAUSES; c++) {
        double share = c < CS_N_CAUSES ? s->share[c] + s->statics[c] : s->unexplained;
        share /= s->total;
        if (share > v->first_share) {
            v->second = v->first;
            v->second_share = v->first_share;
            v->first = (enum cs_culprit_cause)c;
            v->first_share = share;
        } else if (share > v->second_share) {
            v->second = (enum cs_culprit_cause)c;
            v->second_share = share;
        }
    }
}

/* What the named cause must be more than: where nothing explains most, that is the second, and its rival the third. */
static void find_rival(const struct cs_cycle_account_summary *s, struct cs_culprit_verdict *v)
{
    v->rival = v->first == v->named ? v->second : CS_N_CAUSES;
    v->rival_share = v->first == v->named ? v->second_share : 0;
    for (int c = 0; c < CS_N_CAUSES && v->first != v->named; c++) {
        const double share = (s->share[c] + s->statics[c]) / s->total;
        if (c != (int)v->named && share > v->rival_share) {
            v->rival = (enum cs_culprit_cause)c;
            v->rival_share = share;
        }
    }
}

/* Most of that cause is what the schedule says, not what was seen. */
static bool is_static(const struct cs_cycle_account_summary *s, enum cs_culprit_cause c)
{
    return c < CS_N_CAUSES && s->statics[c] > s->share[c];
}

/* A cause's share that is evidence for it. What the schedule says of it grows with the scale: where timed bursts lift
 * that above the fit, either there are so many executions or the schedule is wrong. */
static double evident(const struct cs_cycle_account *a, enum cs_culprit_cause c, double share)
{
    const bool lifted = c < CS_N_CAUSES && a->scale_fitted && a->scale_model > 0 && a->scale > a->scale_model;
    return lifted ? share - a->summary.statics[c] / a->summary.total * (1 - a->scale_model / a->scale)
                  : share;
}

/* Samples' worth of a cause at one instruction, and how many of them counted events speak for. */
static double part_of(const struct cs_cycle_account *a, const struct cs_cycle_account_insn *insn,
                      enum cs_culprit_cause cause, double *by_events)
{
    double cycles = cause == CS_CAUSE_DIVIDER      ? insn->step.divider
                    : cause == CS_CAUSE_DEPENDENCY ? insn->step.dependency
                    : cause == CS_CAUSE_PORT       ? insn->step.port
                    : cause == CS_CAUSE_FRONT      ? insn->step.front
                    : cause == CS_N_CAUSES         ? insn->classification->unexplained
                                                   : 0;
    double counted = 0;
    for (unsigned k = 0; k < insn->classification->n; k++)
        if (insn->classification->suspects[k].cause == cause) {
            cycles += insn->classification->suspects[k].share;
            counted +=
                insn->classification->suspects[k].counted ? insn->classification->suspects[k].share : 0;
        }
    double worth = a->cycles_a_sample > 0 ? insn->visits * a->scale / a->cycles_a_sample : 0;
    *by_events += insn->fused || !(worth > 0) ? 0 : counted * worth;
    return insn->fused || !(worth > 0) ? 0 : cycles * worth;
}

/* A miss that nothing rules out, and nothing shows either, takes what is left over. A prefetch is seen by its text. */
static bool is_unconfirmed(const struct cs_cycle_account *a, enum cs_culprit_cause named)
{
    const bool by_accesses =
        named == CS_CAUSE_DCACHE || named == CS_CAUSE_DTLB || named == CS_CAUSE_STORE_BUFFER;
    double unseen = 0, all = 0;
    for (uint32_t i = 0; i < a->cfg->n_insns && by_accesses; i++) {
        const struct cs_cycle_account_insn *insn = &a->insns[i];
        all += part_of(a, insn, named, &(double){0});
        for (unsigned k = 0; k < insn->classification->n && !(insn->op.flags & CS_ISA_OP_PREFETCH); k++) {
            const struct cs_culprit_suspect *s = &insn->classification->suspects[k];
            if (s->cause == named && !s->observed && !s->counted && !insn->fused && a->cycles_a_sample > 0)
                unseen += s->share * insn->visits * a->scale / a->cycles_a_sample;
        }
    }
    return unseen > 0.5 * all;
}

/* Draws of which a share p has the first cause leave no doubt that it hasn't half of the time. */
static double bursts_below_half(double p)
{
    double sd = CS_MODEL_VERDICT_SD, d = 0.5 - p;
    return d > 0 ? sd * sd * p * (1 - p) / (d * d) : (double)INFINITY;
}

/* Of the scheduling model alone, which can't tell these apart. */
static bool is_modelled(enum cs_culprit_cause c)
{
    return c == CS_CAUSE_DEPENDENCY || c == CS_CAUSE_PORT || c == CS_CAUSE_FRONT;
}

/* Causes of similar size are an answer of their own. Each is large beside what nothing explains, and all together have most
 * of the time. */
static void find_several(const struct cs_cycle_account_summary *s, struct cs_culprit_verdict *v)
{
    const double least = fmax(CS_MODEL_SEVERAL_LEAST, s->unexplained / s->total);
    double sum = 0;
    unsigned n = 0;
    for (int c = 0; c < CS_N_CAUSES; c++) {
        double share = (s->share[c] + s->statics[c]) / s->total;
        unsigned k = n;
        if (share < least)
            continue;
        sum += share;
        n += n < CS_VERDICT_SEVERAL_MAX;
        for (; k > 0 && v->several_share[k - 1] < share; k--)
            if (k < CS_VERDICT_SEVERAL_MAX) {
                v->several[k] = v->several[k - 1];
                v->several_share[k] = v->several_share[k - 1];
            }
        if (k < CS_VERDICT_SEVERAL_MAX) {
            v->several[k] = (enum cs_culprit_cause)c;
            v->several_share[k] = share;
        }
    }
    bool sure = n >= 2 && !(is_modelled(v->several[0]) && is_modelled(v->several[1])) && sum > 0.5 &&
                v->first_share + v->misfit < 0.5 && v->bursts >= bursts_below_half(v->first_share);
    v->n_several = sure && !v->obscure && !v->slight && !v->sketched && !v->lifted && !v->contended &&
                           !v->returns && !v->denormal && !v->unconfirmed && !v->refuted
                       ? n
                       : 0;
}

#define FLOAT_SAMPLES 0.5 /* of all, at floating-point arithmetic and at what comes next */

static bool is_float_bound(const struct cs_cycle_account *a, enum cs_culprit_cause named)
{
    double at_floats = 0, all = 0;
    if (!a->scale_fitted || (named != CS_CAUSE_PORT && named != CS_CAUSE_DEPENDENCY))
        return false;
    for (uint32_t i = 0; i < a->cfg->n_insns; i++) {
        const struct cs_cycle_account_insn *insn = &a->insns[i];
        all += insn->attributed;
        if (insn->op.flags & CS_ISA_OP_FLOAT || (i && insn[-1].op.flags & CS_ISA_OP_FLOAT))
            at_floats += insn->attributed;
    }
    return all > 0 && at_floats >= FLOAT_SAMPLES * all;
}

static struct cs_culprit_verdict verdict_of(const struct cs_cycle_account *a)
{
    struct cs_culprit_verdict v = {
        .first = CS_N_CAUSES, .second = CS_N_CAUSES, .needed = CS_MODEL_VERDICT_BURSTS_MIN};
    if (!(a->summary.total > 0))
        return v;
    find_first(&a->summary, &v);
    assert(v.first_share >= v.second_share);
    v.misfit = a->summary.gain / a->summary.total;
    v.work = a->summary.execution / a->summary.total;
    v.timed = !a->scale_fitted || a->scale_timed > 0;
    double time = 0, inverse = 0, by_events = 0;
    for (uint32_t i = 0; i < a->cfg->n_insns; i++) {
        double part = part_of(a, &a->insns[i], v.first, &by_events),
               bursts = a->blocks[a->insns[i].block].bursts;
        time += part;
        inverse += part / (bursts > 0.1 ? bursts : 0.1);
    }
    v.bursts = a->frequencies && inverse > 0 ? time / inverse : 0;
    const double evidence = evident(a, v.first, v.first_share);
    v.needed = cs_culprit_bursts_needed(evidence, v.second_share);
    bool named_first = v.first != CS_N_CAUSES;
    v.named = named_first ? v.first : v.second;
    v.named_share = named_first ? v.first_share : v.second_share;
    find_rival(&a->summary, &v);
    v.obscure = !named_first && ((is_modelled(v.named) && is_static(&a->summary, v.named)) ||
                                 v.first_share > 2 * v.named_share);
    v.slight = v.named_share < CS_MODEL_VERDICT_LEAST;
    v.sketched = a->generic_core && is_static(&a->summary, v.named) && v.named_share < CS_MODEL_GENERIC_OFF;
    v.lifted = evidence < v.first_share && evidence <= v.second_share;
    v.counted = by_events > time / 2;
    v.at_width = is_modelled(v.named) && is_static(&a->summary, v.named) && v.work >= 0.5 &&
                 v.named_share < CS_MODEL_SCHEDULE_OFF_MAX;
    const double taken = a->summary.high[CS_CAUSE_FALSE_SHARING] + a->summary.high[CS_CAUSE_TRUE_SHARING];
    v.contended = is_static(&a->summary, v.named) && a->scale_fitted && taken > 0 &&
                  (!(a->scale_timed > 0) || taken >= v.named_share * a->summary.total);
    /* A load that waits for its line and one that waits for its own store look the same. */
    v.contended |=
        v.named == CS_CAUSE_DEPENDENCY && (a->summary.contended >= 0.5 * v.named_share * a->summary.total ||
                                           (a->scale_fitted && taken >= v.named_share * a->summary.total));
    /* Nothing timed the code: its executions were fitted to what such a line costs on the average. At its least it must be the
     * first cause as well. */
    v.contended |=
        (v.named == CS_CAUSE_FALSE_SHARING || v.named == CS_CAUSE_TRUE_SHARING) && a->scale_fitted &&
        !(a->scale_timed > 0) &&
        v.named_share * a->summary.total - a->summary.sharing_in_doubt <= v.rival_share * a->summary.total;
    /* What a locked instruction costs has no bound but that of its line, and padding isn't the advice for a lock. */
    v.contended |= v.named == CS_CAUSE_LOCK &&
                   a->summary.high[CS_CAUSE_FALSE_SHARING] >= v.named_share * a->summary.total;
    v.returns =
        (is_modelled(v.named) && is_static(&a->summary, v.named) &&
         a->summary.high[CS_CAUSE_RETURN] >= CS_MODEL_RETURNS_DOUBT * v.named_share * a->summary.total) ||
        (v.named == CS_CAUSE_RETURN && a->summary.low[CS_CAUSE_RETURN] <= v.rival_share * a->summary.total);
    const bool floats = is_float_bound(a, v.named);
    v.values_unknown = floats && a->values.looked == 0;
    v.denormal = floats && cs_culprit_met_denormals(&a->values, v.bursts);
    v.unconfirmed = is_unconfirmed(a, v.named);
    v.refuted = cs_culprit_refuted(a, v.named);
    v.enough = (v.bursts >= v.needed || v.counted) && !v.obscure && !v.slight && !v.at_width && !v.sketched &&
               !v.lifted && !v.contended && !v.returns && !v.denormal && !v.unconfirmed && !v.refuted;
    if (!v.enough)
        find_several(&a->summary, &v);
    assert(v.n_several <= CS_VERDICT_SEVERAL_MAX);
    return v;
}

/* Samples that no cause can have if the code ran no more often than timed bursts say: beyond M and the most of each cause. */
static double unknown_as_timed(const struct cs_cycle_account *a)
{
    double sum = 0;
    for (uint32_t i = 0; i < a->cfg->n_insns && a->cycles_a_sample > 0; i++) {
        const struct cs_cycle_account_insn *insn = &a->insns[i];
        double left = insn->cycles * a->scale / a->scale_sure - insn->step.m;
        if (insn->fused || !insn->classification || !(insn->visits > 0))
            continue;
        for (unsigned k = 0; k < insn->classification->n; k++)
            left -= insn->classification->suspects[k].high;
        sum += fmax(0, left) * insn->visits * a->scale_sure / a->cycles_a_sample;
    }
    return fmin(fmax(sum, a->summary.unexplained), a->summary.total);
}

/* The same time by no more executions than timed bursts say: known causes share what is left to them. */
static struct cs_cycle_account as_timed(const struct cs_cycle_account *a)
{
    struct cs_cycle_account timed = *a;
    struct cs_cycle_account_summary *s = &timed.summary;
    s->unexplained = unknown_as_timed(a);
    const double known = s->total - a->summary.unexplained,
                 less = known > 0 ? (s->total - s->unexplained) / known : 1;
    for (int c = 0; c < CS_N_CAUSES; c++) {
        s->low[c] *= less;
        s->high[c] *= less;
        s->share[c] *= less;
        s->statics[c] *= less;
    }
    s->contended *= less;
    s->sharing_in_doubt *= less;
    s->execution *= less;
    timed.scale = a->scale_sure;
    return timed;
}

struct cs_culprit_verdict cs_culprit_verdict(const struct cs_cycle_account *a)
{
    struct cs_culprit_verdict v = verdict_of(a);
    if (!(a->scale_sure > 0) || !(a->scale > a->scale_sure) || !(v.enough || v.n_several))
        return v;
    const struct cs_cycle_account timed = as_timed(a);
    const struct cs_culprit_verdict other = verdict_of(&timed);
    if (v.enough ? other.enough && other.named == v.named : other.n_several > 0)
        return v;
    v.stretched = true;
    v.unknown_as_timed = timed.summary.unexplained / timed.summary.total;
    v.enough = false;
    v.n_several = 0;
    return v;
}
