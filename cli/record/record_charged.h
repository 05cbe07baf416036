/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The CPU time that the kernel charged to what is recorded, and the time that samples of a clock stand for. They differ
 * where threads wake up often. The kernel charges a thread from its wake-up on, also while the CPU still comes out of its
 * sleep or ends other work. And a timer interrupt that comes late, as on virtual machines, finds a thread asleep again
 * that it was due for (docs/lab/sampling.md). */
#pragma once

#include "sampler/sampler.h"

#include <time.h>

#define RECORD_PIDS_MAX 63 /* beside the first */

struct charged {
    clockid_t
        clock[RECORD_PIDS_MAX + 1]; /* of the processes that ran before; a command has its time at its end */
    unsigned n;
    uint64_t from_ns, to_ns;
    double seconds, sampled_seconds; /* 0: not known, or not comparable */
    bool short_of_samples;           /* too far apart for chance */
};

/* Sampling begins. */
void record_charged_begin(struct charged *charged, const struct cs_sampler_config *config);
/* Sampling is about to end. */
void record_charged_end(struct charged *charged);
/* Compares with the samples that the store at `path` has of the recording in `store`. A difference goes there, for reports: the
 * counters charged_short.ms and charged_short.sampled_ms. 0 or negative errno. */
int record_charged_keep(struct charged *charged, struct cs_sampler *sampler,
                        const struct cs_sampler_config *config, struct cs_store *store, const char *path,
                        struct cs_error *err);

/* More was charged than `samples` that stand for `sampled` seconds can miss by chance, and a twentieth at least. Pure. */
bool record_charged_is_more(double charged, double sampled, double samples);
