/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Time in the kernel by the program's functions that made it, by their page faults and their system calls. Nobody can change the
 * kernel's functions; the line that calls them is where to look.
 *
 *     struct gate_in_kernel k = {.n_runs = n};
 *     gate_in_kernel_add(&k, r, side, period_ns, &called);                        of each run
 *     while (gate_in_kernel_next(&k, run, least_ns, &growth)) ... growth.line ...  the function that grew most first
 *     gate_in_kernel_fini(&k); */
#pragma once

#include "cli/gate/evidence.h"
#include "cli/profile/called/called.h"

struct gate_kernel_row { /* from one line, by one way into the kernel */
    char function[256], through[128];
    char *file;
    unsigned line;
    bool faults, told;
    double *ns, samples[2]; /* by run; by side */
};

struct gate_in_kernel {
    size_t n_runs;
    CS_ARRAY(struct gate_kernel_row) rows;
};

struct gate_kernel_growth {             /* of one function, in ns a run */
    const struct gate_kernel_row *line; /* that grew most, of the cause with most */
    double base, head, faults, calls;   /* faults, calls: what they grew by */
};

/* Of run `r`, whose side is `side`. 0 or -ENOMEM. */
int gate_in_kernel_add(struct gate_in_kernel *kernel, size_t r, unsigned side, double period_ns,
                       const struct called *called);
/* The next function, by its growth: at least `least_ns` a run, and beyond chance by the samples and by the runs. `run`: side and
 * time of each run. */
bool gate_in_kernel_next(struct gate_in_kernel *kernel, const struct gate_run *run, double least_ns,
                         struct gate_kernel_growth *growth);
/* Ns a run that functions' time in the kernel really grew by, less what others' really shrank by. All functions share the level
 * of one check. */
double gate_in_kernel_net(const struct gate_in_kernel *kernel, const struct gate_run *run);
void gate_in_kernel_fini(struct gate_in_kernel *kernel);

/* Rows of functions whose time in the kernel grew, by a quarter of `change` (a share of the base's time) at least. Rows of the
 * kernel's functions go where these have most of their growth. What can't be read is no row. 0 or negative errno. */
int gate_guilty_in_kernel(struct gate *gate, const struct gate_evidence *evidence, double change,
                          struct cs_error *err);
/* The net growth of time in the kernel, by the program's functions that made it: a share of the base's CPU time. The kernel spreads
 * one call over many functions of its own, of which none may have grown beyond chance. */
double gate_net_in_kernel(const struct gate *gate, const struct gate_evidence *evidence);
/* Instructions are the same, and nobody counted the system calls. Where they took half of what the pace grew by, that is no layout. */
void gate_settle_system_calls(struct gate *gate);
