/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Invariant: after each elimination the rows of the states that are left are the chain watched only while it
 * is in one of them. On the way back a state's visits are what came to it from those eliminated later, over
 * its probability of leaving. Cost: sum over states of (ways in × ways out) at their elimination. */
#include "analysis/frequency/markov_chain.h"
#include "store/array.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct row { /* transitions out of a state: columns and their value slots */
    uint32_t *column;
    double *value;
    uint32_t n, capacity;
};

struct pattern { /* states with a transition into a state; may name some twice */
    uint32_t *state;
    uint32_t n, capacity;
};

/* What one elimination works on. Kept between solves with the room that its rows have: every solve fills them
 * to about the same length. */
struct solving {
    struct cs_markov *chain;
    struct row *out;
    struct pattern *in;
    uint32_t *mark; /* column → 1 + its index in the row at work */
    bool *gone;
};

struct cs_markov {
    uint32_t n, n_transitions;
    uint32_t *from, *to;
    uint32_t *order; /* of elimination, without state 0 */
    struct solving work;
};

static int row_add(struct row *row, uint32_t column, double value)
{
    uint32_t columns = row->capacity, values = row->capacity;
    if (cs_array_room(row->column, row->n, columns) < 0 || cs_array_room(row->value, row->n, values) < 0)
        return -ENOMEM;
    row->capacity = columns;
    row->column[row->n] = column;
    row->value[row->n++] = value;
    return 0;
}

static int pattern_add(struct pattern *p, uint32_t state)
{
    if (cs_array_room(p->state, p->n, p->capacity) < 0)
        return -ENOMEM;
    p->state[p->n++] = state;
    return 0;
}

static void solving_fini(struct solving *s)
{
    for (uint32_t i = 0; s->out && i < s->chain->n; i++) {
        free(s->out[i].column);
        free(s->out[i].value);
    }
    for (uint32_t i = 0; s->in && i < s->chain->n; i++)
        free(s->in[i].state);
    free(s->out);
    free(s->in);
    free(s->mark);
    free(s->gone);
}

/* Rows of probabilities; without weights every transition counts as 1 (pattern only). */
static int solving_reset(struct solving *s, struct cs_markov *chain, const double *weight)
{
    uint32_t n = chain->n;
    if (!s->chain) {
        s->chain = chain;
        s->out = calloc(n, sizeof *s->out);
        s->in = calloc(n, sizeof *s->in);
        s->mark = calloc(n, sizeof *s->mark);
        s->gone = calloc(n, sizeof *s->gone);
    }
    double *sum = calloc(n, sizeof *sum);
    int rc = s->out && s->in && s->mark && s->gone && sum ? 0 : -ENOMEM;
    for (uint32_t i = 0; rc == 0 && i < n; i++) {
        s->out[i].n = s->in[i].n = 0;
        s->mark[i] = 0;
        s->gone[i] = false;
    }
    for (uint32_t t = 0; rc == 0 && weight && t < chain->n_transitions; t++)
        sum[chain->from[t]] += weight[t];
    for (uint32_t t = 0; rc == 0 && t < chain->n_transitions; t++) {
        uint32_t i = chain->from[t], j = chain->to[t];
        double p = weight ? weight[t] / sum[i] : 1;
        if (i == j || !(p > 0)) /* a loop to oneself changes no ratio: it is added at the end */
            continue;
        rc = row_add(&s->out[i], j, p);
        if (rc == 0)
            rc = pattern_add(&s->in[j], i);
    }
    free(sum);
    return rc;
}

/* Equal columns of a row become one. */
static void merge_row(struct solving *s, uint32_t i)
{
    struct row *row = &s->out[i];
    uint32_t kept = 0;
    for (uint32_t k = 0; k < row->n; k++) {
        uint32_t j = row->column[k];
        if (s->gone[j])
            continue;
        if (s->mark[j]) {
            row->value[s->mark[j] - 1] += row->value[k];
            continue;
        }
        row->column[kept] = j;
        row->value[kept] = row->value[k];
        s->mark[j] = ++kept;
    }
    row->n = kept;
    for (uint32_t k = 0; k < kept; k++)
        s->mark[row->column[k]] = 0;
}

static void merge_in(struct solving *s, uint32_t j)
{
    struct pattern *p = &s->in[j];
    uint32_t kept = 0;
    for (uint32_t k = 0; k < p->n; k++)
        if (!s->gone[p->state[k]] && !s->mark[p->state[k]]) {
            s->mark[p->state[k]] = 1;
            p->state[kept++] = p->state[k];
        }
    p->n = kept;
    for (uint32_t k = 0; k < kept; k++)
        s->mark[p->state[k]] = 0;
}

/* Bypasses state k: who came to it goes on to where it went. Returns k's probability of leaving, <0 on
 * failure. */
