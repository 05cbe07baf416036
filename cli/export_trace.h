/* SPDX-License-Identifier: GPL-2.0-or-later */
/* export --format trace --log FILE: an observer log as a trace for Perfetto and chrome://tracing. Returns an
 * exit code. */
#ifndef CS_CLI_EXPORT_TRACE_H
#define CS_CLI_EXPORT_TRACE_H

#include <stdio.h>

int export_trace(const char *log, FILE *to);

#endif
