/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of causes (dcpi-1997 figure 4), and the sentence that names the largest cause. */
#include "analysis/culprit/verdict_model.h"
#include "cli/command/figures.h"
#include "cli/procedure/calc.h"
#include "store/base/order.h"
#include "store/base/text.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

void summary_add(struct cs_cycle_account_summary *into, const struct cs_cycle_account_summary *from)
{
    for (int c = 0; c < CS_N_CAUSES; c++) {
        into->low[c] += from->low[c];
        into->high[c] += from->high[c];
        into->share[c] += from->share[c];
        into->statics[c] += from->statics[c];
    }
    into->memory_low += from->memory_low;
    into->memory_high += from->memory_high;
    into->unexplained += from->unexplained;
    into->gain += from->gain;
    into->contended += from->contended;
    into->sharing_in_doubt += from->sharing_in_doubt;
    into->split_accesses += from->split_accesses;
    into->execution += from->execution;
    into->total += from->total;
    into->unattributed += from->unattributed;
    into->best_cycles += from->best_cycles;
    into->actual_cycles += from->actual_cycles;
    into->instructions += from->instructions;
    into->instruction_cycles += from->instruction_cycles;
    into->instruction_best += from->instruction_best;
}

/* The cause with the largest share, static and dynamic together; CS_N_CAUSES when there is none. */
static enum cs_culprit_cause first_cause(const struct cs_cycle_account_summary *s, double *share)
{
    enum cs_culprit_cause best = CS_N_CAUSES;
    double most = 0;
    for (int c = 0; c < CS_N_CAUSES; c++)
        if (s->share[c] + s->statics[c] > most) {
            most = s->share[c] + s->statics[c];
            best = (enum cs_culprit_cause)c;
        }
    *share = s->total > 0 ? most / s->total : 0;
    return best;
}

double summary_cpi(const struct cs_cycle_account_summary *s, double *best)
{
    *best = s->instructions > 0 ? s->instruction_best / s->instructions : (double)NAN;
    return s->instructions > 0 ? s->instruction_cycles / s->instructions : (double)NAN;
}

#define GAIN_TOLD 5 /* percent */

static double percent(const struct cs_cycle_account_summary *s, double samples)
{
    return s->total > 0 ? 100 * samples / s->total : 0;
}

static void print_row(struct output *out, const char *name, double value)
{
    output_line(out, "%-24s %31.1f %%", name, value);
}

void summary_print(struct output *out, const struct cs_cycle_account_summary *s, bool all)
{
    double dynamic = s->unexplained, statics = 0;
    if (!(s->total > 0))
        return;
    if (s->actual_cycles > 0)
        output_line(out, "Without dynamic stalls: %s of %s sample%s", thousands(s->best_cycles).text,
                    thousands(s->actual_cycles).text, plural(s->actual_cycles));
    double best, actual = summary_cpi(s, &best);
    if (isfinite(actual))
        output_line(out, "CPI: %.2f without dynamic stalls, %.2f actual%s", best, actual,
                    actual < 0.995 * best ? " (faster than the model allows)" : "");
    output_line(out, "%s", "");
    output_line(out, "%-24s %20s %12s", "dynamic stall by cause", "possible", "likely");
    for (int c = 0; c < CS_N_CAUSES; c++) {
        dynamic += s->share[c];
        if (all || percent(s, s->high[c]) >= 0.05)
            output_line(out, "%-24s %6.1f %% to %6.1f %% %10.1f %%", cs_culprit_cause_names[c].words,
                        percent(s, s->low[c]), percent(s, s->high[c]), percent(s, s->share[c]));
    }
    print_row(out, "Unexplained stall", percent(s, s->unexplained));
    output_line(out, "----------------------------------------------------------");
    print_row(out, "Subtotal dynamic", percent(s, dynamic));
    output_line(out, "%s", "");
    output_line(out, "%s", "static stall by cause");
    for (int c = 0; c < CS_N_CAUSES; c++) {
        statics += s->statics[c];
        if (all || percent(s, s->statics[c]) >= 0.05)
            print_row(out, cs_culprit_cause_names[c].words, percent(s, s->statics[c]));
    }
    output_line(out, "----------------------------------------------------------");
    print_row(out, "Subtotal static", percent(s, statics));
    output_line(out, "----------------------------------------------------------");
    print_row(out, "Total stall", percent(s, dynamic + statics));
    print_row(out, "Execution", percent(s, s->execution));
    if (s->unattributed > 0)
        print_row(out, "Execution count unknown", percent(s, s->unattributed));
    double net = 100 - percent(s, dynamic + statics + s->execution + s->unattributed);
    if (fabs(net) >= 0.05)
        print_row(out, "Net sampling error", net);
    output_line(out, "----------------------------------------------------------");
    print_row(out, "Total tallied", percent(s, dynamic + statics + s->execution + s->unattributed));
    if (percent(s, s->gain) >= GAIN_TOLD)
        output_note(out,
                    "Elsewhere the code ran faster than the model allows, by %.1f %% of these samples. The "
                    "estimated execution counts or static cycles are wrong there, and the shares of causes "
                    "may be wrong by as much.",
                    percent(s, s->gain));
}

