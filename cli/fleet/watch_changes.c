/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A switch: an epoch of a host has a build of an image that the image's epoch before didn't have. Two builds that run next to
 * each other for long are so one switch, and a rollback is another one. */
#include "cli/fleet/watch_changes.h"
#include "store/base/array.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define OLD_REST 0.05 /* share of an image's samples that the old build may still have in a clean epoch */

#define CELL(pointer) (*(const struct watch_cell *const *)(pointer))

static int by_host(const void *a, const void *b)
{
    return strcmp(CELL(a)->host, CELL(b)->host);
}

static int by_epoch(const void *a, const void *b)
{
    return (CELL(a)->epoch > CELL(b)->epoch) - (CELL(a)->epoch < CELL(b)->epoch);
}

static int by_image(const void *a, const void *b)
{
    return strcmp(CELL(a)->image, CELL(b)->image);
}

static int by_build(const void *a, const void *b)
{
    int order = by_image(a, b);
    return order ? order : strcmp(CELL(a)->build, CELL(b)->build);
}

static int by_function(const void *a, const void *b)
{
    int order = by_image(a, b);
    return order ? order : strcmp(CELL(a)->function, CELL(b)->function);
}

static int by_place(const void *a, const void *b)
{
    const struct watch_cell *x = CELL(a), *y = CELL(b);
    const uint32_t left[] = {x->of_host, x->of_image, x->of_epoch, x->of_build},
                   right[] = {y->of_host, y->of_image, y->of_epoch, y->of_build};
    for (unsigned i = 0; i < 4; i++)
        if (left[i] != right[i])
            return left[i] < right[i] ? -1 : 1;
    return 0;
}

/* Equal cells get one number, in the member at `member`; `first` (may be NULL) gets one cell of each. */
static uint32_t number(struct watch_series *s, int (*compare)(const void *, const void *), size_t member,
                       const struct watch_cell **first)
{
    uint32_t numbers = 0;
    qsort(s->cell, s->n, sizeof *s->cell, compare);
    for (size_t i = 0; i < s->n; i++) {
        if (i == 0 || compare(&s->cell[i - 1], &s->cell[i]) != 0) {
            if (first)
                first[numbers] = s->cell[i];
            numbers++;
        }
        *(uint32_t *)((char *)s->cell[i] + member) = numbers - 1;
    }
    return numbers;
}

/* Cells of one image on one host in one epoch, [from, to). */
struct part {
    size_t from, to;
};

static struct part part_at(const struct watch_series *s, size_t from)
{
    struct part p = {from, from};
    const struct watch_cell *first = s->cell[from];
    while (p.to < s->n && s->cell[p.to]->of_host == first->of_host &&
           s->cell[p.to]->of_image == first->of_image && s->cell[p.to]->of_epoch == first->of_epoch)
        p.to++;
    return p;
}

static double samples_of(const struct watch_series *s, struct part p, uint32_t build)
{
    double sum = 0;
    for (size_t i = p.from; i < p.to; i++)
        sum += build == UINT32_MAX || s->cell[i]->of_build == build ? s->cell[i]->samples : 0;
    return sum;
}

/* The build with the most samples that `before` doesn't have; UINT32_MAX: none. */
static uint32_t new_build(const struct watch_series *s, struct part before, struct part p)
{
    uint32_t best = UINT32_MAX;
    double most = 0;
    for (size_t i = p.from; i < p.to; i++) {
        const uint32_t build = s->cell[i]->of_build;
        if ((i > p.from && s->cell[i - 1]->of_build == build) || samples_of(s, before, build) > 0)
            continue;
        const double samples = samples_of(s, p, build);
        if (samples > most) {
            most = samples;
            best = build;
        }
    }
    return best;
}

static uint32_t largest_build(const struct watch_series *s, struct part p)
{
    return new_build(s, (struct part){0, 0}, p);
}

