/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One function with all that its analysis needs, and the answer: what calc and explain have in common.
 *
 *     struct calc_subject s = {0};
 *     if (calc_subject_open(&s, args, &err) == 0) calc_answer(&s, &answer);
 *     calc_subject_close(&s);     in any case
 */
#pragma once

#include "cli/procedure/calc.h"
#include "cli/procedure/kernel_time.h"
#include "cli/profile/profile.h"

struct calc_subject {
    struct profile profile;
    struct profile_rows rows;
    const struct profile_row *row;
    struct cs_edge_flow *flow;
    struct cs_image_code *code;
    struct cs_culprit_evidence *evidence;
    struct cs_scheduler *scheduler;
    struct cs_experiments *experiments;
    struct cs_cycle_account *account;
    bool opened; /* the profile and its rows are there, whatever failed after it */
};

/* The first operand of `args`, else the hottest function; options image, event, cpu, counted, and the recording's. */
int calc_subject_open(struct calc_subject *s, const struct parsed *args, struct cs_error *err);
void calc_subject_close(struct calc_subject *s);

/* The cause, how sure it is, and what usually helps; or what is missing. */
struct calc_answer {
    struct cs_culprit_verdict verdict;
    struct worst_cause worst; /* without a share where the evidence doesn't suffice */
    char sentence[1200];
    const char *advice;     /* NULL: none */
    const char *unseen;     /* what would look the same and nothing observes; NULL: nothing */
    char removed[200];      /* what the loop takes without its cause: a sentence, or "" */
    struct cause_gain gain; /* likely: NAN of a shared line */
    struct kernel_time kernel;
};
void calc_answer(const struct calc_subject *s, struct calc_answer *answer);
