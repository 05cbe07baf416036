/* SPDX-License-Identifier: GPL-2.0-or-later */
/* explain: one document about what costs most. Where the time is comes before why: if threads mostly waited, it is about
 * the wait. */
#include "cli/explain/explain.h"
#include "cli/command/figures.h"
#include "cli/command/recordings.h"
#include "cli/command/time_range.h"
#include "cli/profile/lines/hottest_line.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The row that comes first; of a name, the longest one in that function. */
static const struct cs_wait_group *group_of(const struct cs_wait_groups *w, const char *name)
{
    if (!name)
        return cs_wait_first(w);
    for (size_t i = 0; i < w->n; i++)
        if (w->at[i].reading != CS_WAIT_IS_IDLE && strcmp(cs_wait_where(&w->at[i]), name) == 0)
            return &w->at[i];
    return NULL;
}

/* About the wait in the function `name`, or about the one that comes first; 0: there is none. `told` (may be NULL) gets
 * a sentence in place of the document. */
static int about_wait(struct explanation *e, const struct parsed *args, const char *name, char *told,
                      size_t size)
{
    struct cs_error err = {0};
    struct cs_store *store = NULL;
    struct recordings which;
    struct cs_wait_groups w;
    const struct cs_calls_wanted wanted = {.inlines = true};
    int found = 0;
    if (recordings_open(store_location(args), recording_asked(args), RECORDINGS_OF_CHAINS, &store, &which,
                        &err) < 0)
        return 0;
    if (cs_wait_groups_open(&w, store, &wanted, &err) == 0) {
        const struct cs_wait_group *group = group_of(&w, name);
        found = group != NULL;
        if (e && !name)
            stand_out_waits(&e->places, store, &w);
        if (group && told)
            cs_wait_first_text(&w, group, told, size);
        else if (group)
            explain_wait(e, args, store, &w, group);
        else if (e && !name) {
            explain_machine(e, &w);
            explain_besides(e, args, &w);
        }
        cs_wait_groups_close(&w);
    }
    cs_store_close(store);
    return found;
}

static bool waits_recorded(const struct parsed *args)
{
    struct cs_error ignored = {0};
    struct cs_store *store = NULL;
    struct recordings which;
    struct cs_wait_groups w;
    const struct cs_calls_wanted wanted = {.inlines = false};
    if (recordings_open(store_location(args), recording_asked(args), RECORDINGS_OF_CHAINS, &store, &which,
                        &ignored) < 0)
        return false;
    const bool found = cs_wait_groups_open(&w, store, &wanted, &ignored) == 0;
    if (found)
        cs_wait_groups_close(&w);
    cs_store_close(store);
    return found;
}

/* Whether it waited or others had its CPU, nothing tells: a reservation, and no claim. */
static void find_absence(struct explanation *e, const struct parsed *args, const struct calc_subject *s)
{
    struct cs_error ignored = {0};
    uint64_t elapsed_ms = 0;
    const double hz = s->evidence->machine.core_hz, samples = (double)s->rows.total[s->profile.main_event],
                 ran = hz > 0 ? samples * s->evidence->cycles_a_sample / hz : 0;
    char text[2][48];
    if (s->profile.one_image || s->profile.recordings.times.to_ms ||
        cs_store_counter(s->profile.store, "elapsed_ms", &elapsed_ms, &ignored) < 0 || elapsed_ms < 50 ||
        !(ran > 0) || ran >= 0.5e-3 * (double)elapsed_ms || waits_recorded(args))
        return;
    snprintf(e->absence, sizeof e->absence,
             "This is about the %s s of %s s elapsed in which the program had a CPU. The rest was spent "
             "waiting or "
             "preempted, and has no samples; record with --waits to see it.",
             figures(ran, 3, text[0]), figures((double)elapsed_ms / 1000, 3, text[1]));
}

