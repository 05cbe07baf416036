/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Functions, their lines, and waits that grew. A row counts where its false discovery rate is below GATE_CHANCE. The
 * runs by themselves, in turn or apart, must agree: their chance is below 1 %. Where the whole is slower, a false discovery
 * rate of 1 % is enough. */
#pragma once

#include "cli/gate/evidence.h"

/* *net: what rows that count grew by, less what such rows shrank by: a share of the base's CPU time (of its elapsed time). So code
 * that only moved to another function is none. *net_user: without the kernel's functions. */
int gate_guilty_functions(struct gate *gate, const struct gate_evidence *evidence, bool slower, double *net,
                          double *net_user, struct cs_error *err);
/* Where no function grew beyond chance: the three that grew most, by a quarter of `change` (a share of the base's time) each at least.
 * One with half of it is dominant if chance makes its growth in fewer than one of 20 comparisons. They have no lines yet. */
int gate_guilty_candidates(struct gate *gate, const struct gate_evidence *evidence, double change,
                           struct cs_error *err);
/* Of each function of the rows the line that grew most; one whose own growth counts goes first. */
int gate_guilty_lines(struct gate *gate, const struct gate_evidence *evidence, struct cs_error *err);
struct gate_waits_grown {
    bool slower;                       /* all recorded waits, or those of a kind */
    bool unsure;                       /* by the elapsed time of runs that nothing recorded (off_cpu.h) */
    const struct gate_wait_kind *kind; /* that grew; NULL: unknown */
    double ns;                         /* all waits, a run */
};
/* Where waits are slower and no place alone is, the place of most of that growth is named: of that kind's where `kind` says which. If they
 * are by their elapsed time only, the runs must agree on that place. */
int gate_guilty_waits(struct gate *gate, const struct gate_evidence *evidence,
                      const struct gate_waits_grown *grown, double *net, struct cs_error *err);

bool gate_image_is_kernel(const char *image);
/* A function's name as it is shown; the caller frees it. NULL: no memory. */
char *gate_readable(const char *name);
/* A copy, in its place by growth; the last one leaves where there are too many. 0 or -ENOMEM. */
int gate_guilty_keep(struct gate *gate, const struct gate_guilty *one);
