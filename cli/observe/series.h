/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What reports call the series of an observation, counters and then ratios of them, and in which unit they show them. */
#pragma once

#include "cli/observe/observed.h"

#define SERIES_NAME_MAX 160

struct series_name {
    char text[SERIES_NAME_MAX];
};

/* "instructions", "IPC", "llc-misses/instructions". */
struct series_name series_name(const struct observed *o, unsigned series);
/* With its unit: "instructions per 1000 cycles", "IPC (instructions per cycle)", "llc-misses per 1000 instructions". */
struct series_name series_title(const struct observed *o, unsigned series);
/* The same for the head of a column: "instructions/1000", "IPC", "llc-misses/1000 instructions". */
struct series_name series_head(const struct observed *o, unsigned series);
/* What a value is multiplied by in that unit. */
double series_scale(const struct observed *o, unsigned series);
/* A counter that a ratio stands for: shown with --raw. */
bool series_is_hidden(const struct observed *o, unsigned series);
/* By name, "ipc", "cpi" or "A/B" too; NULL: the first ratio, else the first counter. -1: there is none. */
int series_find(const struct observed *o, const char *name);
