/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Time that a function's lines cause in the kernel: its system calls and its page faults are causes as those of its
 * instructions are. The largest comes first. */
#pragma once

#include "cli/profile/profile.h"

#include <jansson.h>

struct kernel_time {
    double all;         /* in the kernel, by all causes; share of all samples, as the next two */
    double caused, own; /* by this function; its instructions */
    bool first;         /* it is the function's largest cause */
    const char *cause;  /* "page-fault" or "system-call"; NULL: too little to say */
    const char *words, *advice;
    char file[1024]; /* of the line that causes most; "": not known */
    unsigned line;
    char sentence[1800]; /* without its full stop; "" = too little */
};

/* `row` is the function's. `samples` of the function's own instructions, of which its largest cause has `cause_share` (1: not known). */
void kernel_time_find(const struct profile *profile, const struct profile_rows *rows,
                      const struct profile_row *row, const struct cs_image_procedure *function,
                      double samples, double cause_share, struct kernel_time *out);
/* Pure: are `caused` samples more than `other`, and not by chance? */
bool kernel_time_leads(double caused, double other);
json_t *kernel_time_json(const struct kernel_time *time);
