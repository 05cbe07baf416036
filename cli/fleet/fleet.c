/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fleet: prof, diff and watch over the samples of many machines, asked from the server that `export --to clickhouse`
 * fills. The server sums; here is only what it takes to ask and to print. */
#include "cli/command/figures.h"
#include "cli/compare/comparison.h"
#include "cli/fleet/fleet_filter.h"
#include "cli/fleet/fleet_watch.h"
#include "cli/output/output.h"
#include "exchange/fleet/clickhouse.h"
#include "image/code.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROWS_SHOWN 10
#define DIFF_CANDIDATES 1000 /* rows of a diff that the server sends, by difference of shares */
#define UNITS 16 /* of a side: its recordings are dealt out to so many runs, that an answer stays small */
#define SERVER_VARIABLE "CYCLESCOPE_SERVER"

struct asking {
    struct cs_fleet_server *server;
    char *event, *event_sql; /* all reports are of one event */
    char *where[2];          /* conditions of the one or two sides */
    bool by_procedure, by_image;
    bool by_unit;   /* a column `unit` more: the run that a recording belongs to */
    char *unit_sql; /* which, where the runs are hosts; NULL: they are recordings */
    const char *by;
    unsigned top;
};

static const char *cell(const json_t *rows, size_t row, size_t column)
{
    const char *text = json_string_value(json_array_get(json_array_get(rows, row), column));
    return text ? text : "";
}

static double number(const json_t *rows, size_t row, size_t column)
{
    const json_t *value = json_array_get(json_array_get(rows, row), column);
    const double v =
        json_is_string(value) ? strtod(json_string_value(value), NULL) : json_number_value(value);
    return v >= 0 && isfinite(v) ? v : 0;
}

/* ---- what to ask ---- */

/* "event = x AND (counted) AND filter", for one side or for either of two. */
static char *points_where(const struct asking *a)
{
    char *sql = NULL;
    int n = a->where[1]
                ? asprintf(&sql, "event = %s AND ((%s) OR (%s)) AND " CS_FLEET_COUNTED, a->event_sql,
                           a->where[0], a->where[1])
                : asprintf(&sql, "event = %s AND (%s) AND " CS_FLEET_COUNTED, a->event_sql, a->where[0]);
    return n < 0 ? NULL : sql;
}

#define UNIT "cityHash64(host, epoch) % "
#define TEXT_(number) #number
#define TEXT(number) TEXT_(number)

/* Groups with their sums a and b, named: columns name, path, a, b. Different builds of one path are one. */
static char *groups_sql(const struct asking *a)
{
    char *where = points_where(a), *sums = NULL, *sql = NULL;
    /* What hosts and days differ by is the question there: one run a side. */
    const bool one = strcmp(a->by, "host") == 0 || strcmp(a->by, "day") == 0;
    const char *unit = !a->by_unit   ? ""
                       : one         ? "0 AS unit, "
                       : a->unit_sql ? a->unit_sql
                                     : UNIT TEXT(UNITS) " AS unit, ",
               *by = a->by_unit ? ", unit" : "", *shown = a->by_unit ? "unit, " : "";
    int n = -1;
    if (a->where[1])
        n = asprintf(&sums, "%ssum(if(%s, count, 0)) AS a, sum(if(%s, count, 0)) AS b", unit, a->where[0],
                     a->where[1]);
    else
        n = asprintf(&sums, "sum(count) AS a, toUInt64(0) AS b");
    if (!where || n < 0)
        n = -1;
    else if (a->by_procedure)
        n = asprintf(
            &sql,
            "SELECT name, path, %ssum(a) AS a, sum(b) AS b FROM (SELECT image, name, %sa, b FROM (SELECT "
            "image, procedure AS start, %s FROM points WHERE %s GROUP BY image, procedure%s) ANY LEFT JOIN "
            "symbols USING image, start) ANY LEFT JOIN images USING image GROUP BY name, path%s",
            shown, shown, sums, where, by, by);
    else if (a->by_image)
        n = asprintf(&sql,
                     "SELECT '' AS name, path, %ssum(a) AS a, sum(b) AS b FROM (SELECT image, %s FROM points "
                     "WHERE %s GROUP BY image%s) ANY LEFT JOIN images USING image GROUP BY path%s",
                     shown, sums, where, by, by);
    else
        n = asprintf(&sql, "SELECT toString(%s) AS name, '' AS path, %s FROM points WHERE %s GROUP BY %s%s",
                     strcmp(a->by, "day") == 0 ? "toDate(time)" : a->by, sums, where,
                     strcmp(a->by, "day") == 0 ? "toDate(time)" : a->by, by);
    free(where);
    free(sums);
    return n < 0 ? NULL : sql;
}

