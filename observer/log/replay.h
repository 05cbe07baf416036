/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A log played back through the same judgement and the same sums as in the loop. Every n-th sample alone
 * gives what an observer with an n times longer period would have seen (shim-2015 figure 1). */
#pragma once

#include "observer/log/log.h"
#include "observer/sample/rule.h"
#include "observer/sample/sink.h"

/* Called for each interval (NULL = not). `verdict` as in the sink's tally. */
typedef void cs_observe_replay_visit(void *arg, const struct cs_sample *from, const struct cs_sample *to,
                                     enum cs_dte_verdict verdict);

/* Plays the log at `path` into a new sink, which the caller closes. rule.gap_cycles 0 = 10 us beyond two
 * periods. On success *reader (may be NULL) is the reader at its end, for head and names; the caller closes
 * it. */
struct cs_observe_replay_options {
    struct cs_dte_rule rule;
    bool paper; /* the rule as given; else, where there are software counters only, cs_observe_memory_rule */
    unsigned subsample;        /* 0 and 1 = all */
    bool raw_values;           /* tags as they were read; else values of one name are the least of them */
    const char *const *ratios; /* asked for beside IPC (ratio.h) */
    unsigned n_ratios;
    cs_observe_replay_visit *visit;
    void *arg;
    /* Called from time to time with how many bytes of the file are read (NULL = not). */
    void (*progress)(void *arg, uint64_t done, uint64_t total);
    void *progress_arg;
};
int cs_observe_replay(const char *path, const struct cs_observe_replay_options *options,
                      struct cs_sink **sink, struct cs_observe_log_reader **reader, struct cs_error *err);