static double eliminate(struct solving *s, uint32_t k)
{
    merge_row(s, k);
    merge_in(s, k);
    struct row *row = &s->out[k];
    double leaving = 0;
    uint32_t n_out = row->n;
    for (uint32_t c = 0; c < n_out; c++)
        leaving += row->value[c];
    s->gone[k] = true;
    for (uint32_t a = 0; a < s->in[k].n; a++) {
        uint32_t i = s->in[k].state[a];
        struct row *from = &s->out[i];
        double through = 0;
        uint32_t kept = 0;
        for (uint32_t c = 0; c < from->n; c++) { /* takes k's column out, marks the others */
            uint32_t j = from->column[c];
            if (j == k) {
                through += from->value[c];
                continue;
            }
            if (s->gone[j])
                continue;
            if (s->mark[j]) {
                from->value[s->mark[j] - 1] += from->value[c];
                continue;
            }
            from->column[kept] = j;
            from->value[kept] = from->value[c];
            s->mark[j] = ++kept;
        }
        from->n = kept;
        for (uint32_t c = 0; c < n_out; c++) {
            uint32_t j = row->column[c];
            double p = through * row->value[c] / leaving;
            if (j == i)
                continue;
            if (s->mark[j])
                from->value[s->mark[j] - 1] += p;
            else if (row_add(from, j, p) < 0 || pattern_add(&s->in[j], i) < 0)
                return -1;
            else
                s->mark[j] = from->n;
        }
        for (uint32_t c = 0; c < from->n; c++)
            s->mark[from->column[c]] = 0;
        if (row_add(row, i, through) < 0) /* for the way back: in [n_out, n) of the row */
            return -1;
    }
    return leaving;
}

struct back {
    uint32_t n_out;
    double leaving;
};

static int order_states(struct cs_markov *chain)
{
    struct solving *s = &chain->work;
    uint32_t n = chain->n, placed = 0;
    uint32_t *next = malloc((n + 1) * sizeof *next), *head = NULL, *cost = calloc(n + 1, sizeof *cost);
    enum { BUCKETS = 4096 };
    head = malloc(BUCKETS * sizeof *head);
    int rc = solving_reset(s, chain, NULL);
    if (!next || !head || !cost)
        rc = -ENOMEM;
    for (uint32_t b = 0; rc == 0 && b < BUCKETS; b++)
        head[b] = UINT32_MAX;
    /* Lazy buckets: a state's place is checked again when it comes up. */
    for (uint32_t i = 1; rc == 0 && i < n; i++) {
        merge_row(s, i);
        merge_in(s, i);
        uint64_t fill = (uint64_t)s->out[i].n * s->in[i].n;
        cost[i] = fill < BUCKETS - 1 ? (uint32_t)fill : BUCKETS - 1;
        next[i] = head[cost[i]];
        head[cost[i]] = i;
    }
    for (uint32_t b = 0; rc == 0 && b < BUCKETS;) {
        uint32_t i = head[b];
        if (i == UINT32_MAX) {
            b++;
            continue;
        }
        head[b] = next[i];
        merge_row(s, i);
        merge_in(s, i);
        uint64_t fill = (uint64_t)s->out[i].n * s->in[i].n;
        uint32_t now = fill < BUCKETS - 1 ? (uint32_t)fill : BUCKETS - 1;
        if (now > b) {
            next[i] = head[now];
            head[now] = i;
            continue;
        }
        chain->order[placed++] = i;
        if (eliminate(s, i) < 0)
            rc = -ENOMEM;
        s->out[i].n = 0;
    }
    free(next);
    free(head);
    free(cost);
    return rc;
}

struct cs_markov *cs_markov_open(uint32_t n, const uint32_t *from, const uint32_t *to, uint32_t n_transitions)
{
    struct cs_markov *chain = calloc(1, sizeof *chain);
    if (!chain)
        return NULL;
    chain->n = n;
    chain->n_transitions = n_transitions;
    chain->from = malloc((n_transitions + 1) * sizeof *from);
    chain->to = malloc((n_transitions + 1) * sizeof *to);
    chain->order = calloc(n + 1, sizeof *chain->order);
    if (!chain->from || !chain->to || !chain->order)
        goto fail;
    memcpy(chain->from, from, n_transitions * sizeof *from);
    memcpy(chain->to, to, n_transitions * sizeof *to);
    if (order_states(chain) == 0)
        return chain;
fail:
    cs_markov_close(chain);
    return NULL;
}

void cs_markov_close(struct cs_markov *chain)
{
    if (!chain)
        return;
    solving_fini(&chain->work);
    free(chain->from);
    free(chain->to);
    free(chain->order);
    free(chain);
}

int cs_markov_solve(struct cs_markov *chain, const double *weight, double *visits)
{
    struct solving *s = &chain->work;
    uint32_t n = chain->n;
    struct back *back = calloc(n + 1, sizeof *back);
    int rc = solving_reset(s, chain, weight);
    if (!back)
        rc = -ENOMEM;
    for (uint32_t a = 0; rc == 0 && a + 1 < n; a++) {
        uint32_t k = chain->order[a];
        merge_row(s, k);
        if (s->out[k].n == 0 && row_add(&s->out[k], 0, 1e-12) < 0) /* a dead end: leaves to the outside */
            rc = -ENOMEM;
        back[k].n_out = s->out[k].n;
        back[k].leaving = eliminate(s, k);
        if (back[k].leaving < 0)
            rc = -ENOMEM;
    }
    if (rc == 0) {
        memset(visits, 0, n * sizeof *visits);
        visits[0] = 1;
        for (uint32_t a = n - 1; a-- > 0;) {
            uint32_t k = chain->order[a];
            const struct row *row = &s->out[k];
            double into = 0;
            for (uint32_t c = back[k].n_out; c < row->n; c++)
                into += visits[row->column[c]] * row->value[c];
            visits[k] = into / back[k].leaving;
        }
    }
    free(back);
    return rc;
}
