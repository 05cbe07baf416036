/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A frame of an inlined function hangs below that of the procedure whose instructions it is part of. */
#include "cli/profile/inlined.h"
#include "analysis/contexts/calls.h"

#include <stdio.h>

/* The function of the first frame outwards that isn't inlined; NULL: there is none. */
static const struct cs_call_function *procedure_of(const struct cs_calls *calls, uint32_t node)
{
    const struct cs_context *at = cs_contexts_at(calls->tree, node);
    while (node != CS_CONTEXTS_ROOT && at->image == CS_CALL_INLINED) {
        node = at->parent;
        at = cs_contexts_at(calls->tree, node);
    }
    return node == CS_CONTEXTS_ROOT ? NULL : &calls->functions[at->offset];
}

struct inlined_into inlined_into(const struct profile *profile, const char *name)
{
    struct inlined_into out = {""};
    struct cs_calls calls;
    struct cs_error ignored = {0};
    const struct cs_calls_wanted wanted = {.event = profile->events[profile->main_event].name,
                                           .inlines = true};
    uint64_t most = 0;
    if (cs_calls_open(&calls, profile->store, &wanted, &ignored) < 0)
        return out;
    uint32_t function = cs_calls_find(&calls, name, NULL);
    for (uint32_t n = 1; function && n < cs_contexts_count(calls.tree); n++) {
        const struct cs_context *at = cs_contexts_at(calls.tree, n);
        if (at->offset != function || at->image != CS_CALL_INLINED || at->total <= most)
            continue;
        const struct cs_call_function *of = procedure_of(&calls, n);
        if (!of || !of->known)
            continue;
        most = at->total;
        snprintf(out.sentence, sizeof out.sentence,
                 "%.150s has no samples in code of its own: it was inlined, the largest part into %.150s; "
                 "ask for that",
                 name, of->brief);
    }
    cs_calls_close(&calls);
    return out;
}