static int ask(struct asking *a, char *sql, json_t **answer, struct cs_error *err)
{
    int rc = sql ? cs_fleet_server_ask(a->server, sql, answer, err) : cs_fail(err, ENOMEM, "out of memory");
    free(sql);
    return rc;
}

/* Unless it is given: the event of a time or of cycles that has most samples. */
static int choose_event(struct asking *a, const char *given, struct cs_error *err)
{
    json_t *answer = NULL;
    int rc = given ? 0
                   : cs_fleet_server_ask(
                         a->server,
                         "SELECT event, sum(count) AS n FROM points GROUP BY event ORDER BY match(event, "
                         "'cycles|clock') AND NOT match(event, '^burst|^lbr') DESC, n DESC LIMIT 1",
                         &answer, err);
    if (rc < 0)
        return rc;
    const json_t *rows = json_object_get(answer, "data");
    if (!given && json_array_size(rows) == 0) {
        json_decref(answer);
        return cs_fail(err, ENODATA,
                       "%s has no samples yet: cyclescope export --to clickhouse URL sends some",
                       cs_fleet_server_name(a->server));
    }
    a->event = strdup(given ? given : cell(rows, 0, 0));
    a->event_sql = a->event ? cs_fleet_server_quote(a->event) : NULL;
    json_decref(answer);
    return a->event_sql ? 0 : cs_fail(err, ENOMEM, "out of memory");
}

/* ---- prof ---- */

static void named(struct table *table, const struct asking *a, const json_t *rows, size_t i)
{
    char name[1024];
    if (a->by_procedure)
        table_text(table, *cell(rows, i, 0) ? cs_image_demangle(cell(rows, i, 0), name, sizeof name)
                                            : "[no symbol]");
    else
        table_text(table, a->by_image ? cell(rows, i, 1) : cell(rows, i, 0));
    table_text(table, a->by_procedure ? cell(rows, i, 1) : NULL);
}

static void name_columns(const struct asking *a, struct column columns[2])
{
    columns[0] = (struct column){
        .key = a->by_procedure ? "procedure" : a->by, .head = a->by, .kind = COLUMN_TEXT, .elastic = true};
    columns[1] = (struct column){
        .key = "image", .head = a->by_procedure ? "image" : NULL, .kind = COLUMN_TEXT, .elastic = true};
    if (!a->by_procedure)
        columns[1].key = "of_image";
}

static void print_prof(const struct parsed *args, const struct asking *a, const json_t *answer,
                       struct output *out)
{
    static struct column columns[] = {
        {.key = "samples", .head = "samples", .kind = COLUMN_COUNT},
        {.key = "percent", .head = "%", .kind = COLUMN_SHARE},
        {.key = "running_percent", .head = "cum %", .kind = COLUMN_SHARE, .plain = true},
        {.kind = COLUMN_TEXT},
        {.kind = COLUMN_TEXT}};
    const json_t *rows = json_object_get(answer, "data");
    const json_t *totals = json_object_get(answer, "totals");
    const json_t *groups = json_object_get(answer, "rows_before_limit_at_least");
    const char *text = json_string_value(json_array_get(totals, 2));
    double total = text ? strtod(text, NULL) : 0, sum = 0;
    size_t n = json_array_size(rows);
    (void)args;
    name_columns(a, &columns[3]);
    output_set(out, "total", json_integer((json_int_t)total));
    output_line(out, "%s: %s sample%s of %s", cs_fleet_server_name(a->server), thousands(total).text,
                plural(total), a->event);
    output_line(out, "%s", "");
    struct table *table = output_table(out, "rows", columns, 5);
    for (size_t i = 0; i < n; i++) {
        double samples = number(rows, i, 2);
        sum += samples;
        table_count(table, (uint64_t)samples);
        table_number(table, total > 0 ? 100 * samples / total : 0);
        table_number(table, total > 0 ? 100 * sum / total : 0);
        named(table, a, rows, i);
    }
    if (json_integer_value(groups) > (json_int_t)n)
        output_line(out, "%lld more; --top 0 shows all",
                    (long long)json_integer_value(groups) - (long long)n);
}

