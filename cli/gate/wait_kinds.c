/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/gate/wait_kinds.h"

#include "cli/gate/verdict/ranks.h"
#include "cli/gate/verdict/verdict.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SHRANK 0.05     /* chance: what may be a shift between kinds is no growth */
#define TESTS 2         /* of each kind: by the mean, and by ranks */
#define RANK_LEAST 0.25 /* of the growth that is ignored: ranks see less, as from where a file lies */

/* The kernel takes pages away when it likes: that kind isn't judged by itself. */
static bool is_of_program(const char *what)
{
    static const char *const others[] = {"on-cpu", "stolen", "run-queue", "page-fault"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(what, others[i]) == 0)
            return false;
    return true;
}

const char *gate_wait_kind_of(const char *what)
{
    static const char *const locks[] = {"mutex", "rwlock"};
    for (size_t i = 0; i < sizeof locks / sizeof *locks; i++)
        if (strcmp(what, locks[i]) == 0)
            return "lock";
    return what;
}

uint64_t gate_wait_for_only_child_ns(const struct cs_wait_groups *run)
{
    const struct cs_waiting_thread *first = NULL;
    uint64_t ns = 0, longest = 0, same = 0;
    for (size_t i = 0; i < run->n_threads; i++)
        first = !first || run->threads[i].pid < first->pid ? &run->threads[i] : first;
    for (size_t i = 0; i < run->n_threads; i++) {
        const struct cs_waiting_thread *t = &run->threads[i];
        same += t->pid == first->pid;
        longest = t->pid != first->pid && t->all_ns > longest ? t->all_ns : longest;
    }
    for (size_t k = 0; first && k < first->n; k++)
        ns += strcmp(first->totals[k].what, "child") == 0 ? first->totals[k].ns : 0;
    if (same != 1 || (double)longest < GATE_ONE_CHILD * (double)ns)
        return 0;
    return longest < ns ? longest : ns;
}

int gate_wait_kinds_add(struct gate_wait_kinds *kinds, size_t r, size_t n_runs,
                        const struct cs_wait_groups *run)
{
    assert(r < n_runs && kinds->n <= GATE_WAIT_KINDS_MAX);
    for (size_t i = 0; i < run->n_totals; i++) {
        const struct cs_wait_total *total = &run->totals[i];
        const char *what = gate_wait_kind_of(total->what);
        size_t k = 0;
        if (!is_of_program(what) || strlen(what) >= sizeof kinds->at[0].kind)
            continue;
        while (k < kinds->n && strcmp(kinds->at[k].kind, what) != 0)
            k++;
        if (k == GATE_WAIT_KINDS_MAX)
            continue;
        struct gate_wait_kind *kind = &kinds->at[k];
        if (k == kinds->n) {
            if (!(kind->ns = calloc(n_runs, sizeof *kind->ns)))
                return -ENOMEM;
            strcpy(kind->kind, what);
            kinds->n++;
        }
        kind->ns[r] += (double)total->ns;
    }
    return 0;
}

static double idle_in(const struct cs_wait_changes *waits, const char *kind, size_t r)
{
    double ns = 0;
    for (size_t i = 0; i < waits->n; i++)
        if (waits->at[i].idle && strcmp(gate_wait_kind_of(waits->at[i].kind), kind) == 0)
            ns += waits->at[i].by_run.at[r].ns;
    return ns;
}

/* The better of both tests, with what each has of the level. False: no memory. */
static bool judge_kind(struct gate_wait_kind *kind, const struct gate_run *of, size_t n_runs, size_t n_kinds,
                       double least)
{
    const double change = kind->estimate.change, level = GATE_CHANCE / (double)(TESTS * n_kinds);
    double by_ranks = 1;
    if (change < 0 || (change > least && kind->estimate.chance >= level))
        by_ranks = gate_rank_chance(of, n_runs, change > 0, change > 0 ? RANK_LEAST * least : 0);
    if (by_ranks < 0)
        return false;
    by_ranks = fmin(2 * by_ranks, 1); /* two-sided, as the mean's */
    kind->by_ranks = change > 0 && kind->estimate.chance >= level && by_ranks < level;
    kind->grew = change > 0 && (kind->estimate.chance < level || kind->by_ranks);
    kind->shrank = change < 0 && fmin(kind->estimate.chance, by_ranks) < SHRANK;
    return true;
}

int gate_wait_kinds_end(struct gate_wait_kinds *kinds, const struct gate_run *run, size_t n_runs,
                        const struct cs_wait_changes *waits, double whole_ns, double least)
{
    int rc = 0;
    struct gate_run *of = calloc(n_runs + 1, sizeof *of);
    if (!of)
        return -ENOMEM;
    for (size_t k = 0; rc == 0 && k < kinds->n && whole_ns > 0; k++) {
        struct gate_wait_kind *kind = &kinds->at[k];
        for (size_t r = 0; r < n_runs; r++) {
            of[r] = run[r];
            of[r].machine = (double)NAN;
            of[r].value = fmax(kind->ns[r] - idle_in(waits, kind->kind, r), 0) / whole_ns;
        }
        if (!gate_estimate(of, n_runs, GATE_DIFFERENCE, 0, &kind->estimate))
            continue;
        kind->base_ns = gate_mean(of, n_runs, 0) * whole_ns;
        kind->head_ns = gate_mean(of, n_runs, 1) * whole_ns;
        kind->growth_ns = kind->head_ns - kind->base_ns;
        rc = judge_kind(kind, of, n_runs, kinds->n, least) ? 0 : -ENOMEM;
    }
    free(of);
    return rc;
}

bool gate_wait_kinds_take_off(struct gate_wait_kinds *kinds, const char *what, const double *ns,
                              size_t n_runs)
{
    bool nearly_all = true;
    for (size_t k = 0; k < kinds->n; k++)
        for (size_t r = 0; strcmp(kinds->at[k].kind, what) == 0 && r < n_runs; r++) {
            nearly_all &= ns[r] >= GATE_ONE_CHILD * kinds->at[k].ns[r];
            kinds->at[k].ns[r] = fmax(kinds->at[k].ns[r] - ns[r], 0);
        }
    return nearly_all;
}

double gate_wait_kinds_net(const struct gate_wait_kinds *kinds)
{
    double net = 0;
    for (size_t k = 0; k < kinds->n; k++)
        net += kinds->at[k].grew || kinds->at[k].shrank ? kinds->at[k].estimate.change : 0;
    return net;
}

const struct gate_wait_kind *gate_wait_kinds_first(const struct gate_wait_kinds *kinds, double least)
{
    const struct gate_wait_kind *first = NULL;
    for (size_t k = 0; k < kinds->n; k++) {
        const struct gate_wait_kind *kind = &kinds->at[k];
        if (kind->grew && kind->estimate.change > least && strcmp(kind->kind, "sleep") == 0)
            return kind;
        if (kind->grew && (!first || kind->growth_ns > first->growth_ns))
            first = kind;
    }
    return first;
}

void gate_wait_kinds_fini(struct gate_wait_kinds *kinds)
{
    for (size_t k = 0; k < kinds->n; k++)
        free(kinds->at[k].ns);
    kinds->n = 0;
}
