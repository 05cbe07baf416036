/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Questions and answers, the tables, and what a new spool learns about the contents of the server. Answers are
 * JSON. */
#include "exchange/fleet/clickhouse_internal.h"
#include "exchange/fleet/http.h"
#include "store/base/bytes.h"
#include "store/catalog.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define DEFAULT_DATABASE "cyclescope"

int cs_fleet_server_no_memory(struct cs_error *err)
{
    return cs_fail(err, ENOMEM, "out of memory while talking to the server");
}

int cs_fleet_server_open(const char *url, struct cs_fleet_server **out, struct cs_error *err)
{
    const char *rest = strstr(url, "://");
    *out = NULL;
    if (!rest || (strncmp(url, "http://", 7) != 0 && strncmp(url, "https://", 8) != 0) || !rest[3])
        return cs_fail(err, EINVAL, "%s is no URL of a server: expected http://HOST:8123/DATABASE",
                       strrchr(url, '@') ? strrchr(url, '@') + 1 : url); /* no password in messages */
    rest += 3;
    size_t scheme = (size_t)(rest - url), place = strcspn(rest, "/?#");
    const char *path = rest + place, *at = memchr(rest, '@', place);
    path += *path == '/';
    const char *bare = at ? at + 1 : rest;
    if (strspn(path, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") != strlen(path))
        return cs_fail(err, EINVAL, "\"%s\" is no name of a database: letters, digits and \"_\" only", path);
    struct cs_fleet_server *server = calloc(1, sizeof *server);
    if (!server)
        return cs_fleet_server_no_memory(err);
    server->database = strdup(*path ? path : DEFAULT_DATABASE);
    if (asprintf(&server->base, "%.*s/", (int)(scheme + place), url) < 0)
        server->base = NULL;
    if (asprintf(&server->name, "%.*s%.*s/%s", (int)scheme, url, (int)(rest + place - bare), bare,
                 server->database ? server->database : "") < 0)
        server->name = NULL;
    int rc = server->database && server->base && server->name ? cs_fleet_http_open(&server->http, err)
                                                              : cs_fleet_server_no_memory(err);
    if (rc < 0)
        cs_fleet_server_close(server);
    else
        *out = server;
    return rc;
}

void cs_fleet_server_close(struct cs_fleet_server *server)
{
    if (!server)
        return;
    cs_fleet_http_close(server->http);
    free(server->base);
    free(server->name);
    free(server->database);
    free(server);
}

const char *cs_fleet_server_name(const struct cs_fleet_server *server)
{
    return server->name;
}

bool cs_fleet_server_may_recover(const struct cs_fleet_server *server)
{
    return server->may_recover;
}

/* ---- requests ---- */

/* The first line of what the server said, without its own decoration. */
static int refused(struct cs_fleet_server *server, struct cs_fleet_http_answer *answer, struct cs_error *err)
{
    char *text = strstr(answer->text, "e.displayText() = ");
    text = text ? text + strlen("e.displayText() = ") : answer->text;
    text[strcspn(text, "\n")] = '\0';
    server->may_recover = answer->status >= 500;
    int rc = cs_fail(err, EREMOTEIO, "%s answered %ld: %.300s", server->name, answer->status, text);
    free(answer->text);
    return rc;
}

/* `query` goes into the URL when there is a body, else into the body. */
static int request(struct cs_fleet_server *server, const char *database, const char *query,
                   const struct cs_bytes *body, struct cs_fleet_http_answer *answer, struct cs_error *err)
{
    char *escaped = body ? cs_fleet_http_escape(query) : NULL, *url = NULL;
    if ((body && !escaped) ||
        asprintf(&url, "%s?max_query_size=67108864%s%s%s%s", server->base, database ? "&database=" : "",
                 database ? database : "", escaped ? "&query=" : "", escaped ? escaped : "") < 0) {
        free(escaped);
        return cs_fleet_server_no_memory(err);
    }
    struct cs_error inner;
    int rc = cs_fleet_http_post(server->http, url, body ? (const void *)body->start : query,
                                body ? body->used : strlen(query), answer, &inner);
    free(escaped);
    free(url);
    server->may_recover = rc < 0;
    if (rc < 0)
        return cs_fail(err, inner.code, "%s can't be reached: %.300s", server->name, inner.text);
    return answer->status == 200 ? 0 : refused(server, answer, err);
}

int cs_fleet_server_execute(struct cs_fleet_server *server, const char *database, const char *query,
                            const struct cs_bytes *body, struct cs_error *err)
{
    assert(query[0]);
    struct cs_fleet_http_answer answer;
    int rc = request(server, database, query, body, &answer, err);
    if (rc == 0)
        free(answer.text);
    return rc;
}

int cs_fleet_server_ask(struct cs_fleet_server *server, const char *sql, json_t **out, struct cs_error *err)
{
    struct cs_fleet_http_answer answer;
    json_error_t why;
    char *query = NULL;
    if (asprintf(&query, "%s FORMAT JSONCompact", sql) < 0)
        return cs_fleet_server_no_memory(err);
    int rc = request(server, server->database, query, NULL, &answer, err);
    free(query);
    if (rc < 0)
        return rc;
    *out = json_loadb(answer.text, answer.n, 0, &why);
    free(answer.text);
    return *out && json_is_array(json_object_get(*out, "data"))
               ? 0
               : cs_fail(err, EBADMSG, "%s: the answer is no JSON: %s", server->name, why.text);
}

char *cs_fleet_server_quote(const char *text)
{
    char *out = malloc(2 * strlen(text) + 3), *at = out;
    if (!out)
        return NULL;
    *at++ = '\'';
    for (; *text; text++) {
        if (*text == '\'' || *text == '\\')
            *at++ = '\\';
        *at++ = *text;
    }
    strcpy(at, "'");
    return out;
}

/* ---- tables ---- */

int cs_fleet_server_make_tables(struct cs_fleet_server *server, struct cs_error *err)
{
    static const char *const tables[] = {
        "CREATE TABLE IF NOT EXISTS points (time DateTime, epoch String, host String, label String, event "
        "String, image UInt64, procedure UInt64, offset UInt64, count UInt64, attempt UInt64) ENGINE = "
        "MergeTree PARTITION BY toYYYYMM(time) ORDER BY (event, image, procedure, offset, time)",
        "CREATE TABLE IF NOT EXISTS images (image UInt64, id String, kind UInt8, path String, build_id "
        "String) ENGINE = ReplacingMergeTree ORDER BY image",
        "CREATE TABLE IF NOT EXISTS symbols (image UInt64, start UInt64, size UInt64, name String) ENGINE = "
        "ReplacingMergeTree ORDER BY (image, start)",
        "CREATE TABLE IF NOT EXISTS batches (host String, spool UInt64, sequence UInt64, attempt UInt64, "
        "time DateTime, rows UInt64, samples UInt64) ENGINE = MergeTree ORDER BY (host, spool, sequence)",
        "CREATE VIEW IF NOT EXISTS samples AS SELECT time, host, label, path, build_id, event, offset, count "
        "FROM (SELECT * FROM points WHERE " CS_FLEET_COUNTED ") ANY LEFT JOIN images USING image",
        "CREATE VIEW IF NOT EXISTS functions AS SELECT time, host, label, event, path, build_id, if(name = "
        "'', '[no symbol]', name) AS function, n AS count FROM (SELECT time, host, label, event, image, "
        "name, n FROM (SELECT time, host, label, event, image, procedure AS start, sum(count) AS n FROM "
        "points WHERE " CS_FLEET_COUNTED " GROUP BY time, host, label, event, image, procedure) ANY LEFT "
        "JOIN symbols USING image, start) ANY LEFT JOIN images USING image"};
    char *create = NULL;
    if (asprintf(&create, "CREATE DATABASE IF NOT EXISTS %s", server->database) < 0)
        return cs_fleet_server_no_memory(err);
    int rc = cs_fleet_server_execute(server, NULL, create, NULL, err);
    free(create);
    for (size_t i = 0; rc == 0 && i < sizeof tables / sizeof *tables; i++)
        rc = cs_fleet_server_execute(server, server->database, tables[i], NULL, err);
    return rc;
}

/* ---- what the server has of a store ---- */

/* "a<TAB>b" in place; ClickHouse escapes what would disturb, and nothing that is escaped names a profile of a
 * store but in its label. */
static void unescape(char *text)
{
    char *to = text;
    for (; *text; text++) {
        if (*text == '\\' && text[1]) {
            static const char from[] = "btnfr0'\\", into[] = "\b\t\n\f\r\0'\\";
            const char *at = strchr(from, *++text);
            *to++ = at && *at ? into[at - from] : *text;
        } else {
            *to++ = *text;
        }
    }
    *to = '\0';
}

static int notify_rows(struct cs_fleet_server *server, char *text, const char *epoch,
                       struct cs_fleet_spool *spool, struct cs_error *err)
{
    int rc = 0;
    char *line_end;
    for (char *line = text; rc == 0 && *line; line = line_end + 1) {
        char *cells[5] = {0}, *next = line;
        line_end = line + strcspn(line, "\n");
        if (!*line_end)
            return cs_fail(err, EBADMSG, "%s: the answer is cut off", server->name);
        *line_end = '\0';
        for (unsigned i = 0; i < 5 && next; i++)
            cells[i] = strsep(&next, "\t");
        if (!cells[4])
            return cs_fail(err, EBADMSG, "%s: the answer has too few columns", server->name);
        unescape(cells[1]);
        unescape(cells[2]);
        rc = cs_fleet_spool_note_sent(spool, epoch, cells[0], cells[1], cells[2],
                                      strtoull(cells[3], NULL, 10), strtoull(cells[4], NULL, 10), err);
    }
    return rc;
}

static int notify_epoch(struct cs_fleet_server *server, const char *epoch, const char *host,
                        struct cs_fleet_spool *spool, struct cs_error *err)
{
    char own_host[256], *sql = NULL, *quoted_epoch = cs_fleet_server_quote(epoch), *quoted_host = NULL;
    struct cs_fleet_http_answer answer;
    cs_fleet_epoch_host(epoch, own_host, sizeof own_host);
    quoted_host = cs_fleet_server_quote(host ? host : own_host);
    int rc = quoted_epoch && quoted_host ? 0 : cs_fleet_server_no_memory(err);
    if (rc == 0 && asprintf(&sql,
                            "SELECT id, event, label, offset, n FROM (SELECT image, event, label, offset, "
                            "sum(count) AS n FROM points WHERE epoch = %s AND host = %s AND " CS_FLEET_COUNTED
                            " GROUP BY image, event, label, offset) ANY LEFT JOIN images USING image ORDER "
                            "BY id, event, label, offset FORMAT TabSeparated",
                            quoted_epoch, quoted_host) < 0)
        rc = cs_fleet_server_no_memory(err);
    if (rc == 0)
        rc = request(server, server->database, sql, NULL, &answer, err);
    if (rc == 0) {
        rc = notify_rows(server, answer.text, epoch, spool, err);
        free(answer.text);
    }
    free(sql);
    free(quoted_epoch);
    free(quoted_host);
    return rc;
}

int cs_fleet_server_notify(struct cs_fleet_server *server, struct cs_store *store, const char *host,
                           struct cs_fleet_spool *spool, struct cs_error *err)
{
    const struct cs_catalog *catalog;
    const char *epoch = "";
    cs_store_refresh(store);
    int rc = cs_store_catalog(store, &catalog, err);
    for (size_t i = 0; rc == 0 && i < catalog->n_profiles; i++) {
        if (strcmp(epoch, catalog->profiles[i].epoch) == 0)
            continue;
        epoch = catalog->profiles[i].epoch;
        rc = notify_epoch(server, epoch, host, spool, err);
    }
    return rc;
}
