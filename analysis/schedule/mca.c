/* SPDX-License-Identifier: GPL-2.0-or-later */
/* llvm-mca as a subprocess: all paths in few calls, each a region. Starting it takes longer than most procedures'
 * paths: who asks for many procedures says so ahead. */
#include "analysis/schedule/cache.h"
#include "analysis/schedule/mca_ahead.h"
#include "analysis/schedule/mca_job.h"
#include "analysis/schedule/schedule.h"
#include "store/base/array.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORTH_HALVING = 8 };

struct cs_scheduler {
    struct mca_target target;
    bool generic; /* there is no model */
    char name[128];
    struct schedule_cache *cache;
    struct mca_ahead *ahead; /* its lock guards the cache, too; NULL: there is no model, nor a cache */
};

int cs_scheduler_open(enum cs_isa isa, const char *const *cpus, const char *cache, bool generic_only,
                      struct cs_scheduler **out, struct cs_error *err)
{
    struct cs_scheduler *s = calloc(1, sizeof *s);
    *out = s;
    if (!s)
        return cs_fail(err, ENOMEM, "no memory for the scheduling model");
    s->target.isa = isa;
    s->generic = generic_only || !mca_choose(isa, cpus, cache, &s->target.model);
    if (!s->generic) {
        const char *slash = strrchr(s->target.model.program, '/');
        snprintf(s->name, sizeof s->name, "%.64s -mcpu=%s", slash ? slash + 1 : s->target.model.program,
                 s->target.model.cpu);
        s->cache = schedule_cache_open(cache, s->name);
        if (!(s->ahead = mca_ahead_open(&s->target)))
            return cs_fail(err, ENOMEM, "no memory for the scheduling model");
    } else {
        snprintf(s->name, sizeof s->name, "generic core (4 wide; install llvm-mca for this CPU's own model)");
    }
    return 0;
}

void cs_scheduler_close(struct cs_scheduler *s)
{
    if (!s)
        return;
    mca_ahead_close(s->ahead, s->cache);
    schedule_cache_close(s->cache);
    free(s);
}

void cs_scheduler_join(struct cs_scheduler *s, struct cs_scheduler *other)
{
    struct mca_ahead *both = s->ahead && other->ahead ? mca_ahead_share(other->ahead, &s->target) : NULL;
    if (!both)
        return;
    mca_ahead_close(s->ahead, s->cache);
    s->ahead = both;
}

static void lock(struct cs_scheduler *s)
{
    if (s->ahead)
        mca_ahead_lock(s->ahead);
}

static void unlock(struct cs_scheduler *s)
{
    if (s->ahead)
        mca_ahead_unlock(s->ahead);
}

const char *cs_scheduler_name(const struct cs_scheduler *s)
{
    return s->name;
}

bool cs_scheduler_is_generic(const struct cs_scheduler *s)
{
    return s->generic;
}

struct jobs {
    CS_ARRAY(struct mca_job) list;
    size_t n_asked; /* the first of them: asked of the model; the others are done by the generic core */
    size_t next;    /* to be done; atomic */
};

static void *work(void *argument)
{
    struct jobs *jobs = argument;
    for (size_t i; (i = __atomic_fetch_add(&jobs->next, 1, __ATOMIC_RELAXED)) < jobs->n_asked;)
        mca_job_ask(&jobs->list.at[i]);
    return NULL;
}

/* Some at a time: the model is a program of one thread, and starting it takes longer than most paths. */
static int run_jobs(struct cs_scheduler *s, struct jobs *jobs, size_t *n_generic)
{
    pthread_t thread[MCA_WORKERS_MAX];
    size_t n = jobs->n_asked > 1 ? mca_workers() : 1, started = 0;
    n = jobs->n_asked < n ? jobs->n_asked : n;
    int rc = 0;
    while (started + 1 < n && pthread_create(&thread[started], NULL, work, jobs) == 0)
        started++;
    work(jobs);
    for (size_t i = jobs->n_asked; i < jobs->list.n; i++)
        mca_job_ask(&jobs->list.at[i]);
    while (started > 0)
        pthread_join(thread[--started], NULL);
    lock(s);
    for (size_t i = 0; i < jobs->list.n; i++) {
        int failed = mca_job_finish(&jobs->list.at[i], s->cache, n_generic);
        rc = rc ? rc : failed;
    }
    schedule_cache_flush(s->cache);
    unlock(s);
    return rc;
}

