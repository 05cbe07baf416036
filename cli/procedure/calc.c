/* SPDX-License-Identifier: GPL-2.0-or-later */
/* calc: why a procedure was slow, instruction by instruction. dcpi-1997 sections 3.2 and 6.3 (dcpicalc). */
#include "cli/procedure/calc.h"
#include "analysis/culprit/evidence/working_set.h"
#include "cli/command/figures.h"
#include "cli/procedure/accesses.h"
#include "cli/procedure/subject.h"
#include "cli/profile/more_evidence.h"

#include <math.h>

#define SCALE_TOLD 3      /* below this factor the uncertain scale of cycles isn't worth a note */
#define SCALE_DIFFERS 1.5 /* and this much between what was timed and what is expected is */

static void print_head(struct output *out, const struct calc_subject *s)
{
    const struct cs_cycle_account *a = s->account;
    char name[1024];
    uint64_t total = s->rows.total[s->profile.main_event];
    output_line(out, "%s in %s: %s sample%s of %s, %.1f %% of all",
                cs_image_demangle(a->procedure->name, name, sizeof name), image_name(&s->row->image->image),
                thousands((double)a->samples).text, plural((double)a->samples), s->evidence->event,
                total ? 100.0 * (double)a->samples / (double)total : 0.0);
    output_line(out, "%s", "");
}

/* What the numbers of the listing mean. */
static void print_legend(struct output *out, const struct calc_subject *s)
{
    const struct cs_machine *m = &s->evidence->machine;
    const struct cs_cycle_account *a = s->account;
    output_line(out, "%s", "");
    output_line(out, "CPI: cycles per instruction; the core runs at %.2f GHz%s, %s cycles per sample.",
                m->core_hz / 1e9,
                s->evidence->machine_recorded ? "" : " (measured here, not when it was recorded)",
                thousands(s->evidence->cycles_a_sample).text);
    char told[200];
    output_line(out, "M: cycles of an instruction without dynamic stalls, by the model %s%s.",
                cs_scheduler_name(s->scheduler), experiments_told(a, told, sizeof told));
    output_line(out, "%s",
                "Above an instruction: its stall in cycles (cy), and the range of each possible cause. A "
                "cause with ? is unconfirmed.");
    output_line(out, "%s", "Execution counts are relative to the busiest block.");
    if (!a->frequencies)
        output_note(out,
                    "No burst or path saw the branches of this code. All blocks are assumed to run equally "
                    "often, and only the instructions themselves rule causes out (%s).",
                    more_evidence(s->profile.store));
    else if (a->scale_fitted && a->scale_timed > 0 && a->scale_model > SCALE_DIFFERS * a->scale)
        output_note(out,
                    "By timed bursts an execution takes %s times the cycles that the model and the observed "
                    "causes make "
                    "up. The listing has no more executions than they allow.",
                    figure(a->scale_model / a->scale, 2).text);
    else if (a->scale_fitted && a->scale > 0 &&
             fmax(a->scale / a->scale_low, a->scale_high / a->scale) >= SCALE_TOLD)
        output_note(out, "Cycle counts are relative, because no hardware counter gives their scale. Compare "
                         "instructions with each other, not with a data sheet.");
}

static json_t *gain_json(const struct calc_answer *a, double gain)
{
    return isfinite(a->gain.likely) ? json_real(100 * gain) : json_null();
}

static void print_verdict(struct output *out, const struct calc_subject *s)
{
    struct calc_answer a;
    calc_answer(s, &a);
    const struct worst_cause *worst = &a.worst;
    if (*a.kernel.sentence)
        output_line(out, "%s.", a.kernel.sentence);
    if (a.kernel.first)
        output_line(out, "What usually helps: %s. It would save up to about %.0f %% of all samples.",
                    a.kernel.advice, 100 * a.kernel.caused);
    output_line(out, "%s%s.", a.kernel.first ? "Of its own instructions: " : "", a.sentence);
    output_set(out, "evidence", verdict_json(&a.verdict));
    if (a.verdict.enough && !cause_is_shared_line(worst) && worst->low < 0.7 * worst->share &&
        worst->cause < CS_N_CAUSES)
        output_line(out, "(between %.1f and %.1f %%: other causes remain possible)", 100 * worst->low,
                    100 * (worst->high < 1 ? worst->high : 1));
    if (a.advice && !isfinite(a.gain.likely))
        output_line(out,
                    "What usually helps: %s. What it saves depends on how often the threads run at once.",
                    a.advice);
    else if (a.advice)
        output_line(out, "What usually helps: %s. It would save about %.0f %% of the time (%.0f to %.0f).",
                    a.advice, 100 * a.gain.likely, 100 * a.gain.least, 100 * a.gain.most);
    if (*a.removed)
        output_line(out, "%s.", a.removed);
    output_set(out, "removed", *a.removed ? json_string(a.removed) : json_null());
    if (a.unseen)
        output_line(out, "%s.", a.unseen);
    output_set(out, "unseen", a.unseen ? json_string(a.unseen) : json_null());
    output_set(out, "kernel_share", json_real(100 * a.kernel.all));
    output_set(out, "kernel", kernel_time_json(&a.kernel));
    output_set(out, "sentence", json_text(a.sentence));
    output_set(out, "worst",
               json_pack("{s:s, s:I, s:f, s:f, s:f, s:o, s:o, s:o}", "cause",
                         worst->cause < CS_N_CAUSES ? cs_culprit_cause_names[worst->cause].name : "none",
                         "responsible", (json_int_t)worst->responsible, "share", 100 * worst->share, "low",
                         100 * worst->low, "high", 100 * worst->high, "saves", gain_json(&a, a.gain.likely),
                         "saves_low", gain_json(&a, a.gain.least), "saves_high", gain_json(&a, a.gain.most)));
    output_set(out, "advice", a.advice ? json_string(a.advice) : json_null());
}

