/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Paths with the same number of iterations are collected until they fill one call of llvm-mca. Jobs are done in the
 * order in which they came. */
#include "analysis/schedule/mca_ahead.h"

#include "store/base/array.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct told {
    struct mca_job job;
    struct told *next, *other; /* other: of all that aren't taken yet */
    size_t room, steps;        /* paths that fit; instructions to simulate */
};

struct mca_ahead {
    struct mca_target target;
    pthread_mutex_t
        owners; /* of who tells and takes: guards what stands before the list's lock, and the caches */
    unsigned users;
    struct told *all;
    struct told *gathering[MCA_TURN_CLASSES];
    size_t n_outstanding; /* asked for, not taken */
    pthread_mutex_t lock;
    pthread_cond_t asked, answered;
    struct told *first, **last, *done; /* under the lock */
    bool closing;
    pthread_t thread[MCA_WORKERS_MAX];
    size_t n_threads, idle;
};

static void told_free(struct told *t)
{
    for (size_t p = 0; p < t->job.n; p++) {
        free((void *)t->job.paths[p]->ops);
        free((void *)t->job.paths[p]);
        free(t->job.steps[p]);
    }
    free(t->job.paths);
    free(t->job.steps);
    free(t->job.caches);
    free(t);
}

static void *work(void *argument)
{
    struct mca_ahead *a = argument;
    pthread_mutex_lock(&a->lock);
    for (;;) {
        a->idle++;
        while (!a->first && !a->closing)
            pthread_cond_wait(&a->asked, &a->lock);
        a->idle--;
        if (a->closing)
            break;
        struct told *t = a->first;
        a->first = t->next;
        a->last = a->first ? a->last : &a->first;
        pthread_mutex_unlock(&a->lock);
        mca_job_ask(&t->job);
        pthread_mutex_lock(&a->lock);
        t->next = a->done;
        a->done = t;
        pthread_cond_signal(&a->answered);
    }
    pthread_mutex_unlock(&a->lock);
    return NULL;
}

struct mca_ahead *mca_ahead_open(const struct mca_target *target)
{
    struct mca_ahead *a = calloc(1, sizeof *a);
    if (!a)
        return NULL;
    a->target = *target;
    a->users = 1;
    a->last = &a->first;
    pthread_mutex_init(&a->owners, NULL);
    pthread_mutex_init(&a->lock, NULL);
    pthread_cond_init(&a->asked, NULL);
    pthread_cond_init(&a->answered, NULL);
    return a;
}

struct mca_ahead *mca_ahead_share(struct mca_ahead *a, const struct mca_target *target)
{
    if (a->target.isa != target->isa || strcmp(a->target.model.program, target->model.program) != 0 ||
        strcmp(a->target.model.cpu, target->model.cpu) != 0)
        return NULL;
    mca_ahead_lock(a);
    a->users++;
    mca_ahead_unlock(a);
    return a;
}

void mca_ahead_lock(struct mca_ahead *a)
{
    pthread_mutex_lock(&a->owners);
}

void mca_ahead_unlock(struct mca_ahead *a)
{
    pthread_mutex_unlock(&a->owners);
}

/* The class's paths to the workers; without any, they are asked for here. */
static void ask(struct mca_ahead *a, struct told **gathering)
{
    struct told *t = *gathering;
    *gathering = NULL;
    if (!t)
        return;
    a->n_outstanding++;
    pthread_mutex_lock(&a->lock);
    bool more = a->idle == 0 && a->n_threads < mca_workers();
    pthread_mutex_unlock(&a->lock);
    if (more && pthread_create(&a->thread[a->n_threads], NULL, work, a) == 0)
        a->n_threads++;
    if (a->n_threads == 0)
        mca_job_ask(&t->job);
    pthread_mutex_lock(&a->lock);
    if (a->n_threads == 0) {
        t->next = a->done;
        a->done = t;
    } else {
        *a->last = t;
        a->last = &t->next;
        pthread_cond_signal(&a->asked);
    }
    pthread_mutex_unlock(&a->lock);
}

static struct told *gathered(struct mca_ahead *a, unsigned turn_class)
{
    if (!a->gathering[turn_class]) {
        struct told *t = calloc(1, sizeof *t);
        if (!t)
            return NULL;
        t->job = (struct mca_job){.target = &a->target, .turns = mca_turns[turn_class]};
        t->other = a->all;
        a->all = t;
        a->gathering[turn_class] = t;
    }
    return a->gathering[turn_class];
}

