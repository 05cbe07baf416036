/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The server sums each service by host, epoch, build and function. A store's profiles are summed here, part by part. */
#include "cli/fleet/watch_load.h"
#include "cli/profile/profile.h"
#include "store/base/array.h"
#include "store/base/text.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAMES_MAX 200000
#define ROWS_MAX 2000000 /* of one answer */
#define ROWS_AT_ONCE 100000.0

static const char *text_at(const json_t *row, size_t column)
{
    const char *text = json_string_value(json_array_get(row, column));
    return text ? text : "";
}

static double number_at(const json_t *row, size_t column)
{
    const json_t *value = json_array_get(row, column);
    const double v =
        json_is_string(value) ? strtod(json_string_value(value), NULL) : json_number_value(value);
    return v >= 0 && v < 1e15 ? v : 0;
}

/* A name made of an address is another one in each build. */
static const char *lasting(const char *name)
{
    return strncmp(name, "sub_", 4) == 0 ? "" : name;
}

static int judge(struct watch *watch, const char *service, struct watch_cell *cells, size_t n,
                 struct cs_error *err)
{
    int rc = watch_service(watch, service, cells, n);
    return rc < 0 ? cs_fail(err, -rc, "%s: %s", service,
                            rc == -EFBIG ? "too many hosts times epochs: a longer --every has fewer"
                                         : "out of memory")
                  : 0;
}

/* ---- cells ---- */

struct loaded {
    struct store_cell {
        struct watch_cell cell;
        char *service, *host, *function;
    } * cell;
    size_t n, capacity;
};

static int by_service(const void *a, const void *b)
{
    return strcmp(((const struct store_cell *)a)->service, ((const struct store_cell *)b)->service);
}

static char *service_of(const char *label, const char *image)
{
    char *name = strdup(*label ? label : cs_base_name(image));
    char *digits = name && *label ? strrchr(name, '(') : NULL;
    if (digits && digits > name && digits[-1] == ' ' &&
        strcmp(digits + 1 + strspn(digits + 1, "0123456789"), ")") == 0)
        digits[-1] = '\0';
    return name;
}

/* The image's and the build's texts stay the caller's. */
static int add(struct loaded *l, const char *label, const struct watch_cell *cell)
{
    if (cs_array_room(l->cell, l->n, l->capacity) < 0)
        return -ENOMEM;
    struct store_cell *c = &l->cell[l->n++];
    *c = (struct store_cell){*cell, service_of(label, cell->image), strdup(cell->host),
                             strdup(lasting(cell->function))};
    c->cell.image = cs_base_name(cell->image);
    c->cell.host = c->host;
    c->cell.function = c->function;
    return c->service && c->host && c->function ? 0 : -ENOMEM;
}

static void fini(struct loaded *l)
{
    for (size_t i = 0; i < l->n; i++) {
        free(l->cell[i].service);
        free(l->cell[i].host);
        free(l->cell[i].function);
    }
    free(l->cell);
}

static int judge_all(struct watch *watch, struct loaded *l, struct cs_error *err)
{
    struct watch_cell *cells = calloc(l->n + 1, sizeof *cells);
    int rc = cells ? 0 : cs_fail(err, ENOMEM, "out of memory");
    if (l->n)
        qsort(l->cell, l->n, sizeof *l->cell, by_service);
    for (size_t from = 0, to; rc == 0 && from < l->n; from = to) {
        for (to = from; to < l->n && strcmp(l->cell[to].service, l->cell[from].service) == 0; to++)
            cells[to - from] = l->cell[to].cell;
        rc = judge(watch, l->cell[from].service, cells, to - from, err);
    }
    free(cells);
    return rc;
}

/* ---- a server ---- */

/* label IN ('a', 'b'), or of no label: the images with these paths. `row`: label, path. */
static int add_name(char **sql, const json_t *row, bool first, struct cs_error *err)
{
    const char *label = text_at(row, 0), *path = text_at(row, 1);
    char *quoted = cs_fleet_server_quote(*label ? label : path), *all = NULL;
    const char *begin = !first   ? ", "
                        : *label ? "label IN ("
                                 : "label = '' AND image IN (SELECT image FROM images WHERE path IN (";
    if (!quoted || asprintf(&all, "%s%s%s", first ? "" : *sql, begin, quoted) < 0)
        all = NULL;
    free(quoted);
    if (!all)
        return cs_fail(err, ENOMEM, "out of memory");
    free(*sql);
    *sql = all;
    return 0;
}

