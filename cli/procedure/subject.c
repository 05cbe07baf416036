/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/procedure/subject.h"
#include "cli/command/time_range.h"
#include "cli/profile/ask_debuginfod.h"
#include "cli/profile/lines/annotate.h"
#include "cli/profile/lines/inlined.h"
#include "store/base/cache.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

int calc_subject_open(struct calc_subject *s, const struct parsed *args, struct cs_error *err)
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
        return cs_fail(err, 2,
                       "the recording has no code of %s: let its runtime write a jitdump file (node "
                       "--perf-prof), and record without --no-keep-code",
                       image->path);
    if (image->kind == CS_IMAGE_KERNEL || image->kind == CS_IMAGE_MODULE)
        return cs_fail(
            err, 95,
            "%.200s is code of the kernel, whose instructions can't be read here: \"cyclescope callers\" "
            "shows what in the program leads to it",
            s->row->name);
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
    rc = cs_culprit_values(s->profile.store, &s->evidence->values, err);
    if (rc)
        return rc;
    if (!*s->evidence->event && s->rows.total[s->profile.main_event])
        return cs_fail(err, 2,
                       "no event of time (cycles or a clock) was recorded, only %s. calc explains time; list "
                       "and cfg show where those events happened",
                       s->profile.events[s->profile.main_event].name);
    rc = calc_scheduler(args, cs_image_isa(s->code), &s->evidence->machine, image->id, &s->scheduler, err);
    if (rc)
        return rc;
    s->evidence->experiments = s->experiments =
        calc_experiments(args, cs_image_isa(s->code), &s->evidence->machine, s->evidence->machine_recorded);
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

void calc_subject_close(struct calc_subject *s)
{
    cs_cycle_account_close(s->account);
    cs_scheduler_close(s->scheduler);
    cs_experiments_close(s->experiments);
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

void calc_answer(const struct calc_subject *s, struct calc_answer *a)
{
    assert(s->account && s->opened);
    *a = (struct calc_answer){.verdict = procedure_verdict(s->account, s->code),
                              .worst = worst_cause(s->account)};
    kernel_time_find(&s->profile, &s->rows, s->row, s->account->procedure, (double)s->account->samples,
                     a->verdict.enough ? a->verdict.named_share : 1, &a->kernel);
    removed_told(s->account, a->verdict.named, a->removed, sizeof a->removed);
    if (!a->verdict.enough) {
        a->worst = (struct worst_cause){.cause = CS_N_CAUSES, .reason = ""};
        verdict_sentence(&a->verdict, s->evidence, (double)s->rows.total[s->profile.main_event], a->sentence,
                         sizeof a->sentence);
        return;
    }
    cause_sentence(&a->worst, s->code, a->sentence, sizeof a->sentence);
    a->advice = a->kernel.first || a->kernel.all > a->kernel.own ? NULL : cause_advice(&a->worst, s->account);
    a->unseen = verdict_unseen(&a->verdict);
    a->gain = cause_gain(&a->worst, s->account);
    bound_gain(s->account, a->worst.cause, &a->gain);
    if (cause_is_shared_line(&a->worst))
        a->gain.likely = (double)NAN;
}
