/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows of bursts, placed on images, as tables that wait for a merge. Not thread-safe. */
#pragma once

#include "sampler/burst/wire.h"
#include "sampler/sampler.h"

struct cs_burst_rows;

struct cs_burst_rows *cs_burst_rows_open(struct cs_sampler *sampler);
void cs_burst_rows_close(struct cs_burst_rows *rows);
/* Adds one burst of a thread. Returns how many rows could not be placed, or -ENOMEM. */
long cs_burst_rows_add(struct cs_burst_rows *rows, pid_t pid, pid_t tid,
                       const struct cs_burst_shared *answer);
/* Will the next burst be kept apart, as paces and long windows must be? */
bool cs_burst_rows_apart(const struct cs_burst_rows *rows);
/* Merges all tables into the store; those that were merged are emptied. */
int cs_burst_rows_merge(struct cs_burst_rows *rows, struct cs_store *store, struct cs_error *err);