static int take_rows(struct loaded *l, const json_t *rows)
{
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        const struct watch_cell cell = {.host = text_at(row, 2),
                                        .epoch = (int64_t)number_at(row, 3),
                                        .image = text_at(row, 1),
                                        .build = text_at(row, 4),
                                        .function = text_at(row, 5),
                                        .samples = number_at(row, 6)};
        if (add(l, text_at(row, 0), &cell) < 0)
            return -ENOMEM;
    }
    return 0;
}

/* The services in rows [from, to) of `names`, all with a label or all without. */
static int load_services(struct watch *watch, struct cs_fleet_server *server, const char *where,
                         uint64_t every_s, const json_t *names, size_t from, size_t to, struct cs_error *err)
{
    char *chosen = NULL, *sql = NULL;
    json_t *answer = NULL;
    struct loaded l = {.n = 0};
    int rc = 0;
    for (size_t i = from; rc == 0 && i < to; i++)
        rc = add_name(&chosen, json_array_get(names, i), i == from, err);
    if (rc == 0 &&
        asprintf(
            &sql,
            "SELECT label, path, host, e, build_id, name, sum(n) FROM (SELECT label, host, image, e, "
            "name, n FROM (SELECT label, host, image, procedure AS start, intDiv(toUInt32(time), %" PRIu64
            ") AS e, sum(count) AS n FROM points WHERE %s AND %s%s GROUP BY label, host, image, start, "
            "e) ANY LEFT JOIN symbols USING image, start) ANY LEFT JOIN images USING image GROUP BY "
            "label, path, host, e, build_id, name LIMIT %d",
            every_s, where, chosen, *text_at(json_array_get(names, from), 0) ? ")" : "))", ROWS_MAX + 1) < 0)
        rc = cs_fail(err, ENOMEM, "out of memory");
    rc = rc < 0 ? rc : cs_fleet_server_ask(server, sql, &answer, err);
    free(chosen);
    free(sql);
    if (rc < 0)
        return rc;
    const json_t *rows = json_object_get(answer, "data");
    if (json_array_size(rows) > ROWS_MAX)
        rc = cs_fail(err, EFBIG,
                     "%s has more than %d sums: a filter (since=30d) or a longer --every has fewer",
                     text_at(json_array_get(names, from), 0), ROWS_MAX);
    else if (take_rows(&l, rows) < 0)
        rc = cs_fail(err, ENOMEM, "out of memory");
    rc = rc < 0 ? rc : judge_all(watch, &l, err);
    fini(&l);
    json_decref(answer);
    return rc;
}

/* Are these two in one service? Rows are in the order of what is left of a label without a number. */
static bool together(const json_t *a, const json_t *b)
{
    char *x = service_of(text_at(a, 0), text_at(a, 1)), *y = service_of(text_at(b, 0), text_at(b, 1));
    const bool same = x && y && strcmp(x, y) == 0;
    free(x);
    free(y);
    return same;
}

int watch_load_server(struct watch *watch, struct cs_fleet_server *server, const char *where,
                      uint64_t every_s, struct cs_error *err)
{
    assert(every_s > 0);
    char *sql = NULL;
    json_t *answer = NULL;
    int rc =
        asprintf(&sql,
                 "SELECT label, if(label = '', path, '') AS own, sum(n) FROM (SELECT label, image, uniq("
                 "host, procedure, intDiv(toUInt32(time), %.0f)) AS n FROM points WHERE %s GROUP "
                 "BY label, image) ANY LEFT JOIN images USING image GROUP BY label, own ORDER BY label != "
                 "'', replaceRegexpOne(label, ' \\\\([0-9]+\\\\)$', ''), replaceRegexpOne(own, '^.*/', '') "
                 "LIMIT %d",
                 (double)every_s, where, NAMES_MAX + 1) < 0
            ? cs_fail(err, ENOMEM, "out of memory")
            : cs_fleet_server_ask(server, sql, &answer, err);
    free(sql);
    if (rc < 0)
        return rc;
    const json_t *names = json_object_get(answer, "data");
    const size_t n = json_array_size(names);
    if (n > NAMES_MAX)
        rc = cs_fail(err, EFBIG, "%s has more than %d labels: a filter (host=web1) chooses",
                     cs_fleet_server_name(server), NAMES_MAX);
    for (size_t from = 0, to; rc == 0 && from < n; from = to) {
        const json_t *first = json_array_get(names, from), *last = first;
        double rows = number_at(first, 2);
        for (to = from + 1; to < n; to++) {
            const json_t *next = json_array_get(names, to);
            rows += number_at(next, 2);
            if (!*text_at(first, 0) != !*text_at(next, 0) || (rows > ROWS_AT_ONCE && !together(last, next)))
                break;
            last = next;
        }
        rc = load_services(watch, server, where, every_s, names, from, to, err);
    }
    json_decref(answer);
    return rc;
}

