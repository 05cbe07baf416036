/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A frame of an inlined function hangs below that of the procedure whose instructions it is part of. */
#include "cli/profile/lines/inlined.h"
#include "analysis/contexts/calls.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

/* The number of the function of the first frame outwards that isn't inlined; 0: there is none. */
static uint32_t procedure_of(const struct cs_calls *calls, uint32_t node)
{
    const struct cs_context *at = cs_contexts_at(calls->tree, node);
    while (node != CS_CONTEXTS_ROOT && at->image == CS_CALL_INLINED) {
        node = at->parent;
        at = cs_contexts_at(calls->tree, node);
    }
    return node == CS_CONTEXTS_ROOT ? 0 : (uint32_t)at->offset;
}

/* The function that has most samples of `function` inlined; NULL: it was never. */
static const struct cs_call_function *most_in(const struct cs_calls *calls, uint32_t function)
{
    const struct cs_call_function *most = NULL;
    uint64_t *samples = calloc(calls->n_functions + 1UL, sizeof *samples), least = 0;
    for (uint32_t n = 1; samples && n < cs_contexts_count(calls->tree); n++) {
        const struct cs_context *at = cs_contexts_at(calls->tree, n);
        uint32_t of = at->offset == function && at->image == CS_CALL_INLINED ? procedure_of(calls, n) : 0;
        if (!of || !calls->functions[of].known || (samples[of] += at->total) <= least)
            continue;
        least = samples[of];
        most = &calls->functions[of];
    }
    free(samples);
    return most;
}

struct inlined_into inlined_into(const struct profile *profile, const char *name)
{
    assert(profile->main_event < profile->n_events);
    struct inlined_into out = {""};
    struct cs_calls calls;
    struct cs_error ignored = {0};
    const struct cs_calls_wanted wanted = {.event = profile->events[profile->main_event].name,
                                           .inlines = true};
    if (cs_calls_open(&calls, profile->store, &wanted, &ignored) < 0)
        return out;
    uint32_t function = cs_calls_find(&calls, name, NULL);
    const struct cs_call_function *into = function ? most_in(&calls, function) : NULL;
    if (into)
        snprintf(out.sentence, sizeof out.sentence,
                 "%.150s has no samples in code of its own: it was inlined, the largest part into %.150s; "
                 "ask for that",
                 name, into->brief);
    cs_calls_close(&calls);
    return out;
}
