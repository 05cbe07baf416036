/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A host's epochs are counted from its own switch. So both sides have the same hosts, also if a release reaches them one after
 * the other. WATCH_BLOCK epochs are one run: the shares of neighbours resemble each other, and runs that are independent
 * show how far shares wander. */
#include "cli/fleet/watch_sides.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SIDE_RUNS_MAX WATCH_EPOCHS_MAX
#define BEFORE_LEAST 4        /* epochs */
#define NEAR WATCH_EPOCHS_MAX /* epochs on each side of a change, where its step may be instead */
#define ELSEWHERE_GAIN 3.0    /* of log-likelihood */
#define NO_RUN WATCH_NO_RUN

/* Of one host: the first clean epoch of the latest switch at or before `epoch`, and the epoch of the next one after it. */
static void neighbours(const struct watch_series *s, uint32_t host, uint32_t epoch, uint32_t *clean,
                       uint32_t *next)
{
    *clean = 0;
    *next = s->n_epochs;
    for (size_t i = 0; i < s->n_changes; i++) {
        const struct watch_switch *w = &s->change[i];
        if (w->host == host && w->epoch < epoch && w->clean > *clean)
            *clean = w->clean;
        if (w->host == host && w->epoch > epoch && w->epoch < *next)
            *next = w->epoch;
    }
}

/* Epochs of a host before and after its switch, at most most[side] each, nearest first: how many there are. With `block` they
 * become runs of so many. */
static void take_host(const struct watch_series *s, const struct watch_switch *w, struct watch_sides *sides,
                      const unsigned most[2], unsigned block, unsigned n[2])
{
    uint32_t old_clean, next;
    const double *total = s->total + (size_t)w->host * s->n_epochs;
    uint8_t *run_of = sides->run_of + (size_t)w->host * s->n_epochs;
    n[0] = n[1] = 0;
    neighbours(s, w->host, w->epoch, &old_clean, &next);
    for (uint32_t e = w->epoch; e-- > 0 && n[0] < most[0] && (n[0] < WATCH_BEFORE_MIN || e >= old_clean);)
        if (total[e] > 0) {
            run_of[e] = (uint8_t)(block ? n[0] / block : NO_RUN);
            n[0]++;
        }
    for (uint32_t e = w->clean; e < next && n[1] < most[1]; e++)
        if (total[e] > 0) {
            run_of[e] = (uint8_t)(block ? SIDE_RUNS_MAX + n[1] / block : NO_RUN);
            n[1]++;
        }
}

/* So many epochs that the hosts which have them have the most together. */
static unsigned common_epochs(const unsigned *hosts_with)
{
    unsigned best = 0, most = 0, hosts = 0;
    for (unsigned t = WATCH_EPOCHS_MAX; t > 0; t--) {
        hosts += hosts_with[t];
        if (t * hosts > most) {
            most = t * hosts;
            best = t;
        }
    }
    return best;
}

/* Both sides have the same hosts, each with the same number of epochs: what hosts differ by is then no change. */
static void take_sides(const struct watch_series *s, const struct watch_change *c,
                       const struct watch_switch *switches, struct watch_sides *sides)
{
    unsigned n[2], most[2] = {WATCH_EPOCHS_MAX, WATCH_EPOCHS_MAX};
    for (int side = 1; side >= 0; side--) {
        unsigned hosts_with[WATCH_EPOCHS_MAX + 1] = {0};
        for (size_t i = c->from; i < c->to; i++) {
            if (i > c->from && switches[i].host == switches[i - 1].host)
                continue;
            take_host(s, &switches[i], sides, most, 0, n);
            hosts_with[n[side]] += side || n[1] == most[1];
        }
        most[side] = common_epochs(hosts_with);
    }
    const unsigned block = most[0] >= WATCH_BEFORE_MIN ? WATCH_BLOCK : 1;
    for (size_t i = c->from; i < c->to; i++) {
        if (i > c->from && switches[i].host == switches[i - 1].host)
            continue;
        take_host(s, &switches[i], sides, most, 0, n);
        if (n[0] == most[0] && n[1] == most[1])
            take_host(s, &switches[i], sides, most, block, n);
    }
    memcpy(sides->epochs, most, sizeof most);
}