/* ---- a store ---- */

/* By its name, as for a server; else by its times. */
static int64_t begin_s(struct cs_store *store, const char *epoch)
{
    const struct cs_store_epoch *epochs;
    struct cs_error ignored;
    size_t n;
    if (cs_fleet_epoch_time(epoch))
        return (int64_t)cs_fleet_epoch_time(epoch);
    if (cs_store_epochs(store, &epochs, &n, &ignored) == 0)
        for (size_t i = 0; i < n; i++)
            if (strcmp(epochs[i].name, epoch) == 0)
                return (int64_t)(epochs[i].times.from_ms / 1000);
    return 0;
}

/* `of`: what all points of the part have in common. Offsets ascend, so the points of a function follow each other. */
static int load_part(struct loaded *l, const struct cs_store_profile_ref *ref, struct cs_image_code *code,
                     const struct watch_cell *of, struct cs_error *err)
{
    struct cs_table *table;
    int rc = cs_store_load(ref, &table, err);
    if (rc < 0)
        return rc;
    const struct cs_image_procedure *last = NULL;
    for (size_t i = 0; rc == 0 && i < cs_table_rows(table); i++) {
        const uint64_t *row = cs_table_row(table, i);
        const struct cs_image_procedure *p = cs_image_procedure_at(code, row[0]);
        struct watch_cell cell = *of;
        cell.function = p ? p->name : "";
        cell.samples = (double)row[1];
        if (i && p == last)
            l->cell[l->n - 1].cell.samples += cell.samples;
        else if (add(l, ref->head->label, &cell) < 0)
            rc = cs_fail(err, ENOMEM, "out of memory");
        last = p;
    }
    cs_table_close(table);
    return rc;
}

static int load_image(struct loaded *l, struct profile *p, const struct profile_image *image,
                      uint64_t every_s, struct cs_error *err)
{
    char host[256];
    struct cs_image_code *code = profile_code(p, image);
    int rc = code ? 0 : cs_fail(err, ENOMEM, "out of memory for the names of %s", image_name(&image->image));
    for (unsigned k = 0; rc == 0 && k < image->n_parts; k++) {
        const struct cs_store_profile_ref *ref = image->parts[k].ref;
        if (image->parts[k].event != p->main_event)
            continue;
        cs_fleet_epoch_host(ref->epoch, host, sizeof host);
        const struct watch_cell of = {.host = host,
                                      .image = image->image.path,
                                      .build = image->image.build_id ? image->image.build_id : "",
                                      .epoch = begin_s(p->store, ref->epoch) / (int64_t)every_s};
        rc = load_part(l, ref, code, &of, err);
    }
    if (code)
        cs_image_close(code);
    return rc;
}

int watch_load_store(struct watch *watch, const char *store, const char *event, uint64_t every_s,
                     char learnt[64], struct cs_error *err)
{
    struct profile p;
    struct loaded l = {.n = 0};
    const struct profile_filter filter = {.epoch = "all", .main_event = event};
    int rc = profile_open(&p, store, &filter, err);
    if (rc < 0)
        return rc;
    snprintf(learnt, 64, "%s", p.events[p.main_event].name);
    for (size_t i = 0; rc == 0 && i < p.n_images; i++)
        rc = load_image(&l, &p, &p.images[i], every_s, err);
    rc = rc < 0 ? rc : judge_all(watch, &l, err);
    fini(&l);
    profile_close(&p);
    return rc;
}