json_t *summary_json(const struct cs_cycle_account_summary *s)
{
    json_t *dynamic = json_object(), *statics = json_object();
    for (int c = 0; c < CS_N_CAUSES; c++) {
        json_object_set_new(dynamic, cs_culprit_cause_names[c].name,
                            json_pack("{s:f, s:f, s:f}", "low", percent(s, s->low[c]), "high",
                                      percent(s, s->high[c]), "share", percent(s, s->share[c])));
        json_object_set_new(statics, cs_culprit_cause_names[c].name, json_real(percent(s, s->statics[c])));
    }
    double share;
    enum cs_culprit_cause first = first_cause(s, &share);
    double best, actual = summary_cpi(s, &best);
    json_t *memory =
        json_pack("{s:f, s:f, s:f}", "low", percent(s, s->memory_low), "high", percent(s, s->memory_high),
                  "share", percent(s, s->share[CS_CAUSE_DCACHE] + s->share[CS_CAUSE_DTLB]));
    return json_pack(
        "{s:o, s:o, s:o, s:o, s:o, s:f, s:f, s:f, s:f, s:f, s:s, s:f}", "best_cpi",
        isfinite(best) ? json_real(best) : json_null(), "actual_cpi",
        isfinite(actual) ? json_real(actual) : json_null(), "dynamic", dynamic, "static", statics, "memory",
        memory, "unexplained", percent(s, s->unexplained), "gain", percent(s, s->gain), "execution",
        percent(s, s->execution), "no_frequency", percent(s, s->unattributed), "samples", s->total, "first",
        first < CS_N_CAUSES ? cs_culprit_cause_names[first].name : "none", "first_share", 100 * share);
}

/* ---- words ---- */

/* By cause and place, in the order of the instructions. */
CS_ORDER(by_place, struct worst_cause, cs_order(a->cause, b->cause), cs_order(a->responsible, b->responsible),
         cs_order(a->stalled, b->stalled))

/* Makes one of all that have cause and place in common; the heaviest gives the place of the stall. Returns how many
 * there are. */
static size_t add_up(struct worst_cause *causes, size_t n)
{
    size_t kept = 0;
    cs_sort(causes, n, by_place);
    for (size_t i = 0; i < n; i++) {
        struct worst_cause *c = &causes[i], *sum = kept ? &causes[kept - 1] : NULL;
        c->heaviest = c->share;
        if (!sum || sum->cause != c->cause || sum->responsible != c->responsible) {
            causes[kept++] = *c;
            continue;
        }
        if (c->share > sum->heaviest) {
            sum->heaviest = c->share;
            sum->stalled = c->stalled;
            sum->reason = c->reason;
            sum->other = c->other;
            sum->overlaps = c->overlaps;
            sum->streams = c->streams;
            sum->conflicts = c->conflicts;
        }
        sum->share += c->share;
        sum->low += c->low;
        sum->high += c->high;
        sum->observed |= c->observed;
    }
    return kept;
}

/* Memory for the causes of all instructions and the static ones: an interpreter's loop has thousands. */
static struct worst_cause *causes_room(const struct cs_cycle_account *a)
{
    size_t n = CS_N_CAUSES;
    for (uint32_t i = 0; i < a->cfg->n_insns; i++)
        n += 1 + a->insns[i].classification->n;
    return calloc(n, sizeof(struct worst_cause));
}

/* A chain through memory isn't in the model: where it weighs most, it stands for the whole chain. */
static void add_carried(const struct cs_cycle_account *a, struct worst_cause *cause, double *most)
{
    for (uint32_t i = 0; i < a->cfg->n_insns; i++)
        for (unsigned k = 0; k < a->insns[i].classification->n; k++) {
            const struct cs_culprit_suspect *s = &a->insns[i].classification->suspects[k];
            const double part = s->share * a->insns[i].visits;
            if (s->cause != cause->cause || !s->carried || part <= *most)
                continue;
            *most = part;
            cause->stalled = cause->responsible = a->insns[i].op.offset;
            cause->reason = s->reason;
            cause->carried = true;
        }
}

