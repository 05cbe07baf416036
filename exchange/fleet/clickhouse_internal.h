/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What questions and insertions share: a server. */
#pragma once

#include "exchange/fleet/clickhouse.h"
#include "store/base/bytes.h"

struct cs_fleet_server {
    struct cs_fleet_http *http;
    char *base;     /* with user and password, without the database */
    char *name;     /* for people */
    char *database; /* letters, digits, "_" */
    bool may_recover;
};

/* A statement, with rows or without (NULL). */
int cs_fleet_server_execute(struct cs_fleet_server *server, const char *database, const char *query,
                            const struct cs_bytes *body, struct cs_error *err);
int cs_fleet_server_no_memory(struct cs_error *err);
