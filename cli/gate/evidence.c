/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/gate/evidence.h"
#include "cli/gate/apart.h"
#include "cli/gate/builds/builds.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const counters[GATE_COUNTS] = {
    [GATE_CPU] = "exact.task-clock",
    [GATE_ELAPSED] = "exact.elapsed",
    [GATE_FAULTS] = "exact.page-faults",
    [GATE_SYSTEM_CALLS] = "exact.system-calls",
    [GATE_INSTRUCTIONS] = "exact.instructions:u",
};

/* Short waits of single places are sampled. Of a few short ones that is all noise, so what isn't idle is all less the idle ones. */
double gate_waited_in(const struct gate_evidence *e, size_t run)
{
    assert(run < e->functions.n_runs);
    double left = e->off_cpu_ns[run];
    for (size_t i = 0; i < e->waits.n; i++)
        if (e->waits.at[i].idle && strcmp(e->waits.at[i].kind, "run-queue") != 0)
            left -= e->waits.at[i].by_run.at[run].ns;
    return fmax(left, 0);
}

double gate_whole(const struct gate_evidence *e)
{
    const size_t n = e->functions.n_runs;
    const double elapsed = gate_mean(e->count[GATE_ELAPSED], n, 0), cpu = gate_mean(e->count[GATE_CPU], n, 0);
    double waited = 0, alone = 0, runs = 0;
    for (size_t r = 0; e->waited && r < n; r++)
        if (e->functions.run[r].set == 0) {
            waited += gate_waited_in(e, r);
            alone += e->alone[r];
            runs++;
        }
    const double own = runs > 0 ? cpu + waited / runs : 0;
    return own > 0 && own < elapsed ? own : runs > 0 ? elapsed * alone / runs : elapsed;
}

/* NAN: wasn't counted. */
static int read_counter(struct cs_store *store, const char *name, double *value, struct cs_error *err)
{
    uint64_t n;
    int rc = cs_store_counter(store, name, &n, err);
    *value = rc == 0 && n ? (double)n : (double)NAN;
    return rc;
}

/* That a run has no waits is no failure. */
static int add_waits(struct gate_evidence *e, struct cs_store *store, size_t r, struct cs_error *err)
{
    struct cs_wait_groups groups;
    struct cs_calls_wanted wanted = {.inlines = true};
    int rc = cs_wait_groups_open(&groups, store, &wanted, err);
    if (rc == -ENOENT) {
        e->waited = false;
        return 0;
    }
    if (rc < 0)
        return rc;
    rc = cs_wait_changes_add(&e->waits, e->functions.run[r].set, &groups);
    rc = rc < 0 ? rc : gate_wait_kinds_add(&e->kinds, r, e->functions.n_runs, &groups);
    for (size_t i = 0; i < groups.n_threads; i++) {
        const struct cs_waiting_thread *t = &groups.threads[i];
        e->off_cpu_ns[r] += (double)t->all_ns - (double)(t->on_ns + t->stolen_ns + t->run_queue_ns);
    }
    e->only_child_ns[r] = (double)gate_wait_for_only_child_ns(&groups);
    e->threads = groups.n_threads > e->threads ? groups.n_threads : e->threads;
    bool by_own;
    const double on = (double)groups.on_ns, queued = (double)cs_wait_for_cpu_ns(&groups, &by_own);
    e->alone[r] = by_own || !(on > 0) ? 1 : on / (on + queued);
    cs_wait_groups_close(&groups);
    return rc < 0 ? cs_fail(err, ENOMEM, "out of memory for the waits of %s", cs_store_path(store)) : 0;
}

void gate_leave_out_only_children(struct gate_evidence *e)
{
    const size_t n = e->functions.n_runs;
    bool all = n > 0;
    for (size_t r = 0; r < n; r++)
        all &= e->only_child_ns[r] > 0;
    e->one_child = all && gate_wait_kinds_take_off(&e->kinds, "child", e->only_child_ns, n);
    for (size_t r = 0; all && r < n; r++)
        e->off_cpu_ns[r] -= e->only_child_ns[r];
}

static int read_run(struct gate_evidence *e, struct cs_store *store, size_t r, struct cs_error *err)
{
    const struct run *run = &e->functions.run[r];
    const char *epoch = strrchr(run->name, ' ') + 1;
    double machine;
    int rc = cs_store_see_only(store, (const char *const[]){epoch}, 1, err);
    rc = rc < 0 ? rc : read_counter(store, "machine.loop", &machine, err);
    for (unsigned k = 0; rc >= 0 && k < GATE_COUNTS; k++) {
        struct gate_run *to = &e->count[k][r];
        *to = (struct gate_run){.side = run->set, .began_ms = run->began_ms, .machine = machine};
        rc = read_counter(store, counters[k], &to->value, err);
    }
    if (rc >= 0 && e->waited)
        rc = add_waits(e, store, r, err);
    return rc;
}

