/* SPDX-License-Identifier: GPL-2.0-or-later */
/* report --html: one page that opens offline, with everything that the store knows. The page's parts are in
 * report/, its contents are JSON (page.h). */
#include "cli/command/figures.h"
#include "cli/command/recordings.h"
#include "cli/command/time_range.h"
#include "cli/html/page.h"
#include "cli/html/page_parts.h"
#include "cli/profile/ask_debuginfod.h"
#include "cli/profile/lines/hottest_line.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define DETAILS_SHOWN 25

/* JSON inside <script>: "</script" and "<!--" must not appear; < and > are only found in strings, so they can
 * be escaped. */
static void write_json(FILE *to, const json_t *page)
{
    char *text = NULL;
    size_t n = 0;
    FILE *memory = open_memstream(&text, &n);
    if (memory) {
        json_print(page, memory, JSON_COMPACT | JSON_REAL_PRECISION(9));
        fclose(memory);
    }
    for (const char *p = text; p && *p; p++) {
        if (*p == '<' || *p == '>')
            fprintf(to, "\\u%04x", (unsigned)*p);
        else
            fputc(*p, to);
    }
    free(text);
}

static const struct page_part *part_named(const char *name, size_t n)
{
    for (const struct page_part *p = page_parts; p->name; p++)
        if (strlen(p->name) == n && strncmp(p->name, name, n) == 0)
            return p;
    return NULL;
}

static int write_page(const char *path, const json_t *page, struct cs_error *err)
{
    FILE *to = strcmp(path, "-") == 0 ? stdout : fopen(path, "w");
    if (!to)
        return cs_fail(err, errno, "can't write %s: %s", path, strerror(errno));
    const struct page_part *whole = &page_parts[0];
    for (const char *p = whole->start; p < whole->end;) {
        const char *mark = memmem(p, (size_t)(whole->end - p), "{{", 2);
        fwrite(p, 1, (size_t)((mark ? mark : whole->end) - p), to);
        if (!mark)
            break;
        const char *close = memmem(mark, (size_t)(whole->end - mark), "}}", 2);
        size_t n = (size_t)(close - mark) - 2;
        const struct page_part *part = part_named(mark + 2, n);
        if (part)
            fwrite(part->start, 1, (size_t)(part->end - part->start), to);
        else
            write_json(to, page);
        p = close + 2;
    }
    int bad = ferror(to);
    if ((to != stdout && fclose(to) != 0) || bad)
        return cs_fail(err, errno ? errno : EIO, "can't write %s: %s", path, strerror(errno));
    return 0;
}

#define ADVISED_SHARE 0.05 /* least share of a procedure whose cause belongs to what to look at first */

void page_advise(json_t *advice, const char *format, ...)
{
    char text[1400];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    json_array_append_new(advice, json_text(text));
}

/* In words, with numbers: where most time goes, why, what was not seen. */
static void summarise(json_t *page, struct profile *p, const struct profile_rows *rows,
                      const struct cs_chains *chains)
{
    json_t *advice = json_array();
    double total = (double)rows->total[p->main_event];
    char name[1024];
    const bool observed = profile_is_observed(&p->events[p->main_event]);
    if (rows->n && total > 0) {
        const struct profile_row *r = &rows->row[0];
        size_t half = 0;
        double sum = 0;
        while (half < rows->n && sum < total / 2)
            sum += (double)rows->row[half++].samples[p->main_event];
        page_advise(advice, "%s: %.1f %% of the %s, in %s. %s of %s function%s %s half of them.",
                    r->name ? cs_image_demangle(r->name, name, sizeof name) : "Code without a symbol",
                    100 * (double)r->samples[p->main_event] / total, observed ? "TSC cycles" : "samples",
                    image_name(&r->image->image), thousands((double)half).text,
                    thousands((double)rows->n).text, plural((double)rows->n), half == 1 ? "has" : "have");
        struct hottest_line hottest;
        char sentence[1300];
        hottest_line_find(p, rows, chains, &hottest);
        hottest_line_sentence(&hottest, r, sentence, sizeof sentence);
        if (*sentence)
            page_advise(advice, "%s", sentence);
    }
    double kernel = 0;
    for (size_t i = 0; i < rows->n; i++)
        if (rows->row[i].image->image.kind == CS_IMAGE_KERNEL)
            kernel += (double)rows->row[i].samples[p->main_event];
    if (kernel > 0.1 * total)
        page_advise(advice, "%.1f %% is spent in the kernel: look at what the program asks of it.",
                    100 * kernel / total);
    const json_t *details = json_object_get(page, "details");
    size_t said = 0;
    for (size_t i = 0; i < rows->n && said < 3; i++) {
        if ((double)rows->row[i].samples[p->main_event] < ADVISED_SHARE * total)
            break; /* hottest first: a cause there would change little */
        json_t *row = json_array_get(json_object_get(page, "rows"), i);
        const json_t *detail = json_array_get(
            details, (size_t)json_integer_value(json_array_get(row, json_array_size(row) - 3)));
        const char *sentence = json_string_value(json_object_get(detail, "sentence"));
        if (i && !json_is_string(json_object_get(detail, "advice")))
            continue; /* without a cause there is nothing to do about it */
        if (sentence && ++said)
            page_advise(advice, "%s: %s.", json_string_value(json_array_get(row, 0)), sentence);
    }
    if ((double)rows->unknown > 0.001 * total)
        page_advise(advice, "%.2f %% of the samples could not be placed in an image.",
                    100 * (double)rows->unknown / total);
    uint64_t lost = 0;
    struct cs_error ignored = {0};
    if (cs_store_counter(p->store, "lost", &lost, &ignored) == 0 && lost)
        page_advise(advice, "%s further sample%s lost by the kernel.", thousands((double)lost).text,
                    lost == 1 ? " was" : "s were");
    json_object_set_new(page, "advice", advice);
    if (observed) /* cycles, of which none is drawn */
        return;
    page_advise(advice,
                "Shares have a sampling error: of %s sample%s, a share of 1 %% is 1.00 ± %.2f %%, one "
                "standard error.",
                thousands(total).text, plural(total), total > 0 ? 100 * 0.0995 / __builtin_sqrt(total) : 0.0);
}