/* Jobs for n paths of one number of turns. The longest first (40 turns) end together with the others. */
static int add_jobs(struct cs_scheduler *s, struct jobs *jobs, const struct cs_schedule_path **some,
                    struct cs_schedule_step **into, size_t n, size_t turns, bool generic)
{
    size_t total = 0, done = 0;
    for (size_t i = 0; i < n; i++)
        total += some[i]->n * turns;
    size_t most = total < 2 * MCA_JOB_STEPS && n >= WORTH_HALVING ? total / 2 + 1 : MCA_JOB_STEPS;
    while (done < n) {
        size_t steps = 0, first = done;
        while (done < n && (done == first || steps + some[done]->n * turns <= most))
            steps += some[done++]->n * turns;
        struct mca_job *job = cs_array_add(&jobs->list);
        if (!job)
            return -ENOMEM;
        jobs->n_asked += !generic;
        *job = (struct mca_job){.target = &s->target,
                                .paths = some + first,
                                .steps = into + first,
                                .n = done - first,
                                .turns = turns,
                                .generic = generic};
    }
    return 0;
}

/* Known, or told ahead and soon to be known. A rough path never is: what it gets doesn't hang on who asked before. */
static bool known(struct cs_scheduler *s, const struct cs_schedule_path *path, struct cs_schedule_step *steps,
                  bool *own)
{
    if (path->rough)
        return false;
    lock(s);
    bool have = schedule_cache_get(s->cache, path, steps, own);
    while (!have && s->ahead && mca_ahead_wait(s->ahead))
        have = schedule_cache_get(s->cache, path, steps, own);
    unlock(s);
    return have;
}

int cs_scheduler_run(struct cs_scheduler *s, const struct cs_schedule_path *paths, size_t n_paths,
                     struct cs_schedule_step *const *steps, size_t *n_generic, struct cs_error *err)
{
    size_t generic = 0, at = 0;
    const struct cs_schedule_path **some = calloc(n_paths + 1, sizeof(*some));
    struct cs_schedule_step **into = calloc(n_paths + 1, sizeof(*into));
    bool *have = calloc(n_paths + 1, sizeof *have);
    struct jobs jobs = {0};
    int rc = some && into && have ? 0 : -ENOMEM;
    for (size_t p = 0; p < n_paths && rc == 0; p++) {
        bool own = true;
        if (paths[p].n > CS_SCHEDULE_PATH_MAX)
            rc = cs_fail(err, E2BIG, "a path of %zu instructions is too long to be scheduled (at most %d)",
                         paths[p].n, CS_SCHEDULE_PATH_MAX);
        else
            have[p] = paths[p].n == 0 || known(s, &paths[p], steps[p], &own);
        generic += rc == 0 && have[p] && !own;
    }
    for (unsigned k = 0; k < 2 * MCA_TURN_CLASSES && rc == 0; k++) {
        bool rough = k >= MCA_TURN_CLASSES;
        unsigned turn_class = k % MCA_TURN_CLASSES;
        size_t first = at;
        for (size_t p = 0; p < n_paths; p++) {
            if (have[p] || paths[p].rough != rough || mca_turn_class(&paths[p]) != turn_class)
                continue;
            some[at] = &paths[p];
            into[at++] = steps[p];
        }
        rc = add_jobs(s, &jobs, some + first, into + first, at - first, mca_turns[turn_class],
                      rough || s->generic);
    }
    if (rc == 0)
        rc = run_jobs(s, &jobs, &generic);
    for (size_t p = 0; p < n_paths && rc == 0 && strncmp(s->target.model.cpu, "znver", 5) == 0; p++)
        cs_schedule_fetch(&paths[p], steps[p]); /* the cache is by bytes, this by where they stand */
    if (rc == -ENOMEM)
        cs_fail(err, ENOMEM, "no memory to schedule %zu paths", n_paths);
    cs_array_free(&jobs.list);
    free(some);
    free(into);
    free(have);
    if (n_generic)
        *n_generic = generic;
    return rc;
}

void cs_scheduler_ahead_run(struct cs_scheduler *s)
{
    lock(s);
    if (s->ahead)
        mca_ahead_start(s->ahead);
    unlock(s);
}

int cs_scheduler_ahead(struct cs_scheduler *s, const struct cs_schedule_path *paths, size_t n_paths,
                       struct cs_error *err)
{
    struct cs_schedule_step steps[CS_SCHEDULE_PATH_MAX];
    bool own;
    int rc = 0;
    lock(s);
    for (size_t p = 0; p < n_paths && !s->generic && rc == 0; p++) {
        const struct cs_schedule_path *path = &paths[p];
        if (path->n && !path->rough && path->n <= CS_SCHEDULE_PATH_MAX &&
            !schedule_cache_get(s->cache, path, steps, &own))
            rc = mca_ahead_tell(s->ahead, path, s->cache);
    }
    unlock(s);
    return rc ? cs_fail(err, ENOMEM, "no memory to schedule %zu paths", n_paths) : 0;
}
