/* SPDX-License-Identifier: GPL-2.0-or-later */
/* export --to clickhouse URL. Returns an exit code. */
#ifndef CS_CLI_EXPORT_CLICKHOUSE_H
#define CS_CLI_EXPORT_CLICKHOUSE_H

#include "cli/command/command.h"

int export_to_clickhouse(const struct parsed *args, const char *url);

#endif