static bool make_room(struct told *t)
{
    if (t->job.paths && t->job.n < t->room)
        return true;
    size_t room = t->room ? 2 * t->room : 16;
    if (cs_array_resize(t->job.paths, room) < 0 || cs_array_resize(t->job.steps, room) < 0 ||
        cs_array_resize(t->job.caches, room) < 0)
        return false;
    t->room = room;
    return true;
}

int mca_ahead_tell(struct mca_ahead *a, const struct cs_schedule_path *path, struct schedule_cache *cache)
{
    assert(path->n > 0 && path->n <= CS_SCHEDULE_PATH_MAX);
    unsigned turn_class = mca_turn_class(path);
    struct told *t = gathered(a, turn_class);
    if (!t || !make_room(t))
        return -ENOMEM;
    struct cs_isa_op *ops = malloc(path->n * sizeof *ops);
    struct cs_schedule_path *copy = malloc(sizeof *copy);
    struct cs_schedule_step *steps = calloc(path->n, sizeof *steps);
    if (!ops || !copy || !steps) {
        free(ops);
        free(copy);
        free(steps);
        return -ENOMEM;
    }
    memcpy(ops, path->ops, path->n * sizeof *ops);
    *copy = (struct cs_schedule_path){ops, path->n, path->closed, false};
    t->job.paths[t->job.n] = copy;
    t->job.caches[t->job.n] = cache;
    t->job.steps[t->job.n++] = steps;
    t->steps += path->n * mca_turns[turn_class];
    if (t->steps >= MCA_JOB_STEPS)
        ask(a, &a->gathering[turn_class]);
    return 0;
}

void mca_ahead_start(struct mca_ahead *a)
{
    for (unsigned turn_class = 0; turn_class < MCA_TURN_CLASSES; turn_class++)
        ask(a, &a->gathering[turn_class]);
}

static void forget(struct mca_ahead *a, const struct told *t)
{
    struct told **at = &a->all;
    while (*at != t)
        at = &(*at)->other;
    *at = t->other;
}

bool mca_ahead_wait(struct mca_ahead *a)
{
    if (a->n_outstanding == 0)
        return false;
    pthread_mutex_lock(&a->lock);
    while (!a->done)
        pthread_cond_wait(&a->answered, &a->lock);
    struct told *done = a->done;
    a->done = NULL;
    pthread_mutex_unlock(&a->lock);
    while (done) {
        struct told *t = done;
        size_t generic = 0;
        done = t->next;
        (void)mca_job_finish(&t->job, NULL, &generic); /* failed: it isn't in the cache, and is asked again */
        forget(a, t);
        told_free(t);
        a->n_outstanding--;
    }
    return true;
}

void mca_ahead_close(struct mca_ahead *a, const struct schedule_cache *cache)
{
    if (!a)
        return;
    mca_ahead_lock(a);
    for (struct told *t = a->all; t; t = t->other)
        for (size_t p = 0; p < t->job.n; p++)
            t->job.caches[p] = t->job.caches[p] == cache ? NULL : t->job.caches[p];
    bool last = --a->users == 0;
    mca_ahead_unlock(a);
    if (!last)
        return;
    pthread_mutex_lock(&a->lock);
    a->closing = true;
    pthread_cond_broadcast(&a->asked);
    pthread_mutex_unlock(&a->lock);
    while (a->n_threads > 0)
        pthread_join(a->thread[--a->n_threads], NULL);
    for (struct told *t = a->done, *next; t; t = next) {
        next = t->next;
        mca_job_drop(&t->job);
        told_free(t);
    }
    for (struct told *t = a->first, *next; t; t = next) {
        next = t->next;
        told_free(t);
    }
    for (unsigned turn_class = 0; turn_class < MCA_TURN_CLASSES; turn_class++)
        if (a->gathering[turn_class])
            told_free(a->gathering[turn_class]);
    pthread_cond_destroy(&a->asked);
    pthread_cond_destroy(&a->answered);
    pthread_mutex_destroy(&a->lock);
    pthread_mutex_destroy(&a->owners);
    free(a);
}
