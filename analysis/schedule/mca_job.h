/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One question to llvm-mca: paths of one number of turns, each a region. Internal to this module. */
#pragma once

#include "analysis/schedule/cache.h"
#include "analysis/schedule/mca_models.h"
#include "analysis/schedule/schedule.h"

/* Instructions that one call simulates: the model takes 4 KB each for its answer, and 25 ms to start. The sooner a call is
 * full, the sooner it runs beside who tells the next paths. */
#define MCA_JOB_STEPS 10000

enum { MCA_WORKERS_MAX = 4 };

struct mca_target {
    enum cs_isa isa;
    struct mca_model model;
};

struct mca_batch {
    const struct cs_schedule_path *const *paths;
    size_t n_paths, n_lines; /* instruction lines over all paths */
    size_t n_before;         /* regions of one nop before the paths' */
    bool *refused;           /* by line of instruction */
    size_t *n, *turns;
    struct cs_schedule_timeline **lines;
    bool *ok;
};

struct mca_job {
    const struct mca_target *target;
    const struct cs_schedule_path **paths;
    struct cs_schedule_step **steps;
    struct schedule_cache **caches; /* of each path; NULL: all are of one */
    size_t n, turns;
    bool generic; /* not to be asked of the model */
    struct mca_batch batch;
    double width; /* negative: the model failed or isn't there */
    int rc;
};

/* Touches nothing but the job: several run at a time. */
void mca_job_ask(struct mca_job *job);
/* Takes the answer. What the model refuses together is asked for by halves; what it refuses alone goes to the
 * generic core. */
int mca_job_finish(struct mca_job *job, struct schedule_cache *cache, size_t *n_generic);
/* In place of finish: the answer isn't wanted. */
void mca_job_drop(struct mca_job *job);
/* Calls of the model at a time. */
size_t mca_workers(void);
/* Paths take one of four numbers of turns, so that calls are few. The later half, which counts, begins when the window
 * of a large core (256 instructions) has been filled: so a path of twenty needs no forty turns. */
enum { MCA_TURN_CLASSES = 4 };
extern const size_t mca_turns[MCA_TURN_CLASSES];
unsigned mca_turn_class(const struct cs_schedule_path *path);