/* All of a chain that the model leaves out is dynamic: its heaviest instruction stands for it then. */
static void add_left_out(const struct cs_cycle_account *a, struct worst_cause *cause, double *most)
{
    for (uint32_t i = 0; *most <= 0 && i < a->cfg->n_insns; i++)
        for (unsigned k = 0; k < a->insns[i].classification->n; k++) {
            const struct cs_culprit_suspect *s = &a->insns[i].classification->suspects[k];
            if (s->cause == cause->cause && s->share * a->insns[i].visits > cause->heaviest)
                cause->heaviest = s->share * a->insns[i].visits,
                cause->stalled = cause->responsible = a->insns[i].op.offset;
        }
    *most = fmax(*most, cause->heaviest);
}

/* Static stalls of one cause count over the whole chain; its heaviest instruction stands for it. */
static void add_static_causes(const struct cs_cycle_account *a, struct worst_cause *causes, size_t *n)
{
    for (int c = CS_CAUSE_DIVIDER; c < CS_N_CAUSES; c++) {
        double share = (a->summary.statics[c] + a->summary.share[c]) / a->summary.total, most = 0;
        struct worst_cause s = {
            .cause = (enum cs_culprit_cause)c, .share = share, .low = share, .high = share, .observed = true};
        for (uint32_t i = 0; i < a->cfg->n_insns; i++) {
            const struct cs_schedule_step *step = &a->insns[i].step;
            double part = c == CS_CAUSE_DIVIDER      ? step->divider
                          : c == CS_CAUSE_DEPENDENCY ? step->dependency
                          : c == CS_CAUSE_PORT       ? step->port
                                                     : step->front;
            part *= a->insns[i].visits;
            if (part > most)
                most = part, s.stalled = s.responsible = a->insns[i].op.offset;
        }
        s.reason = "";
        add_carried(a, &s, &most);
        add_left_out(a, &s, &most);
        s.heaviest = share;
        if (most > 0)
            causes[(*n)++] = s;
    }
}

struct worst_cause worst_cause(const struct cs_cycle_account *a)
{
    struct worst_cause *causes = causes_room(a), best = {.cause = CS_N_CAUSES, .reason = ""};
    size_t n = 0;
    if (!causes)
        return best;
    double total = a->summary.total;
    for (uint32_t i = 0; i < a->cfg->n_insns && total > 0; i++) {
        const struct cs_cycle_account_insn *insn = &a->insns[i];
        double worth = a->cycles_a_sample > 0 ? insn->visits * a->scale / a->cycles_a_sample / total : 0;
        if (insn->fused || !(worth > 0))
            continue;
        for (unsigned k = 0; k < insn->classification->n; k++) {
            const struct cs_culprit_suspect *s = &insn->classification->suspects[k];
            struct worst_cause c = {.cause = s->cause,
                                    .stalled = insn->op.offset,
                                    .responsible = s->responsible ? s->responsible : insn->op.offset,
                                    .other = s->other,
                                    .share = s->share * worth,
                                    .low = s->low * worth,
                                    .high = s->high * worth,
                                    .observed = s->observed,
                                    .overlaps = s->overlaps,
                                    .streams = s->streams,
                                    .conflicts = s->conflicts,
                                    .reason = s->reason};
            if (s->cause < CS_CAUSE_DIVIDER)
                causes[n++] = c;
        }
        struct worst_cause u = {.cause = CS_N_CAUSES,
                                .stalled = insn->op.offset,
                                .responsible = insn->op.offset,
                                .share = insn->classification->unexplained * worth,
                                .reason = ""};
        causes[n++] = u;
    }
    n = add_up(causes, n);
    if (total > 0)
        add_static_causes(a, causes, &n);
    for (size_t i = 0; i < n; i++)
        if (causes[i].share > best.share)
            best = causes[i];
    /* The verdict is by cause. So the largest one is named, even if another one's worst place has more. */
    double share;
    enum cs_culprit_cause first = first_cause(&a->summary, &share);
    const bool other = best.cause < CS_N_CAUSES && best.cause != first;
    if (first < CS_N_CAUSES && (other || share > 2 * best.share || best.share < CS_MODEL_VERDICT_LEAST)) {
        const struct worst_cause *heaviest = NULL;
        for (size_t i = 0; i < n; i++)
            if (causes[i].cause == first && (!heaviest || causes[i].share > heaviest->share))
                heaviest = &causes[i];
        if (heaviest) {
            best = *heaviest;
            best.spread = true;
            best.share = share;
            best.low = (a->summary.low[first] + a->summary.statics[first]) / total;
            best.high = (a->summary.high[first] + a->summary.statics[first]) / total;
        }
    }
    free(causes);
    return best;
}

