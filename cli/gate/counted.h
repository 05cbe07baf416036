/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs that counted their instructions exactly (`cyclescope count`), two or more of each side. Their stores have the names of
 * the timed runs' stores: base.work.store and base.store. */
#pragma once

#include "cli/compare/runs.h"
#include "cli/gate/verdict/verdict.h"

#include <limits.h>

struct gate_counted {
    char store[2][PATH_MAX];
    struct runs functions; /* instructions by function */
    struct runs mix;       /* the same, each weighed by a number of its own: sampler/count/count.h */
    bool known;
    bool
        same_work; /* each function ran the same instructions as often, and the commands have the same arguments */
    bool nearly_same_work;    /* in so many functions it isn't so, but by few instructions */
    double parts_percent;     /* of the instructions, those that may be other ones */
    double differing_percent; /* of the instructions, those in functions of which that isn't so */
};

/* Not known where there are no such stores; only a damaged one is an error. Closed in both cases. */
int gate_counted_open(struct gate_counted *counted, const struct gate *gate, struct cs_error *err);
void gate_counted_close(struct gate_counted *counted);
/* Did a function run other instructions, or not as often? */
bool gate_counted_differs(const struct gate_counted *counted, const struct gate_guilty *guilty);
/* ... and by so little that a hash of addresses may have made it? */
bool gate_counted_hardly_differs(const struct gate_counted *counted, const struct gate_guilty *guilty);
/* The verdict on work, by counts that are as good as equal from run to run. */
int gate_counted_judge(struct gate *gate, const struct gate_counted *counted, struct gate_check *work);
/* Functions that execute more. */
int gate_guilty_counted(struct gate *gate, const struct gate_counted *counted, struct cs_error *err);