static int prof(struct asking *a, const struct parsed *args, struct cs_error *err)
{
    char *groups = groups_sql(a), *sql = NULL, limit[32] = "";
    json_t *answer = NULL;
    if (a->top)
        snprintf(limit, sizeof limit, " LIMIT %u", a->top);
    if (groups &&
        asprintf(&sql,
                 "SELECT name, path, sum(a) AS n FROM (%s) GROUP BY name, path WITH TOTALS ORDER BY %s%s",
                 groups, strcmp(a->by, "day") == 0 ? "name" : "n DESC, name", limit) < 0)
        sql = NULL;
    free(groups);
    int rc = ask(a, sql, &answer, err);
    if (rc < 0)
        return rc;
    if (json_array_size(json_object_get(answer, "data")) == 0) {
        json_decref(answer);
        return cs_fail(err, ENODATA, "%s has no samples of %s that the filter lets through",
                       cs_fleet_server_name(a->server), a->event);
    }
    struct output *out = output_open(args);
    print_prof(args, a, answer, out);
    json_decref(answer);
    return output_close(out);
}

/* ---- diff ---- */

/* Hosts differ by themselves, and all recordings of a host by the same. So where the sides are other hosts, several on each, the
 * runs are the hosts: numbered, or dealt out by a hash if they are too many. */
static int choose_runs(struct asking *a, struct cs_error *err)
{
    char *where = points_where(a), *sql = NULL;
    json_t *answer = NULL;
    if (where &&
        asprintf(&sql,
                 "SELECT countIf(a > 0), countIf(b > 0), countIf(a > 0 AND b > 0) FROM (SELECT host, "
                 "sum(if(%s, count, 0)) AS a, sum(if(%s, count, 0)) AS b FROM points WHERE %s GROUP BY host)",
                 a->where[0], a->where[1], where) < 0)
        sql = NULL;
    int rc = ask(a, sql, &answer, err), n = 0;
    const json_t *rows = json_object_get(answer, "data");
    const double of_a = number(rows, 0, 0), of_b = number(rows, 0, 1);
    if (rc == 0 && of_a > 1 && of_b > 1 && number(rows, 0, 2) == 0)
        n = of_a + of_b > UNITS
                ? asprintf(&a->unit_sql, "cityHash64(host) %% %d AS unit, ", UNITS)
                : asprintf(&a->unit_sql,
                           "indexOf((SELECT groupUniqArray(host) FROM points WHERE %s), host) - 1 AS unit, ",
                           where);
    if (n < 0) {
        a->unit_sql = NULL;
        rc = cs_fail(err, ENOMEM, "out of memory");
    }
    free(where);
    json_decref(answer);
    return rc;
}

/* The recordings of both sides as runs, those that have samples: A's before B's. `run_of`: by side and unit; SIZE_MAX: none. */
static int take_runs(struct asking *a, struct runs *runs, size_t run_of[2][UNITS], struct cs_error *err)
{
    char *groups = groups_sql(a), *sql = NULL;
    json_t *answer = NULL;
    if (groups &&
        asprintf(&sql, "SELECT unit, sum(a), sum(b) FROM (%s) GROUP BY unit ORDER BY unit", groups) < 0)
        sql = NULL;
    free(groups);
    int rc = ask(a, sql, &answer, err);
    const json_t *rows = json_object_get(answer, "data");
    const size_t n = rc == 0 && json_array_size(rows) <= UNITS ? json_array_size(rows) : 0;
    memset(run_of, 0xff, 2 * UNITS * sizeof **run_of);
    runs->run = calloc(2 * UNITS, sizeof *runs->run);
    if (rc == 0 && !runs->run)
        rc = cs_fail(err, ENOMEM, "out of memory");
    for (unsigned s = 0; rc == 0 && s < 2; s++) {
        const size_t before = runs->n_runs;
        for (size_t i = 0; i < n; i++) {
            size_t unit = (size_t)number(rows, i, 0);
            if (unit >= UNITS || number(rows, i, 1 + s) <= 0)
                continue;
            run_of[s][unit] = runs->n_runs;
            runs->run[runs->n_runs++] = (struct run){.set = s, .total = number(rows, i, 1 + s)};
        }
        if (runs->n_runs == before)
            rc = cs_fail(err, ENODATA, "%s has no samples of %s on side %c", cs_fleet_server_name(a->server),
                         a->event, s ? 'B' : 'A');
    }
    json_decref(answer);
    return rc;
}

/* A group's samples in each run: pairs of sums in the order of units. */
static int take_row(struct runs *runs, const json_t *data, size_t i, size_t run_of[2][UNITS])
{
    const json_t *units = json_array_get(json_array_get(data, i), 2);
    struct run_row *row = &runs->row[runs->n_rows++];
    *row = (struct run_row){.name = strdup(cell(data, i, 0)),
                            .image = strdup(cell(data, i, 1)),
                            .samples = calloc(runs->n_runs, sizeof *row->samples)};
    if (!row->name || !row->image || !row->samples)
        return -ENOMEM;
    for (size_t u = 0; u < json_array_size(units); u++) {
        size_t unit = (size_t)number(units, u, 0);
        for (unsigned s = 0; s < 2 && unit < UNITS; s++)
            if (run_of[s][unit] < runs->n_runs)
                row->samples[run_of[s][unit]] += number(units, u, 1 + s);
    }
    return 0;
}

