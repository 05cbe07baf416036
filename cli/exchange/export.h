/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stores and other tools: export, import, store.
 *
 * Files of this module:
 *   export      the subcommand export
 *   clickhouse  batches to a server
 *   otlp        profiles to a receiver of OpenTelemetry's
 *   retry       when a server is asked again
 *   trace       a sample log as a trace
 *   import      the subcommand import
 *   store       the subcommand store
 *
 * Where `export` goes besides the formats of exchange/export. All return an exit code and have said why. */
#ifndef CS_CLI_EXCHANGE_EXPORT_H
#define CS_CLI_EXCHANGE_EXPORT_H

#include "cli/output/output.h"

#include <stdio.h>

/* export --to clickhouse URL. */
int export_to_clickhouse(const struct parsed *args, const char *url);
/* export --to otlp [URL]; NULL: the environment says which. */
int export_to_otlp(const struct parsed *args, const char *url);
/* export --format trace --log FILE: a sample log as a trace for Perfetto and chrome://tracing. */
int export_trace(const char *log, FILE *to);

#endif
