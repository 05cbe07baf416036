/* SPDX-License-Identifier: GPL-2.0-or-later */
/* calc's answers of base and head: which cause of a function's grew? Its answers are our own program's, about hostile code. */
#pragma once

#include "cli/gate/verdict/verdict.h"

#include <jansson.h>

#define GATE_CAUSES_ASKED 3  /* functions: each costs a second or so a side */
#define GATE_MEMORY "memory" /* misses of cache or TLB, where the two can't be told apart */

struct gate_cause_side {
    json_t *answer; /* NULL: none */
    double seconds,
        executions; /* a run (of a daemon's epochs percent of the time); executions of its busiest instruction, 0: unknown */
    double model_seconds;  /* that the model has a run take without any stall; 0: unknown */
    bool counted;          /* the answer knows the executions, too */
    char counted_once[64]; /* "ADDRESS=N" of that instruction in a run */
    bool strict; /* the verdict depends on it: few bursts don't do, nor a growth that samples vary by */
};

/* Does the cause depend on where code and data lie, and on little else? */
bool gate_cause_is_of_place(const char *cause);
/* Seconds that the cause likely took, of what the answer has samples of. */
double gate_cause_seconds(const json_t *answer, const char *cause);
/* How many recorded causes the answer has any of. */
size_t gate_causes_recorded(const json_t *answer);
/* Fills cause, cause_text and cause_growth, or cause_text with what is missing; and other_code. */
void gate_cause_compare(struct gate_guilty *guilty, const struct gate_cause_side side[2]);
