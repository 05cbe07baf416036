/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/procedure/finish_ahead.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct finished {
    struct cs_cycle_account *account;
    int rc;
    bool ready;
};

struct finish_ahead {
    struct cs_cycle_account_begun **begun;
    size_t n;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    size_t next, taken; /* the first that nobody began to finish; all before it were taken */
    bool closing;
    struct finished waiting[FINISH_AHEAD_WAITING_MAX]; /* the i-th at i modulo their number */
    pthread_t thread[FINISH_AHEAD_THREADS_MAX - 1];
    size_t n_threads;
};

static bool may_go_on(const struct finish_ahead *f)
{
    return f->next < f->n && f->next < f->taken + FINISH_AHEAD_WAITING_MAX;
}

/* Under the lock, which is open meanwhile. */
static void finish_next(struct finish_ahead *f)
{
    struct cs_error ignored = {0};
    size_t i = f->next++;
    struct cs_cycle_account_begun *begun = f->begun[i];
    struct finished done = {NULL, -ENOENT, true};
    f->begun[i] = NULL;
    pthread_mutex_unlock(&f->lock);
    if (begun)
        done.rc = cs_cycle_account_finish(begun, &done.account, &ignored);
    pthread_mutex_lock(&f->lock);
    f->waiting[i % FINISH_AHEAD_WAITING_MAX] = done;
    pthread_cond_broadcast(&f->changed);
}

static void *work(void *argument)
{
    struct finish_ahead *f = argument;
    pthread_mutex_lock(&f->lock);
    while (!f->closing && f->next < f->n) {
        if (may_go_on(f))
            finish_next(f);
        else
            pthread_cond_wait(&f->changed, &f->lock);
    }
    pthread_mutex_unlock(&f->lock);
    return NULL;
}

int finish_ahead_open(struct finish_ahead **out, struct cs_cycle_account_begun *const *begun, size_t n,
                      struct cs_error *err)
{
    assert(begun || n == 0);
    struct finish_ahead *f = *out = calloc(1, sizeof *f);
    if (f)
        f->begun = malloc((n + 1) * sizeof(*f->begun));
    if (!f || !f->begun) {
        free(f);
        *out = NULL;
        return cs_fail(err, ENOMEM, "no memory to explain %zu functions", n);
    }
    memcpy(f->begun, begun, n * sizeof(*f->begun));
    f->n = n;
    pthread_mutex_init(&f->lock, NULL);
    pthread_cond_init(&f->changed, NULL);
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    for (size_t more = cpus > 1 ? (size_t)cpus - 1 : 0;
         f->n_threads < more && f->n_threads < FINISH_AHEAD_THREADS_MAX - 1 && f->n_threads + 1 < n;)
        if (pthread_create(&f->thread[f->n_threads], NULL, work, f) == 0)
            f->n_threads++;
        else
            break;
    return 0;
}

int finish_ahead_take(struct finish_ahead *f, size_t i, struct cs_cycle_account **out)
{
    struct finished *mine = &f->waiting[i % FINISH_AHEAD_WAITING_MAX];
    pthread_mutex_lock(&f->lock);
    while (!mine->ready) {
        if (may_go_on(f))
            finish_next(f);
        else
            pthread_cond_wait(&f->changed, &f->lock);
    }
    *out = mine->account;
    int rc = mine->rc;
    *mine = (struct finished){NULL, 0, false};
    f->taken = i + 1;
    pthread_cond_broadcast(&f->changed);
    pthread_mutex_unlock(&f->lock);
    return rc;
}

void finish_ahead_close(struct finish_ahead *f)
{
    if (!f)
        return;
    pthread_mutex_lock(&f->lock);
    f->closing = true;
    pthread_cond_broadcast(&f->changed);
    pthread_mutex_unlock(&f->lock);
    while (f->n_threads > 0)
        pthread_join(f->thread[--f->n_threads], NULL);
    for (size_t i = 0; i < FINISH_AHEAD_WAITING_MAX; i++)
        cs_cycle_account_close(f->waiting[i].account);
    for (size_t i = 0; i < f->n; i++)
        cs_cycle_account_drop(f->begun[i]);
    pthread_cond_destroy(&f->changed);
    pthread_mutex_destroy(&f->lock);
    free(f->begun);
    free(f);
}
