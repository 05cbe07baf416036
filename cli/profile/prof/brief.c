/* SPDX-License-Identifier: GPL-2.0-or-later */
/* prof --brief-calls: functions that are called often and are over soon, a name a line, for the compiler plugins'
 * brief=@FILE. A function is listed if a call takes less than NS, callees included. All functions that it calls in its image must be listed, too. Samples bound the time: two standard deviations above the estimate. */
#include "analysis/contexts/call_counts.h"
#include "analysis/frequency/edge_flow.h"
#include "cli/output/output.h"
#include "cli/profile/prof/prof.h"
#include "store/base/order.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SEEN_MIN 3 /* calls in bursts: a function that was seen less is not known */

struct brief {
    const struct cs_call_function *function;
    double calls, ns; /* a call at most */
};

CS_ORDER(by_calls, struct brief, cs_order(b->calls, a->calls),
         strcmp(a->function->linkage, b->function->linkage))

/* With a name that the plugins' list can have, of the images that --image lets pass, where it is given. */
static bool chosen(const struct parsed *args, const struct profile *p, const struct cs_call_function *f)
{
    bool found = !option_given(args, "image");
    if (strpbrk(f->linkage, ", \n*?[\\"))
        return false;
    for (size_t i = 0; !found && f->image && i < p->n_images; i++)
        found = strcmp(p->images[i].image.id, f->image->id) == 0;
    return found;
}

/* What a call takes at most, ns; infinite where it isn't known. */
static double most_ns(const struct cs_call_counts *counts, const struct cs_call_function *f,
                      const struct cs_call_count *count, double period_ns)
{
    const double samples = (double)(f->total > f->self ? f->total : f->self),
                 calls = count->calls * counts->executions * exp(-2 * count->error);
    if (!f->known || !f->image || !*f->linkage || count->seen < SEEN_MIN || !(calls > 0))
        return INFINITY;
    return (samples + 2 * sqrt(samples) + 3) * period_ns / calls;
}

static bool leads_out(const struct cs_calls *calls, const double *ns, double limit_ns, uint32_t from,
                      uint32_t to)
{
    const struct cs_store_image *a = calls->functions[from].image, *b = calls->functions[to].image;
    return ns[from] < limit_ns && !(ns[to] < limit_ns) && a && b && strcmp(a->id, b->id) == 0;
}

/* Who calls what isn't brief isn't either, whether bursts or chains saw it: its caller's tag would not be written again. */
static void leave_callers_of_others(const struct cs_calls *calls, const struct cs_call_counts *counts,
                                    double *ns, double limit_ns)
{
    bool changed = true;
    while (changed) {
        unsigned depth;
        changed = false;
        for (size_t i = 0; i < counts->n; i++)
            if (leads_out(calls, ns, limit_ns, counts->list[i].from, counts->list[i].to)) {
                ns[counts->list[i].from] = INFINITY;
                changed = true;
            }
        for (uint32_t n = 0; (n = cs_contexts_next(calls->tree, 0, n, &depth));) {
            const uint32_t parent = cs_contexts_at(calls->tree, n)->parent;
            const uint32_t to = (uint32_t)(cs_calls_function(calls, n) - calls->functions),
                           from =
                               parent ? (uint32_t)(cs_calls_function(calls, parent) - calls->functions) : to;
            if (leads_out(calls, ns, limit_ns, from, to)) {
                ns[from] = INFINITY;
                changed = true;
            }
        }
    }
}

