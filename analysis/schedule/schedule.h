/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Static cycles: the time of a path of instructions on the core when nothing dynamic goes wrong. Every load
 * hits the first level, every branch is predicted. This is M (dcpi-1997 section 6.1.3) and static stalls
 * (6.3), carried over to cores that run out of order. M of an instruction is the gap between its retirement
 * and its predecessor's, taken from a simulated time line. A path that bursts saw close on itself is
 * repeated until its loop-carried dependencies show; the mean over the later half counts.
 *
 * Files of this module:
 *   block_cycles  M of each block by itself
 *   cache         steps kept between calls in one file
 *   generic       the generic core, where llvm-mca is not installed: pure
 *   mca           the scheduler: llvm-mca as a subprocess, its jobs and its cache
 *   mca_ahead     questions that are asked while their owner goes on
 *   mca_call      one run of a program that can't block
 *   mca_job       one question: paths as text, the answer as steps
 *   mca_models    which llvm-mca is installed, and which models it has
 *   mca_parse     llvm-mca's JSON to time lines: pure
 *   model         constants of the steps and of the generic core
 *   schedule      time lines to steps: pure
 *
 * Invariants: M >= 0. The sum of M over a closed path is its steady-state cycles per turn; for each step
 * execution + dependency + port + divider + front = M. A branch that fused has M = 0, its predecessor carries
 * it.
 *
 * A scheduler may be asked by several threads; who opened it closes it after them. */
#pragma once

#include "image/isa/semantics.h"
#include "store/base/error.h"

#include <stdbool.h>
#include <stddef.h>

struct cs_schedule_path {
    const struct cs_isa_op *ops;
    size_t n;
    bool closed; /* the last is followed by the first */
    bool rough;  /* the generic core will do: too little hangs on it to ask the model */
};

/* Cycle numbers of one instruction of one turn. */
struct cs_schedule_timeline {
    int dispatched, ready, issued, executed, retired;
};

struct cs_schedule_step {
    double m;          /* cycles between its predecessor's retirement and its own */
    double execution;  /* of m: its share of the core's width */
    double dependency; /* of m: waiting for an operand, or its own latency that nothing hides */
    double port;       /* of m: operands ready, no port free */
    double divider;    /* of m: own latency of a division */
    double front;      /* of m: not yet dispatched */
    int producer;      /* step that produced the operand that came last, -1 = none on the path */
    bool fused;        /* one operation with its predecessor */
};

#define CS_SCHEDULE_DISPATCH_MAX 6.0 /* the widest of today's models, where a path doesn't show its own */
#define CS_SCHEDULE_WIDTH_MAX 8.0    /* operations that no core so far retires more of in a cycle */
#define CS_SCHEDULE_PATH_MAX 512     /* longer paths are refused with -E2BIG */

/* Turns that a path of n instructions is repeated. */
size_t cs_schedule_turns(const struct cs_schedule_path *path);

/* Pure: `lines` are turns * n time lines, turn by turn; `width` the core's dispatch width. */
void cs_schedule_steps(const struct cs_schedule_path *path, const struct cs_schedule_timeline *lines,
                       size_t turns, double width, struct cs_schedule_step *steps);

/* Pure, of AMD's cores: a closed path takes a cycle at least for each line of code that it comes to, and for each 8 operations
 * between two taken branches. What `steps` have less is added to those that begin a line, as `front`. llvm-mca doesn't
 * fetch. */
void cs_schedule_fetch(const struct cs_schedule_path *path, struct cs_schedule_step *steps);

/* Pure: the generic core. Fills turns * n time lines, returns its width. */
double cs_schedule_generic(const struct cs_schedule_path *path, size_t turns,
                           struct cs_schedule_timeline *lines);

/* llvm-mca's JSON text -> time lines, one region after the other; the first n_before regions are passed over.
 * `lines[r]` has room for turns[r] * n[r]; a region whose shape differs gets ok[r] = false. Returns the dispatch width, or a
 * negative errno. */
double cs_schedule_mca_parse(const char *json, size_t length, size_t n_before, size_t n_regions,
                             const size_t *n, const size_t *turns, struct cs_schedule_timeline *const *lines,
                             bool *ok);

struct cs_scheduler;

/* `isa`: of the paths that it will schedule. `cpus`: models in order of preference, NULL-terminated
 * (cs_machine_models, or what --cpu said). `cache`: a file that keeps steps between calls, NULL = none; it
 * may be damaged or deleted at any time. `generic_only` keeps llvm-mca out. Never fails for want of llvm-mca.
 */
int cs_scheduler_open(enum cs_isa isa, const char *const *cpus, const char *cache, bool generic_only,
                      struct cs_scheduler **out, struct cs_error *err);
void cs_scheduler_close(struct cs_scheduler *scheduler);
/* What both are told ahead shares the model's calls, where it is the same model; each keeps its cache, and is closed for
 * itself. Before anything was told or asked. */
void cs_scheduler_join(struct cs_scheduler *scheduler, struct cs_scheduler *other);
/* "llvm-mca-19 -mcpu=znver3" or "generic core: 4 wide, ...". */
const char *cs_scheduler_name(const struct cs_scheduler *scheduler);
/* The generic core has all paths: llvm-mca isn't there, or was kept out. */
bool cs_scheduler_is_generic(const struct cs_scheduler *scheduler);
/* Schedules all paths in one go; steps[i] has room for paths[i].n. A path that the model refuses falls back
 * to the generic core; *n_generic (may be NULL) counts those. */
int cs_scheduler_run(struct cs_scheduler *scheduler, const struct cs_schedule_path *paths, size_t n_paths,
                     struct cs_schedule_step *const *steps, size_t *n_generic, struct cs_error *err);
/* Starting the model takes longer than most procedures' paths. Who will run those of many procedures tells
 * them ahead (they are copied) and then calls ..._ahead_run. The model is asked in large calls of bounded size,
 * in threads beside the caller, from when a call is full; cs_scheduler_run waits for what it needs. */
int cs_scheduler_ahead(struct cs_scheduler *scheduler, const struct cs_schedule_path *paths, size_t n_paths,
                       struct cs_error *err);
void cs_scheduler_ahead_run(struct cs_scheduler *scheduler);
