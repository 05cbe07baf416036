/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fleet watch: what the subcommand fleet calls. Both return an exit code; the first frees `where`. */
#pragma once

#include "cli/command/command.h"
#include "exchange/fleet/clickhouse.h"

enum { FLEET_WATCH_NONE = 0, FLEET_WATCH_FOUND = 1, FLEET_WATCH_CANT_TELL = 2, FLEET_WATCH_FAILED = 3 };

/* `where`: a condition on the server's points (NULL: memory was short). A negative errno leaves its sentence in `err`. */
int fleet_watch_server(const struct parsed *args, struct cs_fleet_server *server, const char *event,
                       char *where, struct cs_error *err);
int fleet_watch_store(const struct parsed *args);
