/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stores and other tools: export, import, store.
 *
 * Files of this module:
 *   export      the subcommand export
 *   clickhouse  batches to a server
 *   push        profiles to a receiver: OpenTelemetry's collector, Pyroscope, Parca
 *   retry       when a server is asked again
 *   trace       a sample log as a trace
 *   import      the subcommand import
 *   store       the subcommand store
 *
 * Where `export` goes besides the formats of exchange/export. All return an exit code and have said why. */
#pragma once

#include "cli/output/output.h"

#include <stdio.h>

/* export --to clickhouse URL. */
int export_to_clickhouse(const struct parsed *args, const char *url);
/* export --to otlp, pyroscope, parca: whether that is a name of one, and sending. */
bool export_is_receiver(const char *name);
int export_to_receiver(const struct parsed *args, const char *name);
/* The service and the host of what is exported. */
struct cs_export;
void export_name_source(const struct parsed *args, struct cs_export *from);
/* export --format trace --log FILE: a sample log as a trace for Perfetto and chrome://tracing. */
int export_trace(const char *log, FILE *to);
