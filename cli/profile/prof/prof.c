/* SPDX-License-Identifier: GPL-2.0-or-later */
/* prof: where the samples are, by image, procedure, line, process or tag. dcpi-1997 section 3.1 (dcpiprof).
 * One row holds what the sampler and the observer know of the same procedure. */
#include "cli/profile/prof/prof.h"
#include "analysis/contexts/calls.h"
#include "cli/command/figures.h"
#include "cli/command/time_range.h"
#include "cli/output/output.h"
#include "cli/profile/ask_debuginfod.h"
#include "cli/profile/call_columns.h"
#include "cli/profile/lines/annotate.h"
#include "cli/profile/lines/hottest_line.h"
#include "cli/profile/more_evidence.h"
#include "cli/profile/nameless.h"
#include "cli/profile/totals.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define EVENTS_SHOWN 6 /* columns of events in text; JSON and CSV have all */
#define FIXED_COLUMNS 16
#define ROWS_SHOWN 10
#define EXPLAINED_MIN 0.02 /* of the samples: calc of less explains little */

struct layout {
    struct column columns[FIXED_COLUMNS + 128];
    unsigned n, event_column[64], n_events;
    bool text; /* for people */
    unsigned share;
};

struct counted { /* what call chains and edges tell, of procedures */
    struct cs_calls calls;
    struct cs_call_counts counts; /* none unless --calls */
    bool wanted;
};

static const char *const by_names[] = {"image",  "function",  "line",      "process", "tag",
                                       "thread", "container", "attribute", "label",   NULL};
#define BY_LABELS 5 /* from here on in by_names: what --label keeps apart, as processes are */

static void push(struct layout *l, struct column c)
{
    l->columns[l->n++] = c;
}

/* The k-th column of events is event `e`. */
static bool is_shown(const struct profile *p, unsigned k, unsigned e)
{
    return k < EVENTS_SHOWN && (k == 0 || !profile_is_inner(p->events[e].name));
}

/* The instructions that were counted as the main event's cycles were (cycles:u, instructions:u), or -1. */
static int instructions_of(const struct profile *p)
{
    const char *cycles = p->events[p->main_event].name;
    char name[80];
    if (strncmp(cycles, "cycles", 6) != 0 || (cycles[6] && cycles[6] != ':'))
        return -1;
    snprintf(name, sizeof name, "instructions%s", cycles + 6);
    return profile_event_index(p, name);
}

static struct layout make_layout(const struct profile *p, enum profile_by by, const struct counted *counted,
                                 const char *label)
{
    bool totals = counted->calls.total > 0;
    struct layout l = {.n = 0};
    l.n_events = p->n_events < 64 ? p->n_events : 64;
    for (unsigned k = 0; k < l.n_events; k++) { /* the main event first; each has its shares beside it */
        unsigned e = k == 0 ? p->main_event : k <= p->main_event ? k - 1 : k;
        bool shown = is_shown(p, k, e);
        l.event_column[k] = e;
        push(&l, (struct column){.key = p->events[e].name,
                                 .head = shown ? p->events[e].name : NULL,
                                 .group = "samples",
                                 .kind = COLUMN_COUNT});
        if (k == 0) {
            push(&l, (struct column){.key = "percent", .head = "%", .kind = COLUMN_SHARE});
            push(&l, (struct column){.key = "running_percent",
                                     .head = totals ? NULL : "cum %",
                                     .plain = true,
                                     .kind = COLUMN_SHARE});
            push(&l, (struct column){.key = "total", .kind = COLUMN_COUNT});
            push(&l, (struct column){
                         .key = "total_percent", .head = totals ? "total %" : NULL, .kind = COLUMN_SHARE});
            push(&l, (struct column){.key = "cpi",
                                     .head = instructions_of(p) >= 0 ? "CPI" : NULL,
                                     .kind = COLUMN_NUMBER,
                                     .digits = 2});
        } else {
            push(&l, (struct column){.key = p->events[e].name,
                                     .head = shown ? "%" : NULL,
                                     .group = "percents",
                                     .kind = COLUMN_SHARE});
        }
    }
    if (counted->wanted) {
        call_columns(&counted->counts, l.columns + l.n);
        l.n += CALL_COLUMNS;
    }
    bool procedures = by == BY_PROCEDURE || by == BY_LINE;
    push(&l, (struct column){.key = "procedure", .head = procedures ? "function" : NULL, .elastic = true});
    push(&l,
         (struct column){
             .key = "line", .head = by == BY_LINE ? "source line" : NULL, .elastic = true, .keep_end = true});
    push(&l, (struct column){.key = "process", .head = by == BY_PROCESS ? label : NULL, .elastic = true});
    push(&l, (struct column){.key = "tag", .head = by == BY_TAG ? "tag" : NULL, .elastic = true});
    push(&l, (struct column){.key = "image", .kind = COLUMN_TEXT});
    push(&l, (struct column){.key = "build_id", .kind = COLUMN_TEXT});
    push(&l,
         (struct column){.key = "image_name", .elastic = true, .head = by == BY_PROCESS ? NULL : "image"});
    return l;
}