static int find_switches(struct watch_series *s, const double *of_image, double all)
{
    struct part before = {0, 0};
    size_t open = SIZE_MAX; /* the switch of this host and image that still waits for its clean epoch */
    for (struct part p; before.to < s->n; before = p) {
        p = part_at(s, before.to);
        const struct watch_cell *c = s->cell[p.from], *last = before.to ? s->cell[before.from] : NULL;
        const bool goes_on = last && last->of_host == c->of_host && last->of_image == c->of_image;
        if (!goes_on)
            open = SIZE_MAX;
        if (of_image[c->of_image] * 100 < WATCH_IMAGE_PERCENT_MIN * all)
            continue;
        const uint32_t build = goes_on ? new_build(s, before, p) : UINT32_MAX;
        if (build != UINT32_MAX && *s->build[build]->build) {
            if (cs_array_room(s->change, s->n_changes, s->capacity) < 0)
                return -ENOMEM;
            open = s->n_changes;
            s->change[s->n_changes++] = (struct watch_switch){
                c->of_host, c->of_image, build, largest_build(s, before), c->of_epoch, s->n_epochs};
        }
        if (open != SIZE_MAX &&
            samples_of(s, p, s->change[open].old) <= OLD_REST * samples_of(s, p, UINT32_MAX)) {
            s->change[open].clean = c->of_epoch;
            open = SIZE_MAX;
        }
    }
    return 0;
}

static int by_change(const void *left, const void *right)
{
    const struct watch_switch *a = left, *b = right;
    const uint32_t x[] = {a->image, a->old, a->build, a->host, a->epoch},
                   y[] = {b->image, b->old, b->build, b->host, b->epoch};
    for (unsigned i = 0; i < 5; i++)
        if (x[i] != y[i])
            return x[i] < y[i] ? -1 : 1;
    return 0;
}

/* Where most samples are of hosts that don't live long enough to be compared with themselves, all hosts together are one. */
static bool hosts_are_brief(const struct watch_series *s)
{
    struct span {
        uint32_t from, to;
        double samples;
    } *of = calloc(s->n_hosts + 1, sizeof *of);
    double all = 0, brief = 0;
    for (size_t i = 0; of && i < s->n; i++) {
        struct span *h = &of[s->cell[i]->of_host];
        const uint32_t e = s->cell[i]->of_epoch;
        h->from = h->samples > 0 && h->from < e ? h->from : e;
        h->to = h->to > e ? h->to : e;
        h->samples += s->cell[i]->samples;
    }
    for (uint32_t h = 0; of && h < s->n_hosts; h++) {
        all += of[h].samples;
        brief += of[h].to - of[h].from < WATCH_BEFORE_MIN ? of[h].samples : 0;
    }
    free(of);
    return s->n_epochs > WATCH_BEFORE_MIN && brief > all / 2;
}

int watch_series_init(struct watch_series *s, struct watch_cell *cells, size_t n)
{
    assert(cells || n == 0);
    *s = (struct watch_series){.cell = calloc(n + 1, sizeof *s->cell),
                               .n = n,
                               .function = calloc(n + 1, sizeof *s->function),
                               .build = calloc(n + 1, sizeof *s->build)};
    if (!s->cell || !s->function || !s->build)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++)
        s->cell[i] = &cells[i];
#define NUMBER(compare, member, first) number(s, compare, offsetof(struct watch_cell, member), first)
    s->n_hosts = NUMBER(by_host, of_host, NULL);
    s->n_images = NUMBER(by_image, of_image, NULL);
    s->n_builds = NUMBER(by_build, of_build, s->build);
    s->n_functions = NUMBER(by_function, of_function, s->function);
    s->n_epochs = NUMBER(by_epoch, of_epoch, NULL);
    if (hosts_are_brief(s)) {
        for (size_t i = 0; i < n; i++)
            cells[i].of_host = 0;
        s->n_hosts = n > 0;
    }
    s->epoch = calloc(s->n_epochs + 1, sizeof *s->epoch);
    if ((double)s->n_hosts * s->n_epochs > WATCH_HOST_EPOCHS_MAX)
        return -EFBIG;
    s->total = calloc((size_t)s->n_hosts * s->n_epochs + 1, sizeof *s->total);
    double *of_image = calloc(s->n_images + 1, sizeof *of_image), all = 0;
    int rc = s->epoch && s->total && of_image ? 0 : -ENOMEM;
    for (size_t i = 0; rc == 0 && i < n; i++) {
        s->epoch[cells[i].of_epoch] = cells[i].epoch;
        s->total[(size_t)cells[i].of_host * s->n_epochs + cells[i].of_epoch] += cells[i].samples;
        of_image[cells[i].of_image] += cells[i].samples;
        all += cells[i].samples;
    }
    if (rc == 0 && n) {
        qsort(s->cell, n, sizeof *s->cell, by_place);
        rc = find_switches(s, of_image, all);
    }
    if (s->n_changes)
        qsort(s->change, s->n_changes, sizeof *s->change, by_change);
    free(of_image);
    return rc;
}

void watch_series_fini(struct watch_series *s)
{
    free(s->cell);
    free(s->function);
    free(s->build);
    free(s->epoch);
    free(s->total);
    free(s->change);
}
