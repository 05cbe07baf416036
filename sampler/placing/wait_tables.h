/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Waits summed: tables of waits, threads' totals and blame for each label, on their way to the store.
 *
 * Bounded: rows of a table beyond CS_SESSION_WAIT_ROWS lose their object and waker first (their time stays). One owner. */
#pragma once

#include "sampler/placing/profiles.h"
#include "sampler/waits/blame.h"
#include "sampler/waits/thread_rows.h"
#include "store/store.h"

#define CS_SESSION_WAIT_ROWS 65536

struct cs_session_wait_tables;
struct cs_session_wait_label; /* the tables of one label, until others are asked for */

/* `by_name`: rows of threads have no number. NULL when memory is short. */
struct cs_session_wait_tables *cs_session_wait_tables_open(bool by_name);
void cs_session_wait_tables_close(struct cs_session_wait_tables *tables);
/* NULL when memory is short. */
struct cs_session_wait_label *cs_session_wait_tables_of(struct cs_session_wait_tables *tables,
                                                        uint32_t label);
/* A whole number, right in the mean. */
uint64_t cs_session_wait_tables_rounded(struct cs_session_wait_tables *tables, double value);

struct cs_session_wait_row {
    uint64_t context, waker_context, ns;
    const char *reason, *call, *object, *thread, *waker;
    double factor; /* waits that it stands for */
};
void cs_session_wait_tables_wait(struct cs_session_wait_label *label, const struct cs_session_wait_row *row);

struct cs_session_wait_blaming { /* of which wait */
    struct cs_session_wait_label *label;
    uint64_t context;
    const char *reason, *object;
    double factor;
};
/* `blaming` is a struct cs_session_wait_blaming. */
void cs_session_wait_tables_blame(void *blaming, const struct cs_blame_part *part);
void cs_session_wait_tables_thread(struct cs_session_wait_label *label, const struct cs_wait_added *added);

/* What was merged is no longer in memory. */
int cs_session_wait_tables_merge(struct cs_session_wait_tables *tables, struct cs_store *store,
                                 const struct cs_session_profiles_merging *with, struct cs_error *err);