static void row_names(struct table *table, enum profile_by by, const struct profile_row *r, bool text)
{
    char name[1024], brief[1024], where[1200], hex[24];
    if (r->name && by != BY_PROCESS && by != BY_TAG)
        table_names(table, cs_image_demangle(r->name, name, sizeof name),
                    cs_image_short_name(r->name, brief, sizeof brief));
    else
        table_text(table, by == BY_IMAGE || by == BY_PROCESS || by == BY_TAG ? NULL : "[no symbol]");
    if (r->file && *r->file) {
        snprintf(where, sizeof where, "%s:%u", r->file, r->line);
        table_text(table, where);
    } else {
        table_text(table, NULL);
    }
    table_text(table, by == BY_PROCESS ? (r->name && *r->name ? r->name : "[unlabelled]") : NULL);
    snprintf(hex, sizeof hex, "%" PRIu64, r->start);
    table_text(table, by == BY_TAG ? (r->name ? r->name : hex) : NULL);
    table_text(table, r->image ? r->image->image.path : NULL);
    table_text(table, r->image && *r->image->image.build_id ? r->image->image.build_id : NULL);
    if (r->image && text) { /* builds of one program, which --image knows by these six letters */
        snprintf(where, sizeof where, "%.1000s %.6s", image_name(&r->image->image), r->image->image.id);
        table_names(table, where, image_name(&r->image->image));
    } else {
        table_text(table, r->image ? image_name(&r->image->image) : NULL);
    }
}

/* With call chains: what was sampled in it and in all that it called. */
static void total_cells(struct table *table, const struct cs_calls *calls, const struct profile_row *r,
                        uint64_t own)
{
    const struct cs_call_function *f =
        calls && r->image && r->name ? cs_calls_of_procedure(calls, r->image->image.id, r->start) : NULL;
    if (f) {
        /* rare chains are kept without their inner frames: a procedure has at least its own samples */
        uint64_t total = f->total > own ? f->total : own;
        table_count(table, total);
        table_number(table, 100.0 * fmin(1, (double)total / (double)calls->total));
    } else {
        table_none(table, 2);
    }
}

/* A call's cost is the procedure's total, where there are chains, else what it took itself. */
static void counted_cells(struct table *table, const struct counted *counted, const struct profile *p,
                          const struct profile_row *r)
{
    const struct profile_event *e = &p->events[p->main_event];
    const struct cs_call_function *f =
        r->image && r->name ? cs_calls_of_procedure(&counted->calls, r->image->image.id, r->start) : NULL;
    struct cs_call_count count = {.calls = 0};
    if (f)
        count = cs_call_count_to(&counted->counts, (uint32_t)(f - counted->calls.functions));
    call_cells(table, &counted->counts, f ? &count : NULL,
               f && f->total ? f->total : r->samples[p->main_event],
               e->samples ? (double)e->period_sum / (double)e->samples : 0, e->unit);
}