static void named_row(struct table *table, const struct asking *a, const struct run_row *row)
{
    char name[1024];
    if (a->by_procedure)
        table_text(table, *row->name ? cs_image_demangle(row->name, name, sizeof name) : "[no symbol]");
    else
        table_text(table, a->by_image ? row->image : row->name);
    table_text(table, a->by_procedure ? row->image : NULL);
}

static int print_diff(const struct parsed *args, const struct asking *a, const struct comparison *c)
{
    static struct column columns[] = {{.key = "a_percent", .head = "A %", .kind = COLUMN_NUMBER, .digits = 3},
                                      {.key = "b_percent", .head = "B %", .kind = COLUMN_NUMBER, .digits = 3},
                                      {.key = "change", .head = "B - A", .kind = COLUMN_NUMBER, .digits = 3},
                                      {.key = "significant", .head = "real?", .kind = COLUMN_TEXT},
                                      {.kind = COLUMN_TEXT},
                                      {.kind = COLUMN_TEXT},
                                      {.key = "samples_a", .kind = COLUMN_NUMBER},
                                      {.key = "samples_b", .kind = COLUMN_NUMBER},
                                      {.key = "false_discovery", .kind = COLUMN_NUMBER}};
    struct output *out = output_open(args);
    name_columns(a, &columns[4]);
    for (int s = 0; s < 2; s++)
        output_line(out, "%c: %s sample%s of %s", s ? 'B' : 'A', thousands(c->side[s].total).text,
                    plural(c->side[s].total), a->event);
    output_line(out, "%s", "");
    output_set(out, "samples_a", json_integer((json_int_t)c->side[0].total));
    output_set(out, "samples_b", json_integer((json_int_t)c->side[1].total));
    output_set(out, "dispersion", json_real(c->usual[0].dispersion));
    output_set(out, "spread_percent", json_real(comparison_spread_percent(c)));
    struct table *table = output_table(out, "rows", columns, sizeof columns / sizeof *columns);
    table_limit(table, a->top, "--top 0 shows all");
    for (size_t i = 0; i < c->n; i++) {
        const struct change *x = &c->change[i];
        table_number(table, x->cost_a);
        table_number(table, x->cost_b);
        table_number(table, x->cost_b - x->cost_a);
        table_text(table, x->significant ? "yes" : "no");
        named_row(table, a, x->row);
        table_number(table, x->a);
        table_number(table, x->b);
        table_number(table, x->discovery);
    }
    return output_close(out);
}

/* As `diff` compares: recordings or hosts are the runs, and what they differ by on one side is no change. */
static int diff(struct asking *a, const struct parsed *args, struct cs_error *err)
{
    struct runs runs = {.n_sets = 2};
    struct comparison c = {.shares = true, .least = COMPARISON_LEAST_BY_RUNS};
    size_t run_of[2][UNITS];
    double total[2] = {0};
    json_t *answer = NULL;
    a->by_unit = true;
    int rc = choose_runs(a, err);
    rc = rc < 0 ? rc : take_runs(a, &runs, run_of, err);
    for (size_t r = 0; r < runs.n_runs; r++)
        total[runs.run[r].set] += runs.run[r].total;
    char *groups = rc == 0 ? groups_sql(a) : NULL, *sql = NULL;
    if (groups && asprintf(&sql,
                           "SELECT name, path, groupArray((unit, a, b)) FROM (%s) GROUP BY name, path ORDER "
                           "BY abs(sum(a) / %.0f - sum(b) / %.0f) DESC, name LIMIT %d",
                           groups, total[0], total[1], DIFF_CANDIDATES) < 0)
        sql = NULL;
    free(groups);
    rc = rc < 0 ? rc : ask(a, sql, &answer, err);
    const json_t *data = json_object_get(answer, "data");
    runs.row = calloc(json_array_size(data) + 1, sizeof *runs.row);
    bool short_of = rc == 0 && !runs.row;
    for (size_t i = 0; rc == 0 && !short_of && i < json_array_size(data); i++)
        short_of = take_row(&runs, data, i, run_of) < 0;
    c.tests = (size_t)json_integer_value(json_object_get(answer, "rows_before_limit_at_least"));
    if (rc == 0 && (short_of || runs_compare(&runs, &c) < 0))
        rc = cs_fail(err, ENOMEM, "out of memory");
    if (rc == 0)
        rc = print_diff(args, a, &c);
    json_decref(answer);
    free(a->unit_sql);
    free(c.change);
    runs_fini(&runs);
    return rc;
}

