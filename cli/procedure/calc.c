/* SPDX-License-Identifier: GPL-2.0-or-later */
/* calc: why a procedure was slow, instruction by instruction. dcpi-1997 sections 3.2 and 6.3 (dcpicalc). */
#include "cli/procedure/calc.h"
#include "cli/command/figures.h"
#include "cli/command/time_range.h"
#include "cli/procedure/accesses.h"
#include "cli/profile/ask_debuginfod.h"
#include "store/base/cache.h"

#include "cli/profile/annotate.h"
#include "cli/profile/inlined.h"
#include "cli/profile/more_evidence.h"
#include "cli/profile/profile.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SCALE_TOLD 3 /* below this factor the uncertain scale of cycles isn't worth a note */

struct subject {
    struct profile profile;
    struct profile_rows rows;
    const struct profile_row *row;
    struct cs_edge_flow *flow;
    struct cs_image_code *code;
    struct cs_culprit_evidence *evidence;
    struct cs_scheduler *scheduler;
    struct cs_cycle_account *account;
    bool opened;
};

static bool cache_file(char *path, size_t size, const char *image_id)
{
    char folder[3800];
    return cs_cache_folder(folder, sizeof folder) == 0 &&
           snprintf(path, size, "%s/%s.schedule", folder, image_id) < (int)size;
}

int calc_scheduler(const struct parsed *args, enum cs_isa isa, const struct cs_machine *machine,
                   const char *image_id, struct cs_scheduler **out, struct cs_error *err)
{
    char cache[4096];
    const char *cpu = option(args, "cpu");
    /* Names of AArch64 cores are the machine's own; of x86-64 code that ran elsewhere none is known. */
    const char *chosen[2] = {cpu ? cpu : machine->cpu, NULL};
    const char *const *cpus =
        cpu || isa != CS_ISA_X86_64 ? chosen : cs_machine_models(machine->vendor, machine->features);
    bool cached = cache_file(cache, sizeof cache, image_id);
    int rc = cs_scheduler_open(isa, cpus, cached ? cache : NULL,
                               !strcmp(isa == CS_ISA_X86_64 && !cpu ? "" : chosen[0], "generic"), out, err);
    if (rc == 0 && cpu && strcmp(cpu, "generic") && !strstr(cs_scheduler_name(*out), cpu))
        return cs_fail(err, 22,
                       "--cpu %s: llvm-mca isn't installed or doesn't know it (llvm-mca -mcpu=help lists; "
                       "\"generic\" is ours)",
                       cpu);
    return rc;
}