/* Events that shared a counter: what their samples are to be multiplied by (sprof-1998 section 3.1). */
static double scale_of(const struct profile_event *e)
{
    return e->running_ns && e->running_ns < e->enabled_ns ? (double)e->enabled_ns / (double)e->running_ns : 1;
}

static double counted_of(const struct profile_event *e, uint64_t samples)
{
    return e->samples ? (double)samples * scale_of(e) * (double)e->period_sum / (double)e->samples : 0;
}

#define CPI_SAMPLES 10 /* with fewer of instructions it is chance */

static double cpi_of(const struct profile *p, const struct profile_row *r)
{
    int e = instructions_of(p);
    if (e < 0 || r->samples[e] < CPI_SAMPLES)
        return NAN;
    return counted_of(&p->events[p->main_event], r->samples[p->main_event]) /
           counted_of(&p->events[e], r->samples[e]);
}

static void fill(struct table *table, const struct layout *l, const struct profile *p, enum profile_by by,
                 const struct profile_rows *rows, size_t most, const struct counted *counted)
{
    double total = (double)rows->total[l->event_column[0]];
    uint64_t sum = 0;
    for (size_t i = 0; i < rows->n && i < most; i++) {
        const struct profile_row *r = &rows->row[i];
        for (unsigned k = 0; k < l->n_events; k++) {
            uint64_t n = r->samples[l->event_column[k]];
            table_count(table, n);
            if (k == 0) {
                sum += n;
                table_number(table, total > 0 ? 100.0 * (double)n / total : (double)NAN);
                table_number(table, total > 0 ? 100.0 * (double)sum / total : (double)NAN);
                total_cells(table, counted->calls.total ? &counted->calls : NULL, r, n);
                table_number(table, cpi_of(p, r));
            } else {
                double all = (double)rows->total[l->event_column[k]];
                table_number(table, all > 0 ? 100.0 * (double)n / all : (double)NAN);
            }
        }
        if (counted->wanted)
            counted_cells(table, counted, p, r);
        row_names(table, by, r, l->text);
    }
    table_omitted(table, rows->n > most ? rows->n - most : 0);
}

static void describe_sharing(struct output *out, const struct profile *p)
{
    for (size_t i = 0; i < p->n_events; i++) {
        const struct profile_event *e = &p->events[i];
        if (scale_of(e) > 1.02)
            output_line(out, "%s had a counter %.0f %% of the time: its samples stand for %s times as many",
                        e->name, 100 / scale_of(e), figure(scale_of(e), 3).text);
    }
}

/* Which of several recordings this is. */
static void describe_recording(struct output *out, const struct profile *p)
{
    const struct recordings *r = &p->recordings;
    if (r->all && p->n_epochs > 1)
        output_line(out, "%u epochs together%s", p->n_epochs,
                    r->daemon ? ", a daemon's; --epoch NAME shows one (cyclescope store ls)" : "");
    else if (r->n > 1 && *r->name)
        output_line(out, "recording %s%s", r->name,
                    *r->before ? ", the newest; --epoch -2 shows the one before, --epoch all adds them up"
                               : "");
    output_set(out, "recording", *r->name ? json_text(r->name) : json_null());
}

/* ", one each 1.00 ms, 10.2 s in all" */
static const char *each(const struct profile_event *e, char *to, size_t size)
{
    char text[2][48];
    double mean = e->samples ? (double)e->period_sum / (double)e->samples : 0;
    *to = '\0';
    if (profile_is_observed(e) || profile_is_counted(e))
        return to;
    if (mean > 0 && strcmp(e->unit, "ns") == 0)
        snprintf(to, size, ", one each %s ms, %s s in all", figures(mean / 1e6, 3, text[0]),
                 figures((double)e->period_sum / 1e9, 3, text[1]));
    else if (mean > 0)
        snprintf(to, size, ", one each %s %s", figures(mean, 6, text[0]),
                 mean == 1 && (!*e->unit || strcmp(e->unit, "events") == 0) ? "event"
                 : *e->unit                                                 ? e->unit
                                                                            : "events");
    return to;
}

