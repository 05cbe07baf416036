/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The findings as a table, as JSON, to a URL, and as an exit code. The id of a finding is the same in each watch, so that a
 * receiver sees which ones are new. */
#include "cli/fleet/fleet_watch.h"
#include "cli/command/figures.h"
#include "cli/fleet/watch_load.h"
#include "cli/output/output.h"
#include "exchange/fleet/http.h"
#include "image/code.h"
#include "store/base/clock.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ROWS_SHOWN 10
#define DAY_S 86400.0
#define BUILD_SHOWN 12
#define POST_SECONDS 30L
#define ANSWER_BYTES 65536

static const char *time_text(int64_t seconds, char text[32])
{
    const time_t at = (time_t)seconds;
    struct tm utc;
    return gmtime_r(&at, &utc) && strftime(text, 32, "%Y-%m-%dT%H:%MZ", &utc) ? text : "";
}

static json_t *id_of(const struct watch_test *t, const char *since)
{
    char *id;
    if (asprintf(&id, "%s/%s/%s@%s", t->service, t->image, t->function, t->cause ? t->build : since) < 0)
        return json_null();
    json_t *made = json_text(id);
    free(id);
    return made;
}

static void print_row(struct table *table, const struct watch_test *t, uint64_t every_s)
{
    char name[1024], brief[1024], since[32];
    time_text(t->epoch * (int64_t)every_s, since);
    table_count(table, t->cause_number);
    table_number(table, t->percent);
    table_number(table, t->a);
    table_number(table, t->b);
    table_text(table, since);
    table_text(table, t->moved ? "moved" : "dearer");
    table_text(table, t->service);
    table_names(table, *t->function ? cs_image_demangle(t->function, name, sizeof name) : "[no symbol]",
                *t->function ? cs_image_short_name(t->function, brief, sizeof brief) : "[no symbol]");
    table_text(table, t->image);
    if (t->cause && t->others)
        table_textf(table, "%s %.*s and %u more", t->cause, BUILD_SHOWN, t->build, t->others);
    else if (t->cause)
        table_textf(table, "%s %.*s", t->cause, BUILD_SHOWN, t->build);
    else
        table_text(table, "no build changed");
    table_text(table, t->cause);
    table_text(table, t->build);
    table_text(table, t->old_build);
    table_number(table, t->discovery);
    table_json(table, id_of(t, since));
}

/* Anything but 2xx is a failure. */
static int post(const char *url, const struct output *out, struct cs_error *err)
{
    struct cs_fleet_http *http;
    struct cs_fleet_http_answer answer;
    json_t *document = output_document(out);
    char *body = json_dumps(document, JSON_REAL_PRECISION(12));
    json_decref(document);
    int rc = body ? cs_fleet_http_open(&http, err) : cs_fail(err, ENOMEM, "out of memory");
    if (rc == 0) {
        cs_fleet_http_limits(http, POST_SECONDS, ANSWER_BYTES);
        rc = cs_fleet_http_header(http, "Content-Type: application/json", err);
        rc = rc < 0 ? rc : cs_fleet_http_post(http, url, body, strlen(body), &answer, err);
        cs_fleet_http_close(http);
        if (rc == 0) {
            const long status = answer.status;
            free(answer.text);
            if (status < 200 || status > 299)
                rc = cs_fail(err, EREMOTEIO, "--post: the receiver answered %ld", status);
        }
    }
    free(body);
    return rc;
}

