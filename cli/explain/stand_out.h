/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What stands out: places whose cost may be avoidable, with what was counted there. Not the hottest function, which may do
 * ordinary work.
 *
 *     struct stand_outs all = {0};
 *     stand_out_waits(&all, store, &waits);
 *     stand_out_calls(&all, &subject);
 *     stand_out_code(&all, args, &subject);
 *     ... all.at[0] is what could save most ... */
#pragma once

#include "analysis/waits/wait_groups.h"
#include "cli/command/figures.h"
#include "cli/procedure/subject.h"

#define STAND_OUT_MAX 6

struct stand_out {
    const char *
        kind; /* "wait", "page-fault", "system-call", "call", "search", "loop", "bits", or a cause of calc's */
    char function[256];
    char file[1024]; /* "": not known */
    unsigned line;
    double percent; /* of all samples; of a wait, of threads' time */
    double saves;   /* percent that may be saved: the order of the list */
    double turns;   /* of the loop, each time that it is entered; NAN: no loop, or not known */
    double
        a_second; /* calls, entries of the loop, waits: of a second of CPU time, of a wait elapsed; NAN: not known */
    double bytes;       /* that a call copies or clears, or that a load goes over; NAN: not known */
    char what[500];     /* a sentence without its full stop */
    const char *advice; /* NULL: none */
};

struct stand_outs {
    struct stand_out at[STAND_OUT_MAX]; /* what could save most first */
    size_t n;
    size_t n_hot;       /* functions with enough samples for a look */
    size_t n_functions; /* of these, whose source can be read: others' loops and stalls aren't listed */
};

/* A row of which only the kind is known. */
struct stand_out stand_out_of(const char *kind);
/* Its line and function: the innermost inlined one at `address`, `function` (as the linker has it) where that isn't known. */
void stand_out_place(struct stand_out *row, struct cs_image_code *code, uint64_t address,
                     const char *function);
/* In its order. Of equal kind and line only the one that saves more stays; beyond STAND_OUT_MAX the last one goes. */
void stand_outs_add(struct stand_outs *all, const struct stand_out *row);

/* Waits of at least a fiftieth of all threads' time. */
void stand_out_waits(struct stand_outs *all, struct cs_store *store, const struct cs_wait_groups *waits);
/* Page faults, system calls, and calls of libraries, by the program's own lines. */
void stand_out_calls(struct stand_outs *all, const struct calc_subject *s);
/* Causes and loops of the hottest functions. */
void stand_out_code(struct stand_outs *all, const struct parsed *args, const struct calc_subject *s);
/* The loops of one function's account. `share`: of all samples, that the function has. */
void stand_out_loops(struct stand_outs *all, const struct calc_subject *s, struct cs_image_code *code,
                     const struct cs_culprit_evidence *evidence, const struct cs_cycle_account *account);

/* Calls from a line: executions a second of CPU time, NAN where bursts say nothing. `callee` NULL: of anything. */
double stand_out_call_rate(const struct calc_subject *s, const char *file, unsigned line, const char *callee);
/* Bytes that a memory instruction wrote in all, of its row of "burst-memory": a copying one has what it read in there, too. */
double stand_out_written(const uint64_t *row);
/* Bytes that a call of the C library's function writes on average, NAN where bursts didn't see it. */
double stand_out_call_bytes(const struct calc_subject *s, const char *callee);
/* An estimate in words: "4.8 million", "390,000". */
struct figure stand_out_about(double number);
/* Executions a second of CPU time of what the flow has as 1; 0: not known. */
double stand_out_rate(const struct calc_subject *s);