/* Recordings whose samples show less CPU time than the kernel charged (cli/record/record_charged.h). */
static void describe_charged(struct output *out, const struct profile *p)
{
    uint64_t charged_ms = 0, sampled_ms = 0;
    struct cs_error err = {0};
    if (cs_store_counter(p->store, "charged_short.ms", &charged_ms, &err) < 0 || !charged_ms ||
        cs_store_counter(p->store, "charged_short.sampled_ms", &sampled_ms, &err) < 0)
        charged_ms = 0;
    if (charged_ms)
        output_line(out, "the kernel charged %s s of CPU time, samples show %s s (see troubleshooting)",
                    figure((double)charged_ms / 1000, 3).text, figure((double)sampled_ms / 1000, 3).text);
    output_set(out, "charged_seconds", charged_ms ? json_real((double)charged_ms / 1000) : json_null());
}

/* "cpu-clock: 10,234 samples, one each 1.00 ms, ..." */
static void describe(struct output *out, const struct profile *p, enum profile_by by,
                     const struct profile_rows *rows)
{
    const struct profile_event *e = &p->events[p->main_event];
    char period[160], each_text[160];
    each(e, period, sizeof period);
    char nameless[48] = "";
    uint64_t without = by == BY_PROCEDURE ? nameless_samples(p, rows) : 0;
    if (without && e->samples)
        snprintf(nameless, sizeof nameless, ", %.2f %% without a name",
                 100.0 * (double)without / (double)e->samples);
    output_line(out, "%s: %s %s%s; %.2f %% unknown%s; %zu image%s", e->name,
                thousands((double)e->samples).text, profile_unit(e), period,
                e->samples ? 100.0 * (double)rows->unknown / (double)e->samples : 0.0, nameless, p->n_images,
                plural((double)p->n_images));
    for (unsigned k = 1; k < p->n_events; k++) {
        const struct profile_event *other = &p->events[k <= p->main_event ? k - 1 : k];
        if (is_shown(p, k, k <= p->main_event ? k - 1 : k) && other->samples)
            output_line(out, "%s: %s %s%s", other->name, thousands((double)other->samples).text,
                        profile_unit(other), each(other, each_text, sizeof each_text));
    }
    describe_recording(out, p);
    uint64_t lost = 0;
    struct cs_error err = {0};
    if (cs_store_counter(p->store, "lost", &lost, &err) == 0 && lost)
        output_line(out, "%s further sample%s lost by the kernel", thousands((double)lost).text,
                    lost == 1 ? " was" : "s were");
    output_set(out, "lost", json_integer((json_int_t)lost));
    describe_charged(out, p);
    describe_sharing(out, p);
    if (rows->idle)
        output_line(out, "%.1f %% of them are of idle CPUs: they are in no row and no share below",
                    100.0 * (double)rows->idle / (double)e->samples);
    output_set(out, "idle", json_integer((json_int_t)rows->idle));
    if (rows->trouble[0])
        output_line(out, "%s", rows->trouble);
    output_line(out, "%s", "");
}

static void describe_events(struct output *out, const struct profile *p)
{
    json_t *events = json_array();
    for (unsigned i = 0; i < p->n_events; i++) {
        const struct profile_event *e = &p->events[i];
        json_array_append_new(events,
                              json_pack("{s:o, s:o, s:I, s:I, s:I, s:I}", "name", json_text(e->name), "unit",
                                        json_text(e->unit), "samples", (json_int_t)e->samples, "period_sum",
                                        (json_int_t)e->period_sum, "enabled_ns", (json_int_t)e->enabled_ns,
                                        "running_ns", (json_int_t)e->running_ns));
    }
    output_set(out, "events", events);
    output_set(out, "event", json_text(p->events[p->main_event].name));
}