/* All other epochs: the stretches between builds are sets of their own, and show how far the service's shares wander. */
static void take_rest(const struct watch_series *s, struct watch_sides *sides)
{
    unsigned r = 2 * SIDE_RUNS_MAX, epochs = 0;
    sides->n_sets = 2;
    for (unsigned i = 0; i < 2 * SIDE_RUNS_MAX; i++)
        sides->set_of[i] = i >= SIDE_RUNS_MAX;
    for (uint32_t e = 0; e < s->n_epochs && r < NO_RUN; e++) {
        bool taken = sides->begins[e];
        for (uint32_t h = 0; h < s->n_hosts && !taken; h++)
            taken = sides->run_of[(size_t)h * s->n_epochs + e] != NO_RUN;
        if ((taken && epochs) || epochs == WATCH_BLOCK) {
            r++;
            epochs = 0;
        }
        if (taken) {
            sides->n_sets += r > 2 * SIDE_RUNS_MAX && sides->set_of[r - 1] == sides->n_sets;
            continue;
        }
        if (r == NO_RUN)
            break;
        for (uint32_t h = 0; h < s->n_hosts; h++)
            sides->run_of[(size_t)h * s->n_epochs + e] = (uint8_t)r;
        sides->set_of[r] = sides->n_sets;
        epochs++;
    }
    sides->n_sets++;
}

/* Rows with samples on a side, in runs that have some. The rows' texts are the series'. */
static int fill(const struct watch_series *s, struct watch_sides *sides)
{
    uint8_t place[NO_RUN];
    uint32_t *row_of = malloc((s->n_functions + 1) * sizeof *row_of);
    double total[NO_RUN] = {0};
    struct runs *runs = &sides->runs;
    *runs = (struct runs){
        .run = sides->run, .n_sets = sides->n_sets, .row = calloc(s->n_functions + 1, sizeof *runs->row)};
    int rc = row_of && runs->row ? 0 : -ENOMEM;
    for (size_t at = 0; at < (size_t)s->n_hosts * s->n_epochs; at++)
        if (sides->run_of[at] != NO_RUN)
            total[sides->run_of[at]] += s->total[at];
    for (unsigned r = 0; r < NO_RUN; r++)
        if (total[r] > 0) {
            place[r] = (uint8_t)runs->n_runs;
            sides->run[runs->n_runs++] = (struct run){.set = sides->set_of[r], .total = total[r]};
        }
    if (rc == 0)
        memset(row_of, 0xff, (s->n_functions + 1) * sizeof *row_of);
    for (size_t i = 0; rc == 0 && i < s->n; i++) {
        const struct watch_cell *c = s->cell[i];
        const uint8_t r = sides->run_of[(size_t)c->of_host * s->n_epochs + c->of_epoch];
        if (r == NO_RUN || !(c->samples > 0))
            continue;
        if (row_of[c->of_function] == UINT32_MAX) {
            const struct watch_cell *first = s->function[c->of_function];
            struct run_row *row = &runs->row[runs->n_rows];
            *row = (struct run_row){.name = (char *)first->function,
                                    .image = (char *)first->image,
                                    .samples = calloc(runs->n_runs, sizeof *row->samples)};
            if (!row->samples) {
                rc = -ENOMEM;
                break;
            }
            sides->function_of[runs->n_rows] = c->of_function;
            row_of[c->of_function] = (uint32_t)runs->n_rows++;
        }
        runs->row[row_of[c->of_function]].samples[place[r]] += c->samples;
    }
    free(row_of);
    return rc;
}

/* How well two shares, before and from `split` on, describe samples k of n: the part of the chi-square that they explain. */
static double explained(const double *k, const double *n, unsigned split)
{
    double sum[2] = {0}, of[2] = {0};
    for (unsigned d = 0; d < 2 * NEAR + 1; d++) {
        sum[d >= split] += k[d];
        of[d >= split] += n[d];
    }
    const double p = (sum[0] + sum[1]) / (of[0] + of[1]);
    if (!(of[0] > 0 && of[1] > 0 && p > 0 && p < 1))
        return 0;
    return of[0] * of[1] / (of[0] + of[1]) * pow(sum[1] / of[1] - sum[0] / of[0], 2) / (p * (1 - p));
}