/* ---- the command ---- */

static bool by_is_known(struct asking *a, const char *by)
{
    static const char *const names[] = {"function", "image", "host", "label", "day", NULL};
    for (unsigned i = 0; names[i]; i++)
        if (strcmp(names[i], by) == 0)
            a->by = names[i];
    a->by_procedure = a->by && strcmp(a->by, "function") == 0;
    a->by_image = a->by && strcmp(a->by, "image") == 0;
    return a->by != NULL;
}

static int run(const struct parsed *args)
{
    struct asking a = {0};
    struct cs_error err = {0};
    const char *verb = operand(args, 0), *by = option(args, "by"), *url = option(args, "server");
    bool is_diff = verb && strcmp(verb, "diff") == 0;
    bool is_watch = verb && strcmp(verb, "watch") == 0;
    if (!is_diff && !is_watch && (!verb || strcmp(verb, "prof") != 0))
        return usage_error("expected prof, diff or watch");
    int most = is_diff ? 3 : 2;
    if (operand_count(args) > most || (is_diff && operand_count(args) < most))
        return usage_error(is_diff ? "expected two filters: fleet diff A B" : "expected one filter at most");
    if (!by_is_known(&a, by ? by : "function"))
        return usage_error("--by %s: expected function, image, host, label or day", by);
    if (is_watch && option_given(args, "store"))
        return fleet_watch_store(args);
    if (!url)
        url = getenv(SERVER_VARIABLE);
    if (!url)
        return usage_error("which server? Give --server URL or set " SERVER_VARIABLE);
    a.top = (unsigned)option_number(args, "top", ROWS_SHOWN, 0, 1e9);
    int rc = cs_fleet_server_open(url, &a.server, &err);
    for (int s = 0; rc == 0 && s < most - 1; s++)
        rc = fleet_condition(operand_count(args) > s + 1 ? operand(args, s + 1) : NULL, &a.where[s], &err);
    if (rc == 0)
        rc = choose_event(&a, option(args, "event"), &err);
    if (rc == 0)
        rc = is_watch  ? fleet_watch_server(args, a.server, a.event, points_where(&a), &err)
             : is_diff ? diff(&a, args, &err)
                       : prof(&a, args, &err);
    cs_fleet_server_close(a.server);
    free(a.event);
    free(a.event_sql);
    free(a.where[0]);
    free(a.where[1]);
    if (rc < 0)
        return is_watch ? (failed(&err), FLEET_WATCH_FAILED) : failed(&err);
    return rc;
}

static const struct option_entry options[] = {
    OPTION_BY,
    OPTION_EVENT,
    OPTION_TOP,
    OPTION_STORE,
    {"server", 0, "URL", "the ClickHouse server (else $CYCLESCOPE_SERVER)"},
    {"every", 0, "TIME", "watch: length of an epoch (24h)"},
    {"new", 0, "TIME", "watch: only changes of the last TIME (7d, 12h)"},
    {"least-growth", 0, "PERCENT",
     "watch: smaller growth isn't reported, in percent of the service's time (0.05)"},
    {"post", 0, "URL", "watch: send the findings to URL as JSON, if there are any"},
    {NULL, 0, NULL, NULL},
};

const struct command command_fleet = {
    "fleet",
    "prof [FILTER] | diff FILTER FILTER | watch [FILTER]",
    "where the samples of many machines are, what changed, and since which build",
    "Queries a ClickHouse server that `cyclescope export --to clickhouse URL` fills on each machine. A "
    "FILTER is KEY=VALUE[,KEY=VALUE...]. The keys are host, label, event, epoch, image (path, file name or "
    "build-id), since and until. Times are 2024-01-31, 2024-01-31 12:00 (UTC), or an age as 12h or 7d. A "
    "function has one row, also if there are several builds of its file. --by takes function (the default), "
    "image, host, label or day.\n"
    "\n"
    "watch finds functions that became dearer, and the build-id that brought it. With --store it reads the "
    "epochs of a daemon's store instead of a server. Exit codes: 0 none, 1 found, 2 can't tell, 3 failed.\n"
    "\n"
    "    cyclescope fleet prof since=1d --by host\n"
    "    cyclescope fleet diff since=2d,until=1d since=1d\n"
    "    cyclescope fleet watch --new 7d --post https://alerts/hook",
    options,
    run,
};
