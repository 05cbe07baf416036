/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The hottest function may do ordinary work. Then the document is about the place that stands out most, or says that nothing
 * does. */
#include "cli/explain/explain.h"
#include "store/base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_FROM 5.0     /* percent that may be saved, for a document about that place */
#define ORDINARY_BELOW 0.5 /* of all samples: a function with more is the program's cost, whatever it is */

static bool is_schedule(const char *cause)
{
    static const enum cs_culprit_cause causes[] = {CS_CAUSE_DEPENDENCY, CS_CAUSE_PORT, CS_CAUSE_FRONT,
                                                   CS_CAUSE_ICACHE, CS_CAUSE_ITLB};
    for (size_t i = 0; i < sizeof causes / sizeof *causes; i++)
        if (strcmp(cause, cs_culprit_cause_names[causes[i]].name) == 0)
            return true;
    return false;
}

static void tell(struct explanation *e, const struct stand_out *row)
{
    const bool wait = strcmp(row->kind, "wait") == 0;
    const bool call = strcmp(row->kind, "call") == 0 || strcmp(row->kind, "system-call") == 0 ||
                      strcmp(row->kind, "page-fault") == 0;
    char place[300] = "";
    e->n_evidence = e->n_ruled_out = 0;
    *e->missing = 0;
    e->about = wait ? EXPLAIN_WAIT : call ? EXPLAIN_CALL : EXPLAIN_CODE;
    e->from_list = true;
    e->address = 0;
    e->line = row->line;
    e->advice = row->advice;
    e->gain_elsewhere = false;
    if (strcmp(e->function, row->function) != 0)
        *e->image = 0; /* the hottest function's, and of this one not known */
    snprintf(e->file, sizeof e->file, "%s", row->file);
    snprintf(e->function, sizeof e->function, "%s", row->function);
    snprintf(e->cause, sizeof e->cause, "%s", row->kind);
    snprintf(e->words, sizeof e->words, "%s", row->kind);
    if (row->line)
        snprintf(place, sizeof place, " (%.200s:%u)", cs_base_name(row->file), row->line);
    if (wait)
        *e->absence = 0; /* it says the same */
    snprintf(e->claim, sizeof e->claim, "What stands out most is %.200s%s, %.1f %% of %s: %s", row->function,
             place, row->percent, wait ? "threads' time" : "the samples", row->what);
    explain_number(e, "this place", row->percent, NAN, NAN, wait ? "% of threads' time" : "% of samples");
    if (isfinite(row->turns))
        explain_number(e, "turns of the loop", row->turns, NAN, NAN, "each time");
    if (isfinite(row->a_second))
        explain_number(e, isfinite(row->turns) ? "times it is entered" : "times", row->a_second, NAN, NAN,
                       wait ? "a second" : "a second of CPU time");
    if (isfinite(row->bytes))
        explain_number(e, "bytes", row->bytes, NAN, NAN, "a call");
    e->of_function = (struct explain_gain){NAN, NAN, NAN};
    e->of_program = (struct explain_gain){NAN, 0, row->percent};
}

enum explain_instead explain_instead(const struct explanation *e, double share)
{
    const struct stand_out *first = e->places.n ? &e->places.at[0] : NULL;
    const bool schedule = *e->claim && is_schedule(e->cause);
    /* Elsewhere, and more than the claim's at most: that place is the one to begin with. */
    const bool more =
        first && *e->claim && first->saves > e->of_program.high && strcmp(first->function, e->function) != 0;
    if (e->about == EXPLAIN_CALL || e->about == EXPLAIN_WAIT || (*e->claim && !schedule && !more) ||
        (schedule && share >= ORDINARY_BELOW && !more))
        return EXPLAIN_AS_IT_IS;
    /* Of one function's own loop nobody knows whether it turns too often. */
    const bool weak = first && strcmp(first->kind, "loop") == 0 && share >= ORDINARY_BELOW;
    if (first && first->saves >= FIRST_FROM && !weak)
        return EXPLAIN_FIRST_PLACE;
    return schedule && !first && e->places.n_functions ? EXPLAIN_ORDINARY : EXPLAIN_AS_IT_IS;
}

static void tell_ordinary(struct explanation *e, double share)
{
    snprintf(
        e->missing, sizeof e->missing,
        "Ordinary work: %.200s has most samples, %.1f %%, and nothing stands out in it. Its largest cost "
        "(%s) is what such code mostly has",
        e->function, 100 * share, e->words);
    *e->claim = *e->cause = *e->words = 0;
    e->about = EXPLAIN_NOTHING;
    e->advice = NULL;
    e->n_ruled_out = 0;
    e->of_function = e->of_program = (struct explain_gain){NAN, NAN, NAN};
}

void explain_first_place(struct explanation *e, const struct parsed *args, const struct calc_subject *s)
{
    const double total = (double)s->rows.total[s->profile.main_event],
                 share = s->row && total > 0 ? (double)s->row->samples[s->profile.main_event] / total : 0;
    const enum explain_instead instead = explain_instead(e, share);
    if (instead == EXPLAIN_AS_IT_IS)
        return;
    free(e->verify);
    e->verify = NULL;
    if (instead == EXPLAIN_ORDINARY) {
        tell_ordinary(e, share);
        return;
    }
    tell(e, &e->places.at[0]);
    explain_verify(e, args, s->profile.store, e->about == EXPLAIN_WAIT);
}
