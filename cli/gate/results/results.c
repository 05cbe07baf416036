/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two files, measured one after the other: a change that most benchmarks share may be the machine's. Where at least five compare
 * and their median is within 15 % of 1, it is taken out, with a note. Many benchmarks are many tests, so the chance of
 * each is multiplied by their number (Bonferroni). */
#include "cli/gate/results/results.h"
#include "analysis/statistics/significance.h"
#include "store/base/array.h"
#include "store/table/dictionary.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COMPARABLE_MIN 5
#define COMMON_MAX 1.15

struct unit_runs {
    struct gate_run *run;
    size_t n, capacity;
    double sum[2], runs[2];
};

struct units {
    struct cs_dictionary names;
    struct unit_runs *at;
    size_t n, capacity;
};

static int add_side(struct units *u, unsigned side, const char *path, struct cs_error *err)
{
    struct result_times times;
    int rc = results_open(&times, path, err);
    for (size_t i = 0; rc == 0 && i < times.n; i++) {
        const struct result_time *t = &times.at[i];
        int64_t n = cs_dictionary_add(&u->names, t->name, strlen(t->name));
        if (n >= RESULTS_BENCHMARKS_MAX) {
            rc = cs_fail(err, E2BIG, "%s: more than %d benchmarks", path, RESULTS_BENCHMARKS_MAX);
            break;
        }
        if (n >= 0 && (size_t)n == u->n && cs_array_room(u->at, u->n, u->capacity) == 0)
            u->at[u->n++] = (struct unit_runs){0};
        struct unit_runs *to = n >= 0 && (size_t)n < u->n ? &u->at[n] : NULL;
        if (!to || cs_array_room(to->run, to->n, to->capacity) < 0) {
            rc = cs_fail(err, ENOMEM, "out of memory for the benchmarks of %s", path);
            break;
        }
        to->run[to->n++] =
            (struct gate_run){.side = side, .began_ms = side, .value = t->seconds, .machine = (double)NAN};
        to->sum[side] += t->seconds;
        to->runs[side]++;
    }
    results_close(&times);
    return rc;
}

static double common_factor(const struct units *u)
{
    double *ratio = malloc((u->n + 1) * sizeof *ratio);
    size_t n = 0;
    for (size_t i = 0; ratio && i < u->n; i++) {
        const struct unit_runs *b = &u->at[i];
        if (b->runs[0] > 0 && b->runs[1] > 0)
            ratio[n++] = (b->sum[1] / b->runs[1]) / (b->sum[0] / b->runs[0]);
    }
    double median = n >= COMPARABLE_MIN ? cs_median(ratio, n) : 1;
    free(ratio);
    return median > 1 / COMMON_MAX && median < COMMON_MAX ? median : 1;
}

static int judge_unit(struct gate *gate, const struct units *u, size_t i, double factor)
{
    struct unit_runs *b = &u->at[i];
    struct gate_check *c = gate_add(gate, u->names.strings[i], "time of a run", "s");
    if (!c)
        return -ENOMEM;
    c->base = b->runs[0] > 0 ? b->sum[0] / b->runs[0] : (double)NAN;
    c->head = b->runs[1] > 0 ? b->sum[1] / b->runs[1] : (double)NAN;
    c->required = b->runs[0] > 0; /* a new one has nothing to be compared with */
    for (size_t r = 0; r < b->n; r++)
        b->run[r].value /= b->run[r].side ? factor : 1;
    c->known = gate_estimate(b->run, b->n, GATE_RATIO, 0, &c->estimate);
    c->estimate.chance = fmin(1, c->estimate.chance * (double)u->n);
    gate_judge(&gate->limits, c, 0);
    if (!c->known)
        snprintf(c->sentence, sizeof c->sentence,
                 b->runs[1] < 1   ? "only the base has it"
                 : b->runs[0] < 1 ? "only the head has it"
                                  : "too few runs: at least three of each are needed");
    return 0;
}

int gate_compare_results(struct gate *gate, struct cs_error *err)
{
    struct units u = {0};
    char change[32];
    int rc = add_side(&u, 0, gate->base, err);
    if (rc == 0)
        rc = add_side(&u, 1, gate->head, err);
    const double factor = rc == 0 ? common_factor(&u) : 1;
    for (size_t i = 0; rc == 0 && i < u.n; i++)
        if ((rc = judge_unit(gate, &u, i, factor)) < 0)
            cs_fail(err, ENOMEM, "out of memory for %zu benchmarks", u.n);
    if (rc == 0 && factor != 1)
        gate_note(gate, "All benchmarks together changed by %s: taken for the machine's, and taken out.",
                  gate_percent(factor - 1, change));
    if (rc == 0)
        gate_note(gate, "The files were measured one after the other: a change of the machine between "
                        "them looks like one of the program. `gate --base-command` measures in turn.");
    for (size_t i = 0; i < u.n; i++)
        free(u.at[i].run);
    free(u.at);
    cs_dictionary_fini(&u.names);
    return rc;
}
