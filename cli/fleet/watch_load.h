/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The samples of all services for watch. A service is what has one label, without a process's number. Where nothing is
 * labelled, each image is one. */
#pragma once

#include "cli/fleet/watch.h"
#include "exchange/fleet/clickhouse.h"

/* One service after the other. `where`: a condition on `points`; `every_s`: the length of an epoch. 0 or negative errno with
 * its sentence. */
int watch_load_server(struct watch *watch, struct cs_fleet_server *server, const char *where,
                      uint64_t every_s, struct cs_error *err);
/* All epochs of a store. `event` is given (NULL: the one of prof) or learnt. */
int watch_load_store(struct watch *watch, const char *store, const char *event, uint64_t every_s,
                     char learnt[64], struct cs_error *err);
