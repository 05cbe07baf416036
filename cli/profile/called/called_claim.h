/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What one function calls in libraries and in the kernel, as one claim. */
#pragma once

#include "cli/profile/called/called.h"

struct called_claim {
    uint32_t line;                              /* of the function with most calls, the line with most */
    double samples, in_system_calls, in_faults; /* of all calls of that function */
    const char *cause, *words;                  /* "page-fault", "system-call" or "call" */
    const char *advice;                         /* what usually helps */
    char text[1600];                            /* a sentence without its full stop */
};

/* Of calls that were found. `through`: the name of the function that they lead to; NULL: none was asked for. */
void called_claim(const struct called *c, const char *through, struct called_claim *claim);

/* What usually helps against calls of a function of that name. */
const char *called_advice(const char *callee);

struct called_sum { /* of calls of the same name from the function, or from one of its lines */
    const struct called_call *first;
    double samples;
};

/* Of the function of `line`, most first; at most `most`. */
size_t called_sums(const struct called *c, uint32_t line, bool by_line, struct called_sum *sums, size_t most);
const char *called_name(const struct called *c, const struct called_call *call);
/* The line outside that most of the function's calls come from; UINT32_MAX: none has half of them, `all`. */
uint32_t called_caller(const struct called *c, uint32_t line, double all, double *samples);
