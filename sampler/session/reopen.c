/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A new period for everybody. PERF_EVENT_IOC_PERIOD reaches the threads that an event was opened on and none
 * that inherited it (DISABLE does reach those). What a shell or make has started would go on at the first
 * period for ever, whatever the budget says. So where there are such threads the events are opened again, on
 * each thread, when the rate changes. */
#include "sampler/session/reopen.h"
#include "sampler/perf/target.h"
#include "store/base/order.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DESCRIPTORS_MAX 4096 /* descriptors: beyond, inherited events keep their period */

CS_ORDER(by_tid, pid_t, cs_order(*a, *b))

static bool has(const pid_t *sorted, int n, pid_t tid)
{
    return n && bsearch(&tid, sorted, (size_t)n, sizeof *sorted, by_tid) != NULL;
}

/* Threads of the target and of all that it has started, in order, each once. Allocated. Processes whose
 * parent has ended are below another one: those are known by the sideband records. */
static int all_threads(const struct cs_maps *maps, pid_t pid, pid_t **threads)
{
    pid_t *running = malloc(DESCRIPTORS_MAX * sizeof *running);
    *threads = NULL;
    int n = cs_threads_below(pid, threads, 0), kept = 0;
    unsigned n_running = running ? cs_maps_running(maps, running, DESCRIPTORS_MAX) : 0;
    if (n > 0)
        cs_sort(*threads, (size_t)n, by_tid);
    for (unsigned i = 0, below = (unsigned)n; n > 0 && i < n_running && i < DESCRIPTORS_MAX; i++)
        if (!has(*threads, (int)below, running[i]))
            n = cs_threads_below(running[i], threads, n);
    free(running);
    if (n > 0)
        cs_sort(*threads, (size_t)n, by_tid);
    for (int i = 0; i < n; i++)
        if (!kept || (*threads)[kept - 1] != (*threads)[i])
            (*threads)[kept++] = (*threads)[i];
    return kept;
}

/* The session's first events stay: rings belong to them. */
static void close_events(struct cs_session_events *s, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        cs_session_events_read(&s->open[i], s->closed);
        close(s->open[i].fd);
    }
    memmove(s->open + from, s->open + to, (s->n_open - to) * sizeof *s->open);
    s->n_open -= to - from;
}

/* On each thread, until a pass finds no new one. Those that end meanwhile are none. */
static int open_all(struct cs_session_events *s, const struct cs_sampler_config *config,
                    const struct cs_maps *maps, pid_t root, pid_t *threads, int n)
{
    pid_t *done = NULL;
    int n_done = 0, rc = 0;
    struct cs_error err;
    while (rc == 0) {
        bool found = false;
        for (int i = 0; i < n && rc == 0; i++) {
            if (has(done, n_done, threads[i]))
                continue;
            found = true;
            rc = cs_session_events_open(s, config, threads[i], &err);
            rc = rc == -ESRCH ? 0 : rc;
        }
        free(done);
        done = threads;
        n_done = n;
        threads = NULL;
        if (!found)
            break;
        n = all_threads(maps, root, &threads);
    }
    free(threads);
    free(done);
    return rc;
}

/* Is every thread there one that the events of today were opened on? */
static bool is_known(const struct cs_session_events *s, const pid_t *threads, int n)
{
    for (int i = 0; i < n; i++)
        if (!has(s->opened_on, s->n_opened_on, threads[i]))
            return false;
    return true;
}

void cs_session_events_reopen(struct cs_session_events *s, const struct cs_sampler_config *config,
                              const struct cs_maps *maps, pid_t root)
{
    assert(root > 0);
    pid_t *threads = NULL;
    size_t before = s->n_open;
    int n = config->target == CS_TARGET_ALL ? 0 : all_threads(maps, root, &threads);
    bool asked =
        n > 0 && !is_known(s, threads, n) && (size_t)n * s->cpus.n_online * s->n_asked <= DESCRIPTORS_MAX;
    if (!asked) {
        free(threads);
        return;
    }
    pid_t *opened_on = malloc((size_t)n * sizeof *opened_on);
    if (opened_on)
        memcpy(opened_on, threads, (size_t)n * sizeof *opened_on);
    for (unsigned e = 0; e < s->n_asked; e++)
        s->asked[e].attr.enable_on_exec = 0;
    (void)cs_session_events_enable(s, 0, before, false);
    if (open_all(s, config, maps, root, threads, n) < 0) { /* as it was: no descriptors left, most likely */
        for (size_t i = before; i < s->n_open; i++)
            close(s->open[i].fd);
        s->n_open = before;
        (void)cs_session_events_enable(s, s->n_reopened ? s->n_first : 0, before, true);
        free(opened_on);
        return;
    }
    if (!s->n_reopened)
        s->n_first = before;
    close_events(s, s->n_first, before);
    (void)cs_session_events_enable(s, s->n_first, s->n_open, true);
    s->n_reopened++;
    free(s->opened_on);
    s->opened_on = opened_on;
    s->n_opened_on = opened_on ? n : 0;
}