static int print(const struct parsed *args, const struct brief *list, size_t n, size_t known, double limit_ns,
                 double share)
{
    static const struct column columns[] = {
        {.key = "function", .head = "function", .kind = COLUMN_TEXT},
        {.key = "calls", .head = "calls", .kind = COLUMN_NUMBER, .digits = -1},
        {.key = "most_ns", .head = "ns at most", .kind = COLUMN_NUMBER, .digits = 1},
    };
    if (!option_given(args, "json") && !option_given(args, "csv")) {
        for (size_t i = 0; i < n; i++)
            printf("%s\n", list[i].function->linkage);
        report_line(
            stderr,
            "%zu of %zu functions whose calls were seen take less than %g ns per call: %.1f %% of all calls",
            n, known, limit_ns, share);
        return fflush(stdout) == 0 ? CS_EXIT_OK : failed_with("standard output: not written in full");
    }
    struct output *out = output_open(args);
    struct table *table = output_table(out, "brief", columns, 3);
    for (size_t i = 0; i < n; i++) {
        table_text(table, list[i].function->linkage);
        table_number(table, list[i].calls);
        table_number(table, list[i].ns);
    }
    output_set(out, "percent_of_calls", json_real(share));
    return output_close(out);
}

static int list_brief(const struct parsed *args, const struct profile *p, const struct cs_calls *calls,
                      const struct cs_call_counts *counts, double limit_ns)
{
    const struct profile_event *e = &p->events[p->main_event];
    const double period_ns = e->samples ? (double)e->period_sum / (double)e->samples : 0;
    double *ns = malloc((calls->n_functions + 1) * sizeof *ns), all = 0, of_brief = 0;
    struct brief *list = calloc(calls->n_functions + 1, sizeof *list);
    size_t n = 0, known = 0;
    int exit_code;
    if (!ns || !list) {
        exit_code = failed_with("out of memory for a list of functions");
        goto out;
    }
    for (uint32_t i = 0; i < calls->n_functions; i++) {
        const struct cs_call_count count = cs_call_count_to(counts, i);
        ns[i] = most_ns(counts, &calls->functions[i], &count, period_ns);
        all += count.calls;
        known += count.seen >= SEEN_MIN;
    }
    leave_callers_of_others(calls, counts, ns, limit_ns);
    for (uint32_t i = 0; i < calls->n_functions; i++)
        if (ns[i] < limit_ns && chosen(args, p, &calls->functions[i])) {
            const struct cs_call_count count = cs_call_count_to(counts, i);
            list[n++] = (struct brief){&calls->functions[i], count.calls * counts->executions, ns[i]};
            of_brief += count.calls;
        }
    cs_sort(list, n, by_calls);
    exit_code = print(args, list, n, known, limit_ns, all > 0 ? 100 * of_brief / all : 0);
out:
    free(ns);
    free(list);
    return exit_code;
}

int brief_report(const struct parsed *args, struct profile *p, const char *store)
{
    struct cs_calls calls;
    struct cs_call_counts counts;
    struct cs_edge_flow *flow = NULL;
    struct cs_error err = {0};
    const struct profile_event *e = &p->events[p->main_event];
    struct profile_rows rows;
    const struct cs_calls_wanted wanted = {.event = e->name, .label = option(args, "process")};
    if (strcmp(e->unit, "ns") != 0)
        return failed_with("%s is not counted in ns: --brief-calls needs samples of time, such as cpu-clock",
                           e->name);
    if (profile_sum(p, BY_PROCEDURE, &rows, &err) < 0) /* for the event's samples */
        return failed(&err);
    profile_rows_fini(&rows);
    if (cs_calls_open(&calls, p->store, &wanted, &err) < 0)
        return failed(&err);
    int rc = profile_edge_flow(p, &flow, &err);
    rc = rc < 0 ? rc : cs_call_counts_open(&counts, &calls, p->store, flow, false, &err);
    cs_edge_flow_close(flow);
    if (rc < 0) {
        cs_calls_close(&calls);
        return failed(&err);
    }
    int exit_code;
    if (!calls.total)
        exit_code = failed_with(
            "%s has no call chains, which show the cost of a call: record again without --no-chains", store);
    else if (!counts.n || !(counts.executions > 0))
        exit_code = failed_with("%s has no timed bursts, which count the calls of functions: record longer, "
                                "with --burst-rate 100, or on a quieter machine",
                                store);
    else
        exit_code = list_brief(args, p, &calls, &counts, option_number(args, "brief-calls", 0, 0, 1e9));
    cs_call_counts_close(&counts);
    cs_calls_close(&calls);
    return exit_code;
}