/* Where one run lacks the count, all runs have the samples' time. */
static void sampled_cpu(struct gate_evidence *e)
{
    const struct runs *f = &e->functions;
    for (size_t r = 0; r < f->n_runs; r++)
        e->cpu_is_sampled |= isnan(e->count[GATE_CPU][r].value);
    for (size_t r = 0; e->cpu_is_sampled && r < f->n_runs; r++)
        e->count[GATE_CPU][r].value =
            strcmp(f->unit, "ns") == 0 ? f->run[r].total * f->run[r].period : (double)NAN;
}

int gate_runs_add(struct runs *runs, const struct gate *gate, unsigned side, const char *event,
                  enum profile_by by, struct cs_error *err)
{
    assert(side < 2);
    const struct gate_build *build = gate->builds ? gate->builds->side[side] : NULL;
    runs->only = build ? build->used : NULL;
    runs->n_only = build ? build->n_used : 0;
    return runs_add(runs, side ? gate->head : gate->base, NULL, event, by, err);
}

int gate_evidence_open(struct gate_evidence *e, const struct gate *gate, struct cs_error *err)
{
    const char *const store[2] = {gate->base, gate->head};
    *e = (struct gate_evidence){.waited = true,
                                .comparison = {.least = GATE_IGNORE_BELOW},
                                .waits = {.least_percent = GATE_IGNORE_BELOW}};
    struct runs *f = &e->functions;
    int rc = 0;
    for (unsigned side = 0; rc == 0 && side < 2; side++)
        rc = gate_runs_add(f, gate, side, NULL, BY_PROCEDURE, err);
    if (rc == 0 && runs_join_renamed(f) < 0)
        rc = cs_fail(err, ENOMEM, "out of memory for %zu functions", f->n_rows);
    e->waits.renamed = f->renamed;
    for (unsigned k = 0; rc == 0 && k < GATE_COUNTS; k++)
        if (!(e->count[k] = calloc(f->n_runs + 1, sizeof *e->count[k])))
            rc = cs_fail(err, ENOMEM, "out of memory for %zu runs", f->n_runs);
    if (rc == 0 && (!(e->off_cpu_ns = calloc(f->n_runs + 1, sizeof *e->off_cpu_ns)) ||
                    !(e->alone = calloc(f->n_runs + 1, sizeof *e->alone)) ||
                    !(e->only_child_ns = calloc(f->n_runs + 1, sizeof *e->only_child_ns))))
        rc = cs_fail(err, ENOMEM, "out of memory for %zu runs", f->n_runs);
    for (unsigned side = 0; rc == 0 && side < 2; side++) {
        struct cs_store *open;
        rc = cs_store_open(store[side], CS_STORE_READ, &open, err);
        if (rc < 0)
            break;
        for (size_t r = 0; rc == 0 && r < f->n_runs; r++)
            if (f->run[r].set == side)
                rc = read_run(e, open, r, err);
        cs_store_close(open);
    }
    if (rc == 0 && !gate->builds) /* one file for both */
        rc = gate_timed_read(store, &e->timed, err);
    if (rc < 0)
        return rc;
    sampled_cpu(e);
    e->waited &= f->n_runs > 0;
    if (e->waited)
        gate_leave_out_only_children(e);
    e->comparison.common_most = gate_apart_factor(e->count[GATE_CPU], f->n_runs);
    if (runs_compare(f, &e->comparison) < 0 ||
        (e->waited && (cs_wait_changes_end(&e->waits) < 0 ||
                       gate_wait_kinds_end(&e->kinds, e->count[GATE_CPU], f->n_runs, &e->waits, gate_whole(e),
                                           gate->limits.ignore_below / 100) < 0)))
        return cs_fail(err, ENOMEM, "out of memory for %zu functions", f->n_rows);
    return 0;
}

void gate_evidence_close(struct gate_evidence *e)
{
    for (unsigned k = 0; k < GATE_COUNTS; k++)
        free(e->count[k]);
    gate_timed_fini(&e->timed);
    free(e->off_cpu_ns);
    free(e->alone);
    free(e->only_child_ns);
    free(e->comparison.change);
    runs_fini(&e->functions);
    cs_wait_changes_fini(&e->waits);
    gate_wait_kinds_fini(&e->kinds);
}