static const char *const hottest_how[] = {NULL, "own", "caller", "later", "chains"};

/* calc needs the instructions: the kernel's are in no file, nor are those of most made code. */
static bool can_be_explained(const struct profile_row *r, const struct profile *p, double total)
{
    return (double)r->samples[p->main_event] >= EXPLAINED_MIN * total && r->name && r->image && r->readable;
}

/* The page at one procedure: nothing of a name but letters, digits, '.', '_' and '-' goes into an address as it is. */
static void suggest_page(struct output *out, const char *name, const struct parsed *args)
{
    char link[900], tail[1000];
    size_t n = (size_t)snprintf(link, sizeof link, "report.html#p=");
    for (const char *p = name; *p && n + 4 < sizeof link; p++) {
        bool plain = (*p >= '0' && *p <= '9') || (*p >= 'A' && *p <= 'Z') || (*p >= 'a' && *p <= 'z') ||
                     strchr("._-", *p);
        n += (size_t)snprintf(link + n, sizeof link - n, plain ? "%c" : "%%%02X", (unsigned char)*p);
    }
    output_set(out, "page", json_text(link));
    snprintf(tail, sizeof tail, "      (then open %s)", link);
    output_next(out, args, "     ", "report", NULL, tail);
}

static void suggest(struct output *out, enum profile_by by, struct profile *p,
                    const struct profile_rows *rows, const struct cs_chains *chains,
                    const struct parsed *args)
{
    char name[256];
    const char *next = "next:";
    const struct profile_row *r = rows->n ? &rows->row[0] : NULL;
    struct hottest_line hottest = {.how = HOTTEST_NOWHERE};
    if (by == BY_PROCEDURE)
        hottest_line_find(p, rows, chains, &hottest);
    if (hottest.how != HOTTEST_NOWHERE)
        output_set(out, "hottest_line",
                   json_pack("{s:s, s:o, s:o, s:i, s:f, s:f}", "how", hottest_how[hottest.how], "function",
                             json_text(hottest.function), "file", json_text(hottest.file), "line",
                             (int)hottest.line, "samples", hottest.samples, "of", hottest.of));
    if (hottest.how == HOTTEST_OWN && hottest.second_line)
        output_set(
            out, "second_line",
            json_pack("{s:i, s:f}", "line", (int)hottest.second_line, "samples", hottest.second_samples));
    output_line(out, "%s", "");
    if (hottest.how != HOTTEST_NOWHERE) {
        char sentence[2048];
        hottest_line_sentence(&hottest, r, sentence, sizeof sentence);
        output_note(out, "%s", sentence);
        const char *verb = hottest.begins ? "callees" : "list"; /* which knows no more of a runtime's code */
        const char *what = hottest.begins ? hottest.function : hottest_line_file(&hottest);
        if (*what) {
            output_next(out, args, next, verb, what, "");
            next = "     ";
        }
    }
    if (hottest.row)
        r = hottest.row;
    for (size_t i = 0; r && !can_be_explained(r, p, (double)rows->total[p->main_event]);
         i++) /* the hottest that calc can read */
        r = i < rows->n && i < ROWS_SHOWN ? &rows->row[i] : NULL;
    if (by == BY_IMAGE || by == BY_LINE) { /* a line's function may be inlined: calc knows procedures */
        output_next(out, args, next, "prof", NULL, "      (by function)");
        next = "     ";
    } else if (r && by == BY_PROCEDURE) {
        output_next(out, args, next, profile_is_counted(&p->events[p->main_event]) ? "list" : "calc",
                    typed_name(rows, r, name, sizeof name), "");
        next = "     ";
    }
    if (*p->recordings.before)
        output_next(out, args, next, "diff", NULL, "      (against the recording before)");
    if (r && by == BY_PROCEDURE)
        suggest_page(out, typed_name(rows, r, name, sizeof name), args);
}

