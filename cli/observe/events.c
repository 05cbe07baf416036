/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/observe/events.h"
#include "cli/command/command.h"
#include "observer/source/core_events.h"
#include "sampler/perf/event_groups.h"
#include "sampler/perf/events.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

/* "@ipc" as the names of its events; the core's where this processor has them and the observer sits on its core. */
static int expand(const char *list, bool smt, char *to, struct cs_error *err)
{
    const char *why;
    const bool core = smt && cs_events_any_thread(&why);
    char one[OBSERVE_EVENTS_BYTES], *rest = one, *name;
    size_t used = 0;
    snprintf(one, sizeof one, "%s", list);
    *to = '\0';
    while ((name = strsep(&rest, ","))) {
        char group[OBSERVE_EVENTS_BYTES], *modifier = *name == '@' ? strchr(name, ':') : NULL;
        const bool any = core || (modifier && strcmp(modifier, ":t") == 0);
        if (!*name)
            continue;
        snprintf(group, sizeof group, "%s", name);
        if (modifier)
            *modifier = '\0';
        int rc = *name == '@' ? cs_event_group(name, any && cs_events_any_thread(&why) ? 2 : 1,
                                               any ? ":t" : "", group, sizeof group, err)
                              : 0;
        if (rc < 0)
            return rc;
        int more = snprintf(to + used, OBSERVE_EVENTS_BYTES - used, "%s%s", used ? "," : "", group);
        used += (size_t)more;
        if (used >= OBSERVE_EVENTS_BYTES)
            return cs_fail(err, E2BIG, "--event: the list is too long");
    }
    return 0;
}

/* All from the core's counters, if one is to be: with the observer's share taken off each is the program's own. */
static int all_of_the_core(struct cs_observe_options *options, struct cs_error *err)
{
    for (unsigned e = 0; e < options->n_events; e++) {
        struct cs_observe_event *event = &options->events[e];
        struct perf_event_attr attr = event->attr;
        if (!cs_core_event(&attr)) {
            const char *other = options->events[e ? 0 : 1].name;
            return options->n_events == 1
                       ? cs_fail(err, EINVAL, "%s is not counted by the core: leave :t out", event->name)
                       : cs_fail(err, EINVAL,
                                 "%s is not counted by the core, and can't be read together with its "
                                 "counters: observe -e %s, and then -e %s",
                                 event->name, other, event->name);
        }
        event->any_thread = true;
    }
    options->smt = true;
    return 0;
}

int observe_events(const char *list, struct cs_observe_options *options, char *buffer)
{
    assert(list && buffer);
    struct cs_error err;
    const char *why = "";
    bool any = false;
    if (expand(list, options->smt, buffer, &err) < 0)
        return failed(&err);
    char *rest = buffer, *one;
    while ((one = strsep(&rest, ","))) {
        struct cs_event parsed;
        if (!*one)
            continue;
        if (options->n_events == CS_COUNTERS_MAX)
            return usage_error("--event %s: at most %d events", list, CS_COUNTERS_MAX);
        if (cs_event_parse(one, &parsed, &err) < 0)
            return failed(&err);
        any |= parsed.any_thread;
        options->events[options->n_events++] = (struct cs_observe_event){.name = one, .attr = parsed.attr};
    }
    if (any && cs_events_any_thread(&why))
        return all_of_the_core(options, &err) < 0 ? failed(&err) : CS_EXIT_OK;
    if (any)
        remark("%s: the program's own counters are read instead, by a system call per sample (--period 50k "
               "or more disturbs it little)",
               why);
    return CS_EXIT_OK;
}
