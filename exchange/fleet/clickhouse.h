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
 *   functions the same by function, for grafana.json: time, host, label, event, path, build_id, function, count
 *
 * Exactly once: rows carry the number of the attempt that brought them, and count only when `batches` has
 * that attempt, written after the last row. Of two completed attempts for one batch, the one with the smaller
 * number counts. So a server or a sender may die at any moment, and a batch may be sent again. */
#pragma once

#include "exchange/fleet/batch.h"

#include <jansson.h>

/* What makes a row of `points` count. */
#define CS_FLEET_COUNTED "attempt IN (SELECT min(attempt) FROM batches GROUP BY host, spool, sequence)"

struct cs_fleet_server;

/* http[s]://[user[:password]@]host[:port][/database]. Connects to nothing yet. */
int cs_fleet_server_open(const char *url, struct cs_fleet_server **out, struct cs_error *err);
void cs_fleet_server_close(struct cs_fleet_server *server);
/* The URL without user and password: for messages and names. */
const char *cs_fleet_server_name(const struct cs_fleet_server *server);
/* True when the last failure may be gone in a moment: no connection, an answer 5xx. */
bool cs_fleet_server_may_recover(const struct cs_fleet_server *server);

int cs_fleet_server_make_tables(struct cs_fleet_server *server, struct cs_error *err);
/* Tells a new spool what the server has of the store's epochs. */
int cs_fleet_server_notify(struct cs_fleet_server *server, struct cs_store *store, const char *host,
                           struct cs_fleet_spool *spool, struct cs_error *err);
/* Inserts a batch, or finds that it is there. */
int cs_fleet_server_send(struct cs_fleet_server *server, const struct cs_fleet_batch *batch,
                         struct cs_error *err);

/* The answer in JSONCompact: "data" is an array of rows, 64-bit numbers are strings. */
int cs_fleet_server_ask(struct cs_fleet_server *server, const char *sql, json_t **answer,
                        struct cs_error *err);
/* `text` as an SQL string, quotes included; the caller frees it. NULL when memory is short. */
char *cs_fleet_server_quote(const char *text);