static const char *const sentences[CS_N_CAUSES + 1] = {
    [CS_CAUSE_DCACHE] = "is stalled on the load at %s:",
    [CS_CAUSE_DTLB] = "is stalled on address translation for the access at %s:",
    [CS_CAUSE_ICACHE] = "is stalled on instruction fetch after %s:",
    [CS_CAUSE_ITLB] = "is stalled on translation of code addresses after %s:",
    [CS_CAUSE_MISPREDICT] = "is lost to mispredictions of the branch at %s:",
    [CS_CAUSE_RETURN] = "is lost to returns of deep recursion beyond the processor's return stack, at %s:",
    [CS_CAUSE_STORE_BUFFER] = "is stalled on a full store buffer, which the store at %s fills:",
    [CS_CAUSE_FORWARD] = "is stalled on failed store forwarding at the load at %s:",
    [CS_CAUSE_ALIAS] = "is stalled on false address conflicts (4K aliasing) at %s:",
    [CS_CAUSE_SPLIT] = "is spent on the access at %s, which crosses cache lines:",
    [CS_CAUSE_LOCK] = "is spent on the locked or serialising instruction at %s:",
    [CS_CAUSE_FALSE_SHARING] = "waits for cache lines that other threads take (false sharing) at %s:",
    [CS_CAUSE_TRUE_SHARING] = "waits for data that other threads take (true sharing) at %s:",
    [CS_CAUSE_DENORMAL] = "is spent on the arithmetic at %s, probably on denormal numbers:",
    [CS_CAUSE_SYSCALL] = "is spent on the system call at %s:",
    [CS_CAUSE_PAGE_FAULT] = "is spent on page faults at %s:",
    [CS_CAUSE_DIVIDER] = "is stalled on the divider, mostly at %s",
    [CS_CAUSE_DEPENDENCY] = "is the latency of a chain of dependent instructions, mostly at %s",
    [CS_CAUSE_PORT] = "is stalled on busy execution ports, mostly at %s",
    [CS_CAUSE_FRONT] = "is stalled on instruction decode and dispatch, mostly at %s",
    [CS_N_CAUSES] = "is a stall at %s without a known cause",
};

/* " (count, file.c:20)" of the other thread's instruction, or nothing. */
static void other_place(const struct worst_cause *c, struct cs_image_code *code, char *text, size_t size)
{
    struct cs_image_frame frame;
    *text = 0;
    if (c->other && cs_image_frames_at(code, c->other, &frame, 1) && *frame.function)
        snprintf(text, size, " (%s, %s:%u)", frame.function, cs_base_name(frame.file), frame.line);
    else if (c->other && cs_image_line_at(code, c->other, &frame))
        snprintf(text, size, " (%s:%u)", cs_base_name(frame.file), frame.line);
}

bool cause_is_shared_line(const struct worst_cause *c)
{
    return c->cause == CS_CAUSE_FALSE_SHARING || c->cause == CS_CAUSE_TRUE_SHARING;
}

void cause_sentence(const struct worst_cause *c, struct cs_image_code *code, char *text, size_t size)
{
    assert(size > 0);
    struct cs_image_frame frame;
    char where[512], body[768], other[512];
    int n = snprintf(where, sizeof where, "%s0x%" PRIx64, c->spread ? "many places, among them " : "",
                     c->responsible);
    if (cs_image_line_at(code, c->responsible, &frame))
        snprintf(where + n, sizeof where - (size_t)n, " (%s:%u)", cs_base_name(frame.file), frame.line);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    snprintf(body, sizeof body, sentences[c->cause], where);
#pragma GCC diagnostic pop
    other_place(c, code, other, sizeof other);
    const double least = 100 * fmin(c->low, c->share), most = 100 * fmin(c->high, 1);
    n = cause_is_shared_line(c) && lround(least) < lround(most)
            ? snprintf(text, size, "%.0f to %.0f", least, most)
            : snprintf(text, size, "%.1f", 100 * c->share);
    snprintf(text + n, size - (size_t)n, " %% of this function %s%s%s%s", body, *c->reason ? " " : "",
             c->reason, other);
}