static int open_counted(const struct parsed *args, struct profile *p, enum profile_by by, struct counted *c,
                        struct cs_error *err)
{
    struct cs_edge_flow *flow = NULL;
    struct cs_calls_wanted wanted = {.event = p->events[p->main_event].name,
                                     .label = option(args, "process")};
    *c = (struct counted){.wanted = by == BY_PROCEDURE && option_given(args, "calls")};
    int rc = by == BY_PROCEDURE ? cs_calls_open(&c->calls, p->store, &wanted, err) : 0;
    if (rc < 0 || !c->wanted)
        return rc;
    rc = profile_edge_flow(p, &flow, err);
    rc = rc < 0 ? rc : cs_call_counts_open(&c->counts, &c->calls, p->store, flow, false, err);
    cs_edge_flow_close(flow);
    if (rc < 0)
        cs_calls_close(&c->calls);
    return rc;
}

static void close_counted(struct counted *c)
{
    cs_call_counts_close(&c->counts);
    cs_calls_close(&c->calls);
}

/* What was asked for must have been kept apart when it was recorded. */
static void suggest_label(struct output *out, const struct profile *p, const struct profile_rows *rows,
                          const char *asked)
{
    const char *kept = p->recordings.label;
    bool apart = rows->n > 1 || (rows->n && rows->row[0].name && *rows->row[0].name);
    if (strcmp(asked, "label") == 0 ? apart : *kept ? strcmp(asked, kept) == 0 : apart)
        return;
    output_line(out, "%s", "");
    output_note(out, "This recording separates profiles by %s, not by %s: record again with --label %s.",
                *kept ? kept : "nothing", asked,
                strcmp(asked, "label") == 0       ? "thread"
                : strcmp(asked, "attribute") == 0 ? "attribute=NAME"
                                                  : asked);
}

static const char *const orders[] = {"samples", "total", NULL};

static int report(const struct parsed *args, struct profile *p, enum profile_by by, const char *asked,
                  const char *store)
{
    bool wants_total = option_choice(args, "sort", orders, 0) == 1;
    struct counted counted;
    struct profile_rows rows;
    struct cs_error err = {0};
    uint64_t top = (uint64_t)option_number(args, "top", ROWS_SHOWN, 0, 1e12);
    bool all = option_given(args, "json") || option_given(args, "csv");
    if (open_counted(args, p, by, &counted, &err) < 0)
        return failed(&err);
    if (wants_total && !counted.calls.total) {
        close_counted(&counted);
        return failed_with("the samples of %s in %s have no call chains, which totals need: record again "
                           "without --no-chains",
                           p->events[p->main_event].name, store);
    }
    if (profile_sum_top(p, by, all || wants_total ? 0 : (size_t)top, &rows, &err) < 0 ||
        (wants_total && profile_rows_sort_by_total(&rows, p, &counted.calls) < 0)) {
        close_counted(&counted);
        return *err.text ? failed(&err) : failed_with("out of memory for the rows of the report");
    }
    struct output *out = output_open(args);
    describe(out, p, by, &rows);
    struct layout layout = make_layout(p, by, &counted, asked);
    layout.text = output_form(out) == OUTPUT_TEXT;
    struct table *table = output_table(out, "rows", layout.columns, layout.n);
    fill(table, &layout, p, by, &rows, output_form(out) == OUTPUT_TEXT && top ? (size_t)top : SIZE_MAX,
         &counted);
    table_limit(table, top, "--top 0 shows all");
    output_set(out, "total", json_integer((json_int_t)rows.total[p->main_event]));
    output_set(out, "unknown", json_integer((json_int_t)rows.unknown));
    output_set(out, "by", json_string(by == BY_PROCEDURE ? "procedure" : asked));
    describe_events(out, p);
    if (by == BY_TAG && rows.n == 0)
        output_note(out,
                    "This store has no observed tag with values (cyclescope observe -o STORE). Tags that are "
                    "addresses, as the compiler plugin writes them, are columns of cyclescope prof.");
    if (counted.calls.total)
        output_set(out, "with_chains", json_integer((json_int_t)counted.calls.total));
    if (by == BY_PROCEDURE) {
        output_set(out, "nameless", json_integer((json_int_t)nameless_samples(p, &rows)));
        nameless_explain(out, p, &rows);
    }
    if (by == BY_PROCESS)
        suggest_label(out, p, &rows, asked);
    if (counted.wanted && !counted.counts.n)
        output_note(out, "No call was seen. Bursts or branch records count the calls of functions (%s).",
                    more_evidence(p->store));
    else if (counted.wanted && !(counted.counts.executions > 0))
        output_note(out,
                    "Calls are relative numbers, because no burst was timed. Compare them with each other.");
    if (counted.wanted)
        call_advice(out, &counted.counts);
    if (counted.wanted)
        output_set(out, "calls_are", json_string(counted.counts.executions > 0 ? "estimated" : "relative"));
    suggest(out, by, p, &rows, &counted.calls.chains, args);
    profile_rows_fini(&rows);
    close_counted(&counted);
    return output_close(out);
}