static void note_others(struct output *out, const struct parsed *args, const struct explanation *e,
                        const struct calc_subject *s)
{
    char told[600] = "", name[1024];
    const struct profile_row *top = s->rows.n ? &s->rows.row[0] : NULL;
    if (operand(args, 0)) {
        if (about_wait(NULL, args, NULL, told, sizeof told))
            output_note(out, "First: %s.", told);
    } else if (e->about != EXPLAIN_CALL && top && s->row && top != s->row) {
        output_note(out, "%.200s has more samples, but its instructions can't be explained.",
                    top->name ? cs_image_short_name(top->name, name, sizeof name) : "Code without a name");
    }
}

static int print(const struct parsed *args, struct explanation *e, const struct calc_subject *s)
{
    struct output *out = output_open(args);
    if (s && s->evidence)
        find_absence(e, args, s);
    explanation_print(out, args, e);
    if (e->places.n_hot && !e->places.n_functions)
        output_note(out,
                    "Loops and stalls that stand out aren't listed: none of the hot functions has a source "
                    "that can be read here.");
    if (s && s->rows.n && e->about != EXPLAIN_WAIT)
        note_others(out, args, e, s);
    explanation_print_next(out, args, e);
    free(e->verify);
    return output_close(out);
}

static int run(const struct parsed *args)
{
    struct explanation e = {.of_function = {NAN, NAN, NAN}, .of_program = {NAN, NAN, NAN}};
    struct calc_subject s = {0};
    struct cs_error err = {0};
    const char *name = operand(args, 0);
    if (operand_count(args) > 1)
        return usage_error("give one function, or none for the hottest");
    if (!name && about_wait(&e, args, NULL, NULL, 0))
        return print(args, &e, NULL);
    int rc = calc_subject_open(&s, args, &err);
    struct hottest_line own;
    const bool foreign = name && s.row && !hottest_line_of(&s.profile, s.row, &own);
    const bool call =
        s.opened && s.rows.n && (!name || foreign) && explain_call(&e, args, &s, name ? s.row : NULL);
    if (call)
        rc = 0;
    else if (rc == 0)
        explain_code(&e, args, &s);
    if (rc == 0 && !name) {
        stand_out_calls(&e.places, &s);
        stand_out_code(&e.places, args, &s);
        explain_first_place(&e, args, &s);
    }
    const bool waits = rc && name && about_wait(&e, args, name, NULL, 0);
    if (rc && !waits && s.opened && !name)
        snprintf(e.missing, sizeof e.missing, "Not enough evidence: %s", err.text);
    int code = rc && !waits && !*e.missing ? failed(&err) : print(args, &e, &s);
    calc_subject_close(&s);
    return code;
}

static const struct option_entry options[] = {
    OPTION_EVENT, OPTION_IMAGE,          OPTION_EPOCH, OPTIONS_TIMES,         OPTION_SOURCE,
    OPTION_CPU,   OPTION_NO_EXPERIMENTS, OPTION_STORE, {NULL, 0, NULL, NULL},
};

const struct command command_explain = {
    "explain",
    "[FUNCTION]",
    "one document: the claim, its evidence, the source line, what to try, how to verify",
    "Says in one sentence what costs most and why. Then come the evidence with its bounds, and the source "
    "line with the lines around it. Then come the causes that are ruled out, what to try, and the expected "
    "gain. The last command shows after the change whether it helped.\n"
    "\n"
    "Without FUNCTION, explain takes the hottest one. If what one function calls in libraries and in the "
    "kernel costs more, the document is about these calls. If the recording has waits, and threads waited "
    "longer "
    "than they ran, it is about the wait. It also lists up to six places that stand out: waits, page faults, "
    "system calls, calls of libraries, copies, loops that turn often, and stalls. If the hottest function "
    "does "
    "ordinary work, or the first of them can save more, the document is about that one.\n"
    "\n"
    "If the evidence doesn't suffice for a claim, explain makes none, and says what to record. --json prints "
    "the same document for programs.",
    options,
    run,
};
