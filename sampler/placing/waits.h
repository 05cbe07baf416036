/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Waits in memory on their way to the store: records placed, summed (wait_tables.h), the longest with their times
 * (wait_times.h).
 *
 * Invariant: what was taken is in memory or in the store, as with profiles. Bounded. One owner. */
#pragma once

#include "sampler/placing/contexts.h"
#include "sampler/placing/stack_copies.h"
#include "sampler/waits/waits.h"

struct cs_session_waits;

/* `kernel` is the driver's; `copies` unwinds what came with a copy of its stack; `cpu_max` as in record_rate.h. NULL when memory is
 * short. */
struct cs_session_waits *cs_session_waits_open(struct cs_wait_kernel *kernel,
                                               struct cs_session_places *places,
                                               struct cs_session_profiles *profiles,
                                               struct cs_stack_copies *copies, bool by_name, double cpu_max);
void cs_session_waits_close(struct cs_session_waits *waits);

/* As `cpu_max` above, from now on. */
void cs_session_waits_limit(struct cs_session_waits *waits, double cpu_max);
/* From now on. */
void cs_session_waits_begin(struct cs_session_waits *waits);
/* Up to now: what threads do from here on is in no total. */
void cs_session_waits_end(struct cs_session_waits *waits);
/* Before a drain's line is drawn: takes the records that there are. */
void cs_session_waits_take(struct cs_session_waits *waits);
/* All sideband records up to the line have been applied: places what was taken. True: some are left, whose chains need a table
 * that is being made; not with `all`. */
bool cs_session_waits_place(struct cs_session_waits *waits, bool all);
/* None that is left ended before this. */
uint64_t cs_session_waits_oldest(const struct cs_session_waits *waits);

int cs_session_waits_merge(struct cs_session_waits *waits, struct cs_store *store,
                           const struct cs_session_profiles_merging *with, struct cs_error *err);

struct cs_session_waits_counts {
    uint64_t kept, lost; /* waits */
    uint64_t no_row;     /* times that a thread had none */
    double seconds;      /* their time, estimated */
    uint32_t interval_ns;
};
void cs_session_waits_counts(const struct cs_session_waits *waits, struct cs_session_waits_counts *out);
