/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Estimated execution counts of a listing's lines and instructions (analysis/frequency/frequency.h): relative numbers,
 * from the edges that bursts or branch records saw. Samples alone tell where time goes, not how
 * often. */
#pragma once

#include "analysis/frequency/frequency.h"
#include "cli/profile/lines/annotate.h"

struct execution {
    double times;     /* NAN = not known */
    bool own;         /* from code of the line itself, not from what was inlined there */
    uint8_t sureness; /* enum cs_confidence */
};

struct executions {
    struct execution *line, *insn; /* as the annotation's lines and instructions */
    double edges_seen;             /* seen in the store: 0 = nothing is known */
};

/* `row` is the listed procedure; NULL for a file: then all procedures of the annotation's image in `rows`. */
int executions_open(struct executions *e, struct profile *profile, const struct profile_rows *rows,
                    const struct profile_row *row, const struct annotation *annotation, struct cs_error *err);
void executions_fini(struct executions *e);
