/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Many machines: fleet.
 *
 * Files of this module:
 *   fleet         the subcommand fleet
 *   fleet_filter  which samples, as SQL
 *   fleet_watch   the verb watch
 *   watch         functions that became dearer
 *   watch_sides     ... runs before and after a change
 *   watch_changes   ... where build-ids changed
 *   watch_findings  ... from chances to findings
 *   watch_load    ... the samples of a server's or a store's services
 *
 * A choice of a fleet's samples, as SQL: "host=web1,since=2024-01-31". Pure text. */
#pragma once

#include "store/base/error.h"

#include <stddef.h>

/* Condition on the columns of `points`; "1" for no filter (NULL or ""). The caller frees it. Fails with a
 * sentence where `filter` can't be understood. */
int fleet_condition(const char *filter, char **sql, struct cs_error *err);
