/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How often functions called one another: the edges of the store (analysis/frequency/edge_flow.h: bursts, branch
 * records) that lead to the entry of a procedure. Gprof counted calls by instrumenting them. Here they are
 * estimated, with an error from replicates.
 *
 * A call is an edge to a procedure's first instruction. It comes from another procedure (a tail call is one, too) or
 * from a call instruction (recursion). Stubs of the PLT are passed through to what they reach. The caller is the
 * innermost inlined function at the call; inlined calls are no calls. Not thread-safe. */
#pragma once

#include "analysis/contexts/calls.h"
#include "analysis/frequency/edge_flow.h"

struct cs_call_count {
    uint32_t from, to; /* functions of the cs_calls */
    double calls;      /* estimated, in the unit of the flow; times `executions` is the number */
    double error;      /* standard deviation of the natural logarithm; NAN: not known */
    double seen;       /* calls in bursts */
};

struct cs_call_counts {
    struct cs_call_count *list; /* ascending by from, to */
    size_t n;
    double executions; /* 0: numbers are relative, because no interval was timed */
    uint32_t bursts;   /* that they come from; 0: not known, as of branch records */
};

/* Functions that are on no chain are added to `calls`. A flow without edges gives an empty list. */
int cs_call_counts_open(struct cs_call_counts *counts, struct cs_calls *calls, struct cs_store *store,
                        const struct cs_edge_flow *flow, bool inlines, struct cs_error *err);
void cs_call_counts_close(struct cs_call_counts *counts);

/* Of one pair, NULL: none was seen. */
const struct cs_call_count *cs_call_count_of(const struct cs_call_counts *counts, uint32_t from, uint32_t to);
/* All calls of a function, from anywhere: the sum; error as if they erred together. */
struct cs_call_count cs_call_count_to(const struct cs_call_counts *counts, uint32_t to);
