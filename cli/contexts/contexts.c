/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/contexts/contexts.h"
#include "cli/command/figures.h"
#include "cli/command/time_range.h"
#include "cli/profile/ask_debuginfod.h"

#include "store/base/text.h"
#include "store/table/wait_schemas.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

int chains_open(struct chains *c, const struct parsed *args, bool needs_chains, bool by_label)
{
    struct cs_error err = {0};
    struct profile_filter filter = {NULL, option(args, "process"), recording_asked(args),
                                    option(args, "event"), true};
    *c = (struct chains){.store = store_location(args)};
    if (profile_open(&c->profile, c->store, &filter, &err) < 0)
        return failed(&err);
    if (profile_needs_code(&c->profile, &err) < 0) {
        profile_close(&c->profile);
        return failed(&err);
    }
    ask_debuginfod(&c->profile);
    c->waits = option_given(args, "waits");
    c->event = c->waits ? CS_WAITS_EVENT : c->profile.events[c->profile.main_event].name;
    struct cs_calls_wanted wanted = {.event = c->event,
                                     .label = filter.label,
                                     .inlines = !option_given(args, "no-inlines"),
                                     .by_label = by_label};
    int rc = cs_calls_open(&c->calls, c->profile.store, &wanted, &err);
    if (rc < 0)
        rc = failed(&err);
    else if (!c->calls.total && c->waits)
        rc =
            failed_with("the recording in %s has no waits: cyclescope record --waits records them", c->store);
    else if (!c->calls.total && (needs_chains || !c->profile.n_edges))
        rc = failed_with("the samples of %s in %s have no call chains: record again without --no-chains",
                         c->event, c->store);
    if (rc)
        chains_close(c);
    return rc;
}

int chains_count(struct chains *c, const struct parsed *args, struct cs_error *err)
{
    struct cs_edge_flow *flow = NULL;
    if (!c->profile.n_edges)
        return 0;
    struct profile_rows rows;
    int rc = profile_sum(&c->profile, BY_IMAGE, &rows, err);
    if (rc < 0)
        return rc;
    const struct profile_event *e = &c->profile.events[c->profile.main_event];
    c->period = e->samples ? (double)e->period_sum / (double)e->samples : 0;
    profile_rows_fini(&rows);
    rc = profile_edge_flow(&c->profile, &flow, err);
    if (rc == 0)
        rc = cs_call_counts_open(&c->counts, &c->calls, c->profile.store, flow,
                                 !option_given(args, "no-inlines"), err);
    c->counted = rc == 0 && c->counts.n;
    cs_edge_flow_close(flow);
    return rc;
}

void chains_close(struct chains *c)
{
    cs_call_counts_close(&c->counts);
    if (c->calls.tree)
        cs_calls_close(&c->calls);
    profile_close(&c->profile);
}

static void not_there(const struct chains *c, const char *name)
{
    struct cs_resembling r = {.word = name};
    for (uint32_t i = 1; i < c->calls.n_functions; i++)
        if (c->calls.functions[i].known)
            cs_resembling_try_function(&r, c->calls.functions[i].brief);
    failed_with("%s is in no call chain of %s (cyclescope tree shows what is)%s", name, c->event,
                cs_did_you_mean(&r).text);
}

uint32_t chains_function(const struct chains *c, const char *name)
{
    uint32_t found = 0;
    if (name) {
        found = cs_calls_find(&c->calls, name, NULL);
        if (!found)
            not_there(c, name);
        return found;
    }
    for (uint32_t i = 1; i < c->calls.n_functions; i++)
        if (!found || c->calls.functions[i].self > c->calls.functions[found].self)
            found = i;
    return found;
}

const char *chains_frame(const struct chains *c, const struct cs_contexts *tree, uint32_t node, bool brief,
                         char *text, size_t room)
{
    assert(room > 0);
    const struct cs_context *at = cs_contexts_at(tree, node);
    const struct cs_call_function *f = &c->calls.functions[at->offset];
    snprintf(text, room, "%s%s", brief ? f->brief : f->name,
             at->image == CS_CALL_INLINED ? " (inlined)" : "");
    return text;
}

const char *chains_image(const struct cs_call_function *function)
{
    return function->image ? image_name(function->image) : NULL;
}

void chains_describe(const struct chains *c, struct output *out)
{
    const struct profile_event *e = &c->profile.events[c->profile.main_event];
    if (c->waits)
        output_line(out, "%s s of waiting, in ns", figure((double)c->calls.total * 1e-9, 3).text);
    else if (strcmp(e->unit, "ns") == 0 && e->period_sum)
        output_line(out, "%s: %s sample%s with call chains; %s s in all", e->name,
                    thousands((double)c->calls.total).text, plural((double)c->calls.total),
                    figure((double)e->period_sum / 1e9, 3).text);
    else
        output_line(out, "%s: %s sample%s with call chains", e->name, thousands((double)c->calls.total).text,
                    plural((double)c->calls.total));
    if (*c->calls.trouble)
        output_note(out, "%s", c->calls.trouble);
    output_set(out, "event", json_text(c->event));
    output_set(out, "with_chains", json_integer((json_int_t)c->calls.total));
}