static void print_working_set(struct output *out, const struct calc_subject *s)
{
    const struct cs_image_procedure *p = s->account->procedure;
    struct cs_working_set set;
    if (cs_working_set(s->evidence->footprints, p->start, p->start + p->size, &set) < 0)
        return output_note(out, "No memory for the working set.");
    output_set(out, "working_set",
               set.bytes > 0 ? json_pack("{s:f, s:b, s:f, s:f}", "bytes", set.bytes, "at_least", set.least,
                                         "draws", set.draws, "bursts", set.bursts)
                             : json_null());
    if (set.bytes <= 0)
        return;
    const bool large = set.bytes >= 1 << 20;
    output_line(out, "Working set of its own accesses: %s%.*f %s (%.0f cache lines drawn in %.0f burst%s).",
                set.least ? "at least " : "", large, large ? set.bytes / (1 << 20) : set.bytes / 1024,
                large ? "MB" : "KB", set.draws, set.bursts, plural(set.bursts));
}

static int run(const struct parsed *args)
{
    struct calc_subject s = {0};
    struct cs_error err = {0};
    if (operand_count(args) > 1)
        return usage_error("give one function, or none for the hottest");
    if (calc_subject_open(&s, args, &err)) {
        calc_subject_close(&s);
        return failed(&err);
    }
    struct output *out = output_open(args);
    print_head(out, &s);
    print_verdict(out, &s);
    print_legend(out, &s);
    listing_print(out, s.account, s.code, option_given(args, "lines"), option_given(args, "all"));
    output_line(out, "%s", "");
    summary_print(out, &s.account->summary, option_given(args, "all"));
    print_working_set(out, &s);
    if (accesses_print(out, s.profile.store, s.row->image->image.id, s.code, s.account->procedure,
                       option_given(args, "all") ? 0 : ACCESSES_SHOWN, &err) < 0)
        output_note(out, "%s", err.text);
    output_line(out, "%s", "");
    output_next(out, args, "next:", "list", operand(args, 0) ? operand(args, 0) : s.row->name, "");
    output_next(out, args, "     ", "sum", NULL, "      (causes of the whole program)");
    if (output_form(out) == OUTPUT_JSON) {
        output_set(out, "procedure", json_text(s.account->procedure->name));
        output_set(out, "image", json_text(s.row->image->image.path));
        output_set(out, "samples", json_integer((json_int_t)s.account->samples));
        output_set(out, "core_hz", json_real(s.evidence->machine.core_hz));
        output_set(out, "cycles_a_sample", json_real(s.evidence->cycles_a_sample));
        output_set(out, "model", json_string(cs_scheduler_name(s.scheduler)));
        output_set(out, "experiments", experiments_json(s.account));
        output_set(out, "loops", loops_json(s.account));
        output_set(out, "width",
                   json_real(s.account->operation_cycles > 0 ? 1 / s.account->operation_cycles : 0));
        output_set(out, "executions_a_visit", json_real(s.account->scale));
        output_set(out, "executions_a_visit_low", json_real(s.account->scale_low));
        output_set(out, "executions_a_visit_high", json_real(s.account->scale_high));
        output_set(out, "executions_a_visit_model", json_real(s.account->scale_model));
        output_set(out, "executions_a_visit_timed", json_real(s.account->scale_timed));
        output_set(out, "timed_bursts", json_integer(s.flow ? s.flow->n_timed : 0));
        output_set(out, "scale_fitted", json_boolean(s.account->scale_fitted));
        output_set(out, "summary", summary_json(&s.account->summary));
        output_set(out, "blocks", blocks_json(s.account));
        uint32_t left_out;
        output_set(out, "instructions",
                   listing_json(s.account, s.code, option_given(args, "all"), &left_out));
        output_set(out, "instructions_left_out", json_integer(left_out));
    }
    calc_subject_close(&s);
    return output_close(out);
}

static const struct option_entry options[] = {
    OPTIONS_WHAT,
    {"lines", 'l', NULL, "source lines between the instructions"},
    OPTION_ALL,
    OPTION_CPU,
    OPTION_NO_EXPERIMENTS,
    {"counted", 0, "ADDRESS=N",
     "the instruction at ADDRESS ran N times; cycles are then absolute, not fitted"},
    OPTION_STORE,
    {NULL, 0, NULL, NULL},
};

const struct command command_calc = {
    "calc",
    "[FUNCTION]",
    "why a function was slow: cycles, static and dynamic stalls and their causes",
    "Lists the function's blocks with best-case and actual cycles. Above each instruction that stalls are "
    "the possible causes, with the cycles that each may have cost. Samples are attributed to the instruction "
    "that took the time. Evidence from bursts confirms a cause or rules it out. Where two causes remain "
    "possible, both are named with their bounds.\n\n"
    "Without FUNCTION, calc takes the hottest one.",
    options,
    run,
};