static int report(const struct parsed *args, const struct watch *w, const char *where, const char *event,
                  uint64_t every_s)
{
    static const struct column columns[] = {
        {.key = "cause", .head = "cause", .kind = COLUMN_COUNT},
        {.key = "growth_percent", .head = "growth %", .kind = COLUMN_NUMBER, .digits = 2},
        {.key = "before_percent", .head = "before %", .kind = COLUMN_NUMBER, .digits = 2},
        {.key = "after_percent", .head = "after %", .kind = COLUMN_NUMBER, .digits = 2},
        {.key = "since", .head = "since", .kind = COLUMN_TEXT},
        {.key = "verdict", .head = "verdict", .kind = COLUMN_TEXT},
        {.key = "service", .head = "service", .kind = COLUMN_TEXT, .elastic = true},
        {.key = "function", .head = "function", .kind = COLUMN_TEXT, .elastic = true},
        {.key = "image", .kind = COLUMN_TEXT},
        {.key = "brought_by", .head = "brought by", .kind = COLUMN_TEXT, .elastic = true},
        {.key = "changed_image", .kind = COLUMN_TEXT},
        {.key = "build", .kind = COLUMN_TEXT},
        {.key = "old_build", .kind = COLUMN_TEXT},
        {.key = "false_discovery", .kind = COLUMN_NUMBER},
        {.key = "id", .kind = COLUMN_JSON},
    };
    struct output *out = output_open(args);
    size_t dearer = 0;
    for (size_t i = 0; i < w->n_found; i++)
        dearer += !w->test[i].moved;
    if (w->n_found || output_form(out) != OUTPUT_TEXT) {
        struct table *table = output_table(out, "rows", columns, sizeof columns / sizeof *columns);
        table_limit(table, (uint64_t)option_number(args, "top", ROWS_SHOWN, 0, 1e12), "--top 0 shows all");
        for (size_t i = 0; i < w->n_found; i++)
            print_row(table, &w->test[i], every_s);
        output_line(out, "%s", "");
    }
    output_set(out, "source", json_text(where));
    output_set(out, "event", json_text(event));
    output_set(out, "every_seconds", json_integer((json_int_t)every_s));
    output_set(out, "dearer", json_integer((json_int_t)dearer));
    output_set(out, "causes", json_integer(w->causes));
    output_set(out, "services", json_integer((json_int_t)w->services));
    output_set(out, "services_untold", json_integer((json_int_t)w->services_untold));
    output_set(out, "builds", json_integer((json_int_t)w->builds));
    output_set(out, "looked_at", json_integer((json_int_t)w->looked_at));
    output_note(
        out,
        "%zu function%s dearer. Looked at %s comparisons of functions in %zu service%s and %zu change%s "
        "of build-ids (%s, false discovery rate below 1 %%).",
        dearer, dearer == 1 ? " is" : "s are", thousands((double)w->looked_at).text, w->services,
        plural((double)w->services), w->builds, plural((double)w->builds), event);
    if (w->services_untold)
        output_note(
            out,
            "%zu service%s couldn't be compared: four epochs before a change and one after it are needed.",
            w->services_untold, plural((double)w->services_untold));
    struct cs_error err = {0};
    const bool posts = dearer && option_given(args, "post");
    const int posted = posts ? post(option(args, "post"), out, &err) : 0;
    const int closed = output_close(out);
    if (posted < 0)
        failed(&err);
    return posted < 0 || closed != CS_EXIT_OK  ? FLEET_WATCH_FAILED
           : dearer                            ? FLEET_WATCH_FOUND
           : w->services == w->services_untold ? FLEET_WATCH_CANT_TELL
                                               : FLEET_WATCH_NONE;
}

static void settings(const struct parsed *args, struct watch *w, uint64_t *every_s)
{
    const double every = option_seconds(args, "every", DAY_S);
    *every_s = every < 1 ? 1 : (uint64_t)every;
    *w = (struct watch){.least = option_number(args, "least-growth", 0.05, 0, 100), .since = INT64_MIN};
    const double now_s = 1e-9 * (double)cs_clock_ns(CLOCK_REALTIME);
    if (option_given(args, "new"))
        w->since = (int64_t)(now_s - option_seconds(args, "new", 0)) / (int64_t)*every_s;
}

int fleet_watch_server(const struct parsed *args, struct cs_fleet_server *server, const char *event,
                       char *where, struct cs_error *err)
{
    struct watch w;
    uint64_t every_s;
    settings(args, &w, &every_s);
    int rc =
        where ? watch_load_server(&w, server, where, every_s, err) : cs_fail(err, ENOMEM, "out of memory");
    if (rc == 0 && watch_conclude(&w) < 0)
        rc = cs_fail(err, ENOMEM, "out of memory for %zu chances", w.n_tests);
    if (rc == 0)
        rc = report(args, &w, cs_fleet_server_name(server), event, every_s);
    watch_fini(&w);
    free(where);
    return rc;
}

int fleet_watch_store(const struct parsed *args)
{
    struct watch w;
    struct cs_error err = {0};
    uint64_t every_s;
    char event[64] = "";
    settings(args, &w, &every_s);
    if (operand_count(args) > 1)
        return usage_error("a FILTER is for a server: --store takes all of a store"), FLEET_WATCH_FAILED;
    int rc = watch_load_store(&w, store_location(args), option(args, "event"), every_s, event, &err);
    if (rc == 0 && watch_conclude(&w) < 0)
        rc = cs_fail(&err, ENOMEM, "out of memory for %zu chances", w.n_tests);
    rc = rc < 0 ? (failed(&err), FLEET_WATCH_FAILED) : report(args, &w, store_location(args), event, every_s);
    watch_fini(&w);
    return rc;
}