static int open_subject(const struct parsed *args, struct subject *s, struct cs_error *err)
{
    const char *name = operand(args, 0);
    const struct profile_filter filter = {
        .image = option(args, "image"), .epoch = recording_asked(args), .main_event = option(args, "event")};
    int rc = profile_open(&s->profile, store_location(args), &filter, err);
    if (rc)
        return rc;
    s->opened = true;
    rc = profile_needs_code(&s->profile, err);
    if (rc)
        return rc;
    ask_debuginfod(&s->profile);
    rc = profile_sum(&s->profile, BY_PROCEDURE, &s->rows, err);
    if (rc)
        return rc;
    s->row = find_procedure(&s->rows, name);
    struct inlined_into into = s->row || !name ? (struct inlined_into){""} : inlined_into(&s->profile, name);
    if (*into.sentence)
        return cs_fail(err, ENOENT, "%s", into.sentence);
    if (!s->row && name)
        return cs_fail(err, 2,
                       "no samples in a function \"%s\": cyclescope prof lists those that have some%s", name,
                       procedure_meant(&s->rows, name).text);
    if (!s->row)
        return cs_fail(
            err, 2, "no samples in any function whose instructions are at hand: there is nothing to explain");
    const struct cs_store_image *image = &s->row->image->image;
    rc = cs_image_open(image, s->profile.store, &s->code, err);
    if (rc)
        return rc;
    if (*cs_image_trouble(s->code))
        return cs_fail(err, 2, "%s", cs_image_trouble(s->code));
    if (cs_image_isa(s->code) == CS_ISA_NONE && image->kind == CS_IMAGE_JIT)
        return cs_fail(
            err, 2,
            "the recording has no code of %s: let its runtime write a jitdump file (node --perf-prof), and "
            "record without --no-keep-code",
            image->path);
    if (cs_image_isa(s->code) == CS_ISA_NONE)
        return cs_fail(err, 95, "%s is no x86-64, AArch64 or RISC-V code: only that can be explained so far",
                       image->path);
    rc = profile_edge_flow(&s->profile, &s->flow, err);
    if (rc)
        return rc;
    rc = cs_culprit_evidence_open(s->profile.store, s->flow, image->id, option(args, "event"), &s->evidence,
                                  err);
    if (rc)
        return rc;
    if (!*s->evidence->event && s->rows.total[s->profile.main_event])
        return cs_fail(err, 2,
                       "no event of time (cycles or a clock) was recorded, only %s. calc "
                       "explains time; list and cfg show where those events happened",
                       s->profile.events[s->profile.main_event].name);
    rc = calc_scheduler(args, cs_image_isa(s->code), &s->evidence->machine, image->id, &s->scheduler, err);
    if (rc)
        return rc;
    const struct cs_image_procedure *procedure = cs_image_procedure_at(s->code, s->row->start);
    if (!procedure)
        return cs_fail(err, 2, "the image has no code at 0x%" PRIx64, s->row->start);
    struct cs_cycle_account_count known = {0, 0};
    const char *counted = option(args, "counted");
    if (counted) {
        char *end;
        known.offset = strtoull(counted, &end, 0);
        known.executions = *end == '=' ? strtod(end + 1, &end) : -1;
        if (*end || !(known.executions > 0) || cs_image_procedure_at(s->code, known.offset) != procedure)
            return cs_fail(err, 22,
                           "--counted %s: give an address of this function, \"=\", and how often it ran",
                           counted);
    }
    return cs_cycle_account_open(s->code, procedure, s->evidence, s->scheduler, counted ? &known : NULL,
                                 &s->account, err);
}

static void close_subject(struct subject *s)
{
    cs_cycle_account_close(s->account);
    cs_scheduler_close(s->scheduler);
    cs_culprit_evidence_close(s->evidence);
    if (s->flow)
        cs_edge_flow_close(s->flow);
    if (s->code)
        cs_image_close(s->code);
    if (s->opened) {
        profile_rows_fini(&s->rows);
        profile_close(&s->profile);
    }
}

static void print_head(struct output *out, const struct subject *s)
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
static void print_legend(struct output *out, const struct subject *s)
{
    const struct cs_machine *m = &s->evidence->machine;
    const struct cs_cycle_account *a = s->account;
    output_line(out, "%s", "");
    output_line(out, "CPI: cycles per instruction; the core runs at %.2f GHz%s, %s cycles per sample.",
                m->core_hz / 1e9,
                s->evidence->machine_recorded ? "" : " (measured here, not when it was recorded)",
                thousands(s->evidence->cycles_a_sample).text);
    output_line(out, "M: cycles of an instruction without dynamic stalls, by the model %s.",
                cs_scheduler_name(s->scheduler));
    output_line(out, "%s",
                "Above an instruction: its stall in cycles (cy), and the range of each possible cause. A "
                "cause with ? is unconfirmed.");
    output_line(out, "%s", "Execution counts are relative to the busiest block.");
    if (!a->frequencies)
        output_note(out,
                    "No burst or path saw the branches of this code. All blocks are assumed to run equally "
                    "often, and only "
                    "the instructions themselves rule causes out (%s).",
                    more_evidence(s->profile.store));
    else if (a->scale_fitted && a->scale > 0 &&
             fmax(a->scale / a->scale_low, a->scale_high / a->scale) >= SCALE_TOLD)
        output_note(out, "Cycle counts are relative, because no hardware counter gives their scale. Compare "
                         "instructions with each other, not with a data sheet.");
}