/* A profile of one process may see other epochs than the intervals do. */
static void add_timeline(json_t *page, const struct parsed *args, const char *path, const struct profile *p)
{
    struct cs_store *other = NULL;
    struct cs_error ignored = {0};
    if (option_given(args, "process"))
        (void)recordings_open(path, recording_asked(args), RECORDINGS_OF_SAMPLES, &other, NULL, &ignored);
    page_timeline(page, other ? other : p->store);
    cs_store_close(other);
}

static int build(const struct parsed *args, const char *store, struct profile *p, json_t *page,
                 struct cs_error *err)
{
    struct profile_rows rows;
    int rc = profile_sum(p, BY_PROCEDURE, &rows, err);
    if (rc < 0)
        return rc;
    json_object_set_new(page, "store", json_text(store));
    char subtitle[400];
    snprintf(subtitle, sizeof subtitle,
             "%s %s of %s, %zu image%s, %s function%s, %u recording%s; cyclescope %s",
             thousands((double)rows.total[p->main_event]).text, profile_unit(&p->events[p->main_event]),
             p->events[p->main_event].name, p->n_images, plural((double)p->n_images),
             thousands((double)rows.n).text, plural((double)rows.n), p->n_epochs, p->n_epochs == 1 ? "" : "s",
             CS_VERSION);
    json_object_set_new(page, "subtitle", json_text(subtitle));
    unsigned details = (unsigned)option_number(args, "details", DETAILS_SHOWN, 0, 1000);
    rc = page_procedures(page, args, p, &rows, details, err);
    struct cs_calls_wanted chains = {.event = p->events[p->main_event].name,
                                     .label = option(args, "process"),
                                     .inlines = true,
                                     .plain_rare = true,
                                     .by_label = true};
    struct cs_calls calls = {0};
    rc = rc < 0 ? rc : cs_calls_open(&calls, p->store, &chains, err);
    if (rc == 0)
        summarise(page, p, &rows, &calls.chains);
    rc = rc < 0 ? rc : page_labels(page, p, &rows, err);
    rc = rc < 0 ? rc : page_chains(page, &calls, &rows, p->main_event, err);
    cs_calls_close(&calls);
    profile_rows_fini(&rows);
    rc = rc < 0 ? rc : page_waits(page, p->store, &chains, err);
    if (rc == 0 && p->n_epochs == 1)
        rc = page_thread_lines(page, p->store, chains.label, err);
    if (rc == 0) {
        add_timeline(page, args, store, p);
        if (option_given(args, "log"))
            page_log(page, args);
        page_observed(page, args, p);
    }
    if (rc == 0 && option_given(args, "compare")) {
        chains.label = NULL;
        rc = page_compare(page, store, option(args, "compare"), err);
        rc = rc < 0 ? rc : page_chains_of(page, "chains_other", option(args, "compare"), &chains, err);
    }
    return rc;
}

static int run(const struct parsed *args)
{
    const char *path = option_given(args, "html") ? option(args, "html") : "report.html";
    if (operand_count(args) > 1)
        return usage_error("%s: expected at most one store", operand(args, 1));
    const char *store = operand_count(args) ? operand(args, 0) : store_location(args);
    struct profile_filter filter = {.image = option(args, "image"),
                                    .label = option(args, "process"),
                                    .epoch = recording_asked(args),
                                    .main_event = option(args, "event")};
    struct cs_error err = {0};
    struct profile p;
    if (profile_open(&p, store, &filter, &err) < 0)
        return failed(&err);
    ask_debuginfod(&p);
    json_t *page = json_object();
    int rc = build(args, store, &p, page, &err);
    profile_close(&p);
    if (rc == 0)
        rc = write_page(path, page, &err);
    json_decref(page);
    if (rc < 0)
        return failed(&err);
    if (strcmp(path, "-") != 0)
        report_line(stdout, "%s: open it in a browser; it needs nothing else", path);
    return CS_EXIT_OK;
}

static const struct option_entry options[] = {
    {"html", 0, "FILE", "file of the page (report.html; - = standard output)"},
    {"compare", 0, "DIR", "add what changed from this store to the store DIR"},
    {"details", 0, "N", "number of functions with source, instructions and causes (25)"},
    OPTION_EVENT,
    OPTION_IMAGE,
    OPTION_PROCESS,
    OPTIONS_WHEN,
    OPTION_SOURCE,
    OPTION_NO_EXPERIMENTS,
    OPTION_RATIO,
    OPTION_LOG,
    OPTION_STORE,
    {NULL, 0, NULL, NULL},
};

const struct command command_report = {
    "report",
    "",
    "one self-contained HTML page with everything that the store knows",
    "The page has a summary in words, functions with search and sort, and annotated source and instructions "
    "with their causes. Where the data exists it also has control-flow graphs (with graphviz's library) and "
    "a flame graph. Intervals add a time line and phases, observations add histograms of rates. --compare "
    "adds what changed from this store to another one.\n"
    "\n"
    "The page makes no network request; it opens from a file.",
    options,
    run,
};
