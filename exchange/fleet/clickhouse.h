/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A ClickHouse server that keeps a fleet's samples. Its tables, made on first use, in the URL's database
 * ("cyclescope" unless it names one):
 *
 *   points    time, epoch, host, label, event, image, procedure, offset, count, attempt
 *   images    image (xxh64 of its id), id, kind, path, build_id
 *   symbols   image, start, size, name of the procedures that points speak of
 *   batches   which attempt to insert a batch was completed: host, spool, sequence, attempt, time, rows,
 *             samples
 *   samples   a view for people: time, host, label, path, build_id, event, offset, count
 *
 * Exactly once: rows carry the number of the attempt that brought them, and count only when `batches` has
 * that attempt, written after the last row. Of two completed attempts for one batch, the one with the smaller
 * number counts. So a server or a sender may die at any moment, and a batch may be sent again. */
#ifndef CS_CLI_CLICKHOUSE_H
#define CS_CLI_CLICKHOUSE_H

#include "exchange/fleet/batch.h"

#include <jansson.h>

/* What makes a row of `points` count. */
#define CLICKHOUSE_COUNTED "attempt IN (SELECT min(attempt) FROM batches GROUP BY host, spool, sequence)"

struct clickhouse;

/* http[s]://[user[:password]@]host[:port][/database]. Connects to nothing yet. */
int clickhouse_open(const char *url, struct clickhouse **out, struct cs_error *err);
void clickhouse_close(struct clickhouse *server);
/* The URL without user and password: for messages and names. */
const char *clickhouse_name(const struct clickhouse *server);
/* True when the last failure may be gone in a moment: no connection, an answer 5xx. */
bool clickhouse_may_recover(const struct clickhouse *server);

int clickhouse_make_tables(struct clickhouse *server, struct cs_error *err);
/* Tells a new spool what the server has of the store's epochs. */
int clickhouse_tell(struct clickhouse *server, struct cs_store *store, const char *host,
                    struct cs_spool *spool, struct cs_error *err);
/* Inserts a batch, or finds that it is there. */
int clickhouse_send(struct clickhouse *server, const struct cs_batch *batch, struct cs_error *err);

/* The answer in JSONCompact: "data" is an array of rows, 64-bit numbers are strings. */
int clickhouse_ask(struct clickhouse *server, const char *sql, json_t **answer, struct cs_error *err);
/* `text` as an SQL string, quotes included; the caller frees it. NULL when memory is short. */
char *clickhouse_quote(const char *text);

#endif