static int run(const struct parsed *args)
{
    unsigned asked = option_choice(args, "by", by_names, BY_PROCEDURE);
    enum profile_by by = asked < BY_LABELS ? (enum profile_by)asked : BY_PROCESS;
    if (operand_count(args) > 1)
        return usage_error("%s: expected at most one store", operand(args, 1));
    const char *store = operand_count(args) ? operand(args, 0) : store_location(args);
    if (option_given(args, "wall") &&
        (by != BY_PROCEDURE || option_given(args, "image") || option_given(args, "calls")))
        return usage_error(
            "--wall is a table of its own, by function: it can't be combined with --by, --image or --calls");
    if (option_given(args, "brief-calls") && (by != BY_PROCEDURE || option_given(args, "wall")))
        return usage_error("--brief-calls is a list of its own: it can't be combined with --by or --wall");
    struct profile_filter filter = {
        option(args, "image"), option(args, "process"), recording_asked(args), option(args, "event"),
        option_given(args, "wall") || by == BY_PROCESS || option_choice(args, "sort", orders, 0) == 1};
    struct profile p;
    struct cs_error err = {0};
    if (profile_open(&p, store, &filter, &err) < 0)
        return failed(&err);
    ask_debuginfod(&p);
    int rc = option_given(args, "wall")
                 ? wall_report(args, &p, store, (size_t)option_number(args, "top", ROWS_SHOWN, 0, 1e12))
             : option_given(args, "brief-calls") ? brief_report(args, &p, store)
                                                 : report(args, &p, by, by_names[asked], store);
    profile_close(&p);
    return rc;
}

static const struct option_entry options[] = {
    {"calls", 0, NULL, "how often each function was called, and the cost per call (needs bursts)"},
    {"brief-calls", 0, "NS",
     "names of functions whose calls take less than NS nanoseconds, for the compiler plugins' brief=@FILE"},
    {"sort", 0, "WHAT", "order rows by samples (self) or total (callees included)"},
    {"wall", 0, NULL, "the whole time of threads, on and off the CPU, in one table (needs record --waits)"},
    OPTION_BY,
    OPTION_EVENT,
    OPTION_IMAGE,
    OPTION_PROCESS,
    OPTIONS_WHEN,
    OPTION_TOP,
    OPTION_STORE,
    {NULL, 0, NULL, NULL},
};

const struct command command_prof = {
    "prof",
    "",
    "where the samples are: by function, line, image, thread, process, container or tag",
    "Rows are ordered by the samples of the main event (cycles, else cpu-clock); the shares are of that "
    "event. If the store has several events, or tags of the observer for the same functions, each has its "
    "column. Samples that could not be placed are in the row [unknown]. cum % is the cumulative share.\n"
    "\n"
    "--by takes function (the default), line, image, tag, and any label of record --label: thread, process, "
    "container, attribute.\n"
    "\n"
    "total % is the share of the samples in a function and in all that it called (needs call chains). See "
    "also callers, callees and tree.",
    options,
    run,
};
