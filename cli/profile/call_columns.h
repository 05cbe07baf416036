/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The columns of calls that were counted: how many, how sure, what one costs. */
#pragma once

#include "analysis/contexts/call_counts.h"
#include "cli/output/output.h"

/* calls, calls_error_percent, calls_confidence, cost_a_call (in the event's unit), a_call (the same with its unit). */
#define CALL_COLUMNS 5
/* Without any count they are in no text. */
void call_columns(const struct cs_call_counts *counts, struct column *columns);
/* `samples` were taken in these calls, one each `period` of `unit`. `count` NULL: not known. */
void call_cells(struct table *table, const struct cs_call_counts *counts, const struct cs_call_count *count,
                uint64_t samples, double period, const char *unit);
/* What to do for surer ones, where few bursts tell. */
void call_advice(struct output *out, const struct cs_call_counts *counts);