/* The answer: the cause, how sure it is, and what usually helps; or what is missing. */
static void print_verdict(struct output *out, const struct subject *s)
{
    struct worst_cause worst = worst_cause(s->account);
    char sentence[1200];
    const char *advice = cause_advice(&worst, s->account);
    struct cs_culprit_verdict verdict = procedure_verdict(s->account, s->code);
    if (!verdict.enough) {
        double total = (double)s->rows.total[s->profile.main_event];
        worst = (struct worst_cause){.cause = CS_N_CAUSES};
        advice = NULL;
        verdict_sentence(&verdict, s->evidence, total, sentence, sizeof sentence);
    } else {
        cause_sentence(&worst, s->code, sentence, sizeof sentence);
    }
    output_line(out, "%s.", sentence);
    output_set(out, "evidence", verdict_json(&verdict));
    if (verdict.enough && worst.low < 0.7 * worst.share && worst.cause < CS_N_CAUSES)
        output_line(out, "(between %.1f and %.1f %%: other causes remain possible)", 100 * worst.low,
                    100 * (worst.high < 1 ? worst.high : 1));
    double saves = cause_saves(&worst, &s->evidence->machine);
    if (advice)
        output_line(out, "What usually helps: %s. It would save about %.0f %% of the time.", advice,
                    100 * saves);
    output_set(out, "sentence", json_text(sentence));
    output_set(out, "worst",
               json_pack("{s:s, s:I, s:f, s:f, s:f, s:f}", "cause",
                         worst.cause < CS_N_CAUSES ? cs_culprit_cause_names[worst.cause].name : "none",
                         "responsible", (json_int_t)worst.responsible, "share", 100 * worst.share, "low",
                         100 * worst.low, "high", 100 * worst.high, "saves", 100 * saves));
    output_set(out, "advice", advice ? json_string(advice) : json_null());
}

static int run(const struct parsed *args)
{
    struct subject s = {0};
    struct cs_error err = {0};
    if (operand_count(args) > 1)
        return usage_error("give one function, or none for the hottest");
    if (open_subject(args, &s, &err)) {
        close_subject(&s);
        return failed(&err);
    }
    struct output *out = output_open(args);
    print_head(out, &s);
    print_verdict(out, &s);
    print_legend(out, &s);
    listing_print(out, s.account, s.code, option_given(args, "lines"), option_given(args, "all"));
    output_line(out, "%s", "");
    summary_print(out, &s.account->summary, option_given(args, "all"));
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
        output_set(out, "width",
                   json_real(s.account->operation_cycles > 0 ? 1 / s.account->operation_cycles : 0));
        output_set(out, "executions_a_visit", json_real(s.account->scale));
        output_set(out, "executions_a_visit_low", json_real(s.account->scale_low));
        output_set(out, "executions_a_visit_high", json_real(s.account->scale_high));
        output_set(out, "scale_fitted", json_boolean(s.account->scale_fitted));
        output_set(out, "summary", summary_json(&s.account->summary));
        output_set(out, "blocks", blocks_json(s.account));
        output_set(out, "instructions", listing_json(s.account, s.code));
    }
    close_subject(&s);
    return output_close(out);
}

static const struct option_entry options[] = {
    OPTION_EVENT,
    OPTION_IMAGE,
    OPTION_EPOCH,
    OPTIONS_TIMES,
    {"lines", 'l', NULL, "source lines between the instructions"},
    OPTION_ALL,
    OPTION_CPU,
    {"counted", 0, "ADDRESS=N",
     "the instruction at ADDRESS ran N times; cycles are then absolute, not fitted"},
    OPTION_STORE,
    {NULL, 0, NULL, NULL},
};

extern const struct command command_calc;
const struct command command_calc = {
    "calc",
    "[FUNCTION]",
    "why a function was slow: cycles, static and dynamic stalls and their causes",
    "Lists the function's blocks with best-case and actual cycles. Above each instruction that stalls are "
    "the "
    "possible causes, with the cycles that each may have cost. Samples are attributed to the instruction "
    "that took "
    "the time. Evidence from bursts confirms a cause or rules it out. Where two causes remain possible, both "
    "are "
    "named with their bounds.\n\n"
    "Without FUNCTION, calc takes the hottest one.",
    options,
    run,
};