bool watch_sides_step_is_here(const struct watch_sides *sides, const struct run_row *row)
{
    assert(row >= sides->runs.row && row < sides->runs.row + sides->runs.n_rows);
    const struct watch_series *s = sides->series;
    const struct watch_change *c = sides->change;
    const struct watch_switch *switches = sides->switches;
    const uint32_t function = sides->function_of[row - sides->runs.row];
    double k[2 * NEAR + 1] = {0}, n[2 * NEAR + 1] = {0}, best = 0, rest = 0;
    uint32_t *epoch_of = malloc((s->n_hosts + 1) * sizeof *epoch_of);
    if (!epoch_of)
        return false;
    for (size_t i = c->to; i-- > c->from;)
        epoch_of[switches[i].host] = switches[i].epoch;
    for (size_t i = 0; i < s->n; i++) {
        const struct watch_cell *cell = s->cell[i];
        if (sides->run_of[(size_t)cell->of_host * s->n_epochs + cell->of_epoch] >= 2 * SIDE_RUNS_MAX)
            continue;
        const int64_t at = NEAR + (int64_t)cell->of_epoch - (int64_t)epoch_of[cell->of_host];
        if (at < 0 || at > 2 * NEAR)
            continue;
        n[at] += cell->samples;
        k[at] += cell->of_function == function ? cell->samples : 0;
    }
    free(epoch_of);
    double all_k = 0, all_n = 0, epochs = 0;
    for (unsigned d = 0; d < 2 * NEAR + 1; d++) {
        best = fmax(best, explained(k, n, d));
        all_k += k[d];
        all_n += n[d];
        epochs += n[d] > 0;
    }
    const double p = all_k / all_n;
    for (unsigned d = 0; d < 2 * NEAR + 1; d++)
        rest += n[d] > 0 ? pow(k[d] - n[d] * p, 2) / (n[d] * p * (1 - p)) : 0;
    const double dispersion = fmax(1, (rest - best) / fmax(epochs - 2, 1));
    double here = explained(k, n, NEAR);
    for (unsigned d = NEAR - 1; c->none && d <= NEAR + 1; d++) /* only every third epoch is looked at */
        here = fmax(here, explained(k, n, d));
    return (best - here) / dispersion <= 2 * ELSEWHERE_GAIN;
}

static void free_rows(struct watch_sides *sides)
{
    for (size_t i = 0; i < sides->runs.n_rows; i++)
        free(sides->runs.row[i].samples);
    free(sides->runs.row);
    sides->runs = (struct runs){.n_rows = 0};
}

int watch_sides_take(struct watch_sides *sides, const struct watch_change *c,
                     const struct watch_switch *switches)
{
    assert(c->from <= c->to);
    const struct watch_series *s = sides->series;
    sides->change = c;
    sides->switches = switches;
    free_rows(sides);
    memset(sides->run_of, NO_RUN, (size_t)s->n_hosts * s->n_epochs);
    take_sides(s, c, switches, sides);
    if (sides->epochs[0] < BEFORE_LEAST || sides->epochs[1] < (c->none ? WATCH_BLOCK : 1))
        return 0;
    take_rest(s, sides);
    return fill(s, sides) < 0 ? -ENOMEM : 1;
}

int watch_sides_init(struct watch_sides *sides, const struct watch_series *s)
{
    *sides = (struct watch_sides){.series = s,
                                  .run_of = malloc((size_t)s->n_hosts * s->n_epochs + 1),
                                  .function_of = malloc((s->n_functions + 1) * sizeof *sides->function_of),
                                  .begins = calloc(s->n_epochs + 1, sizeof *sides->begins)};
    if (!sides->run_of || !sides->function_of || !sides->begins)
        return -ENOMEM;
    for (size_t i = 0; i < s->n_changes; i++) {
        sides->begins[s->change[i].epoch] = true;
        for (uint32_t e = s->change[i].epoch; e < s->change[i].clean; e++)
            sides->begins[e] = true;
    }
    return 0;
}

void watch_sides_fini(struct watch_sides *sides)
{
    free_rows(sides);
    free(sides->run_of);
    free(sides->function_of);
    free(sides->begins);
}
