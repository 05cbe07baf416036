/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A hash of points; each round logs what it added, and the round that leaves the window is subtracted. */
#include "cli/top/live.h"
#include "cli/output/image_name.h"
#include "store/base/array.h"
#include "store/base/kernel_files.h"
#include "store/base/map.h"
#include "store/base/order.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NO_PROCEDURE UINT32_MAX
#define POINTS_MIN 4096 /* fewer are never swept */

struct point {
    const struct cs_store_image *image;
    uint64_t offset, samples; /* samples within the window */
    uint64_t total; /* those whose chain has the point's procedure, noted at the first such point of each */
    pid_t pid;
    uint32_t procedure;
};

struct procedure {
    const struct cs_store_image *image;
    uint64_t start;
    char *name; /* as people read it; "[no symbol]" for what an image has no names for */
    bool named;
    uint64_t chain; /* the last one that it was met in */
};

struct image {
    const struct cs_store_image *image;
    struct cs_image_code *code; /* NULL = not opened yet, or to be opened again */
    bool unnamed;               /* has points that no name was found for: the store may learn it */
    uint32_t nameless;          /* procedure that they count in */
};

struct added {
    uint32_t point;
    uint64_t samples, total;
};

struct round {
    struct added *added;
    size_t n, capacity;
};

struct process {
    pid_t pid;
    char name[32];
};

struct live {
    struct cs_store *store;
    struct point *points;
    struct cs_map by_point;
    size_t n_points, room;
    struct procedure *procedures;
    size_t n_procedures;
    struct image *images;
    size_t n_images;
    struct process *processes;
    size_t n_processes;
    struct round *rounds;
    unsigned n_rounds, now;
    uint64_t chains;
};

/* Room for one more; doubles at powers of two. */
static int more(void *array, size_t n, size_t size)
{
    void **at = array;
    if (n & (n - 1))
        return 0;
    void *grown = realloc(*at, (n ? 2 * n : 1) * size);
    if (!grown)
        return -ENOMEM;
    *at = grown;
    return 0;
}

int live_open(struct live **out, struct cs_store *store, unsigned rounds)
{
    assert(rounds > 0);
    struct live *l = calloc(1, sizeof *l);
    if (!l)
        return -ENOMEM;
    l->store = store;
    l->n_rounds = rounds ? rounds : 1;
    l->rounds = calloc(l->n_rounds, sizeof *l->rounds);
    if (!l->rounds) {
        free(l);
        return -ENOMEM;
    }
    *out = l;
    return 0;
}

void live_clear(struct live *l)
{
    for (unsigned i = 0; i < l->n_rounds; i++)
        l->rounds[i].n = 0;
    l->n_points = 0;
    cs_map_clear(&l->by_point);
}

void live_close(struct live *l)
{
    if (!l)
        return;
    for (size_t i = 0; i < l->n_procedures; i++)
        free(l->procedures[i].name);
    for (size_t i = 0; i < l->n_images; i++)
        cs_image_close(l->images[i].code);
    for (unsigned i = 0; i < l->n_rounds; i++)
        free(l->rounds[i].added);
    free(l->rounds);
    free(l->processes);
    free(l->images);
    free(l->procedures);
    free(l->points);
    cs_map_fini(&l->by_point);
    free(l);
}

/* ---- names ---- */

static struct image *image_of(struct live *l, const struct cs_store_image *image)
{
    for (size_t i = l->n_images; i-- > 0;)
        if (l->images[i].image == image)
            return &l->images[i];
    if (more(&l->images, l->n_images, sizeof *l->images) < 0)
        return NULL;
    l->images[l->n_images] = (struct image){.image = image, .nameless = NO_PROCEDURE};
    return &l->images[l->n_images++];
}

static uint32_t procedure_of(struct live *l, const struct cs_store_image *image, const char *name,
                             uint64_t start, bool named)
{
    for (size_t i = 0; i < l->n_procedures; i++)
        if (l->procedures[i].image == image && l->procedures[i].start == start &&
            l->procedures[i].named == named)
            return (uint32_t)i;
    char text[1024];
    if (more(&l->procedures, l->n_procedures, sizeof *l->procedures) < 0)
        return NO_PROCEDURE;
    struct procedure *p = &l->procedures[l->n_procedures];
    *p = (struct procedure){image, start, strdup(cs_image_demangle(name, text, sizeof text)), named, 0};
    return p->name ? (uint32_t)l->n_procedures++ : NO_PROCEDURE;
}

static uint32_t name_point(struct live *l, const struct point *p)
{
    struct image *image = image_of(l, p->image);
    struct cs_error ignored = {0};
    if (!image || (!image->code && cs_image_open(p->image, l->store, &image->code, &ignored) < 0))
        return NO_PROCEDURE;
    const struct cs_image_procedure *found = cs_image_procedure_at(image->code, p->offset);
    if (found)
        return procedure_of(l, p->image, found->name, found->start, true);
    image->unnamed = true;
    if (image->nameless == NO_PROCEDURE)
        image->nameless = procedure_of(l, p->image, "[no symbol]", 0, false);
    return image->nameless;
}

/* Kernel and JIT code get names in the store when it is merged: after the samples. */
static bool learns(const struct cs_store_image *image)
{
    return image->kind == CS_IMAGE_KERNEL || image->kind == CS_IMAGE_MODULE || image->kind == CS_IMAGE_JIT ||
           image->kind == CS_IMAGE_UNKNOWN;
}

void live_learn(struct live *l)
{
    for (size_t i = 0; i < l->n_images; i++) {
        struct image *image = &l->images[i];
        if (!image->unnamed || !learns(image->image))
            continue;
        cs_image_close(image->code);
        image->code = NULL;
        image->unnamed = false;
        for (size_t k = 0; k < l->n_points; k++)
            if (l->points[k].image == image->image && l->points[k].procedure == image->nameless)
                l->points[k].procedure = name_point(l, &l->points[k]);
    }
}

static const char *process_name(struct live *l, pid_t pid)
{
    char name[sizeof l->processes->name];
    struct process *p = NULL;
    for (size_t i = l->n_processes; i-- > 0 && !p;)
        p = l->processes[i].pid == pid ? &l->processes[i] : NULL;
    if (!p) {
        if (more(&l->processes, l->n_processes, sizeof *l->processes) < 0)
            return "?";
        p = &l->processes[l->n_processes++];
        *p = (struct process){pid, "[ended]"};
    }
    if (cs_kernel_line(name, sizeof name, "", "/proc/%d/comm", (int)pid)) /* each time: an exec changes it */
        memcpy(p->name, name, sizeof name);
    return p->name;
}

/* ---- points ---- */

static uint64_t hash_of(const struct point *p)
{
    uint64_t h = (uintptr_t)p->image ^ p->offset * 0x9E3779B97F4A7C15ull ^ (uint64_t)p->pid << 40;
    return (h ^ h >> 31) * 0x9E3779B97F4A7C15ull >> 24;
}

/* Drops points without samples; the logs of the rounds follow. */
static int sweep(struct live *l)
{
    uint32_t *moved = malloc(l->n_points * sizeof *moved);
    size_t kept = 0;
    if (!moved)
        return -ENOMEM;
    for (size_t i = 0; i < l->n_points; i++) {
        moved[i] = (uint32_t)kept;
        if (l->points[i].samples || l->points[i].total)
            l->points[kept++] = l->points[i];
    }
    l->n_points = kept;
    for (unsigned r = 0; r < l->n_rounds; r++)
        for (size_t i = 0; i < l->rounds[r].n; i++)
            l->rounds[r].added[i].point = moved[l->rounds[r].added[i].point];
    free(moved);
    cs_map_clear(&l->by_point);
    for (size_t i = 0; i < kept; i++)
        (void)cs_map_add(&l->by_point, hash_of(&l->points[i]),
                         (uint32_t)i); /* there is space: no more than before */
    return 0;
}

/* The index of a point in *at, which is made if it is new. */
static int point_of(struct live *l, struct point p, uint32_t *at)
{
    uint64_t hash = hash_of(&p);
    for (size_t step = 0; (*at = cs_map_next(&l->by_point, hash, &step)) != CS_MAP_NONE;) {
        const struct point *q = &l->points[*at];
        if (q->image == p.image && q->offset == p.offset && q->pid == p.pid)
            return 0;
    }
    if (more(&l->points, l->n_points, sizeof *l->points) < 0 ||
        cs_map_add(&l->by_point, hash, (uint32_t)l->n_points) < 0)
        return -ENOMEM;
    p.procedure = name_point(l, &p);
    *at = (uint32_t)l->n_points;
    l->points[l->n_points++] = p;
    return 0;
}

/* A procedure counts once in a chain, however often it stands there. */
static bool is_first(struct live *l, uint32_t procedure)
{
    if (procedure == NO_PROCEDURE || l->procedures[procedure].chain == l->chains)
        return false;
    l->procedures[procedure].chain = l->chains;
    return true;
}

static int add(struct live *l, uint32_t point, uint64_t samples, uint64_t total)
{
    struct round *round = &l->rounds[l->now];
    if (cs_array_room(round->added, round->n, round->capacity) < 0)
        return -ENOMEM;
    round->added[round->n++] = (struct added){point, samples, total};
    l->points[point].samples += samples;
    l->points[point].total += total;
    return 0;
}

int live_add(struct live *l, const struct cs_sampler_placed *placed)
{
    struct point p = {.image = placed->image, .offset = placed->offset, .pid = placed->pid};
    uint32_t at;
    int rc = point_of(l, p, &at);
    l->chains++;
    if (rc == 0)
        rc = add(l, at, placed->samples, is_first(l, l->points[at].procedure) ? placed->samples : 0);
    for (unsigned i = 0; i < placed->n_callers && rc == 0; i++) {
        p.image = placed->callers[i].image;
        p.offset = placed->callers[i].offset;
        rc = point_of(l, p, &at);
        if (rc == 0 && is_first(l, l->points[at].procedure))
            rc = add(l, at, 0, placed->samples);
    }
    return rc;
}

void live_round(struct live *l)
{
    l->now = (l->now + 1) % l->n_rounds;
    struct round *oldest = &l->rounds[l->now];
    size_t empty = 0;
    for (size_t i = 0; i < oldest->n; i++) {
        l->points[oldest->added[i].point].samples -= oldest->added[i].samples;
        l->points[oldest->added[i].point].total -= oldest->added[i].total;
    }
    oldest->n = 0;
    for (size_t i = 0; i < l->n_points; i++)
        empty += l->points[i].samples == 0 && l->points[i].total == 0;
    if (l->n_points > POINTS_MIN && empty > l->n_points / 2)
        (void)sweep(l); /* no memory: it stays larger */
}

/* ---- rows ---- */

CS_ORDER(by_samples, struct live_row, cs_order(b->samples, a->samples), cs_order(b->total, a->total),
         strcmp(a->name, b->name), cs_order(a->pid, b->pid))

static struct live_row row_of(struct live *l, const struct point *p, enum live_by by)
{
    struct live_row row = {.procedure = NO_PROCEDURE, .image = image_name(p->image)};
    if (by == LIVE_PROCEDURES) {
        row.procedure = p->procedure;
        row.name = p->procedure == NO_PROCEDURE ? "?" : l->procedures[p->procedure].name;
    } else if (by == LIVE_PROCESSES) {
        row.pid = p->pid;
        row.image = NULL;
        row.name = p->pid ? process_name(l, p->pid) : "[idle]";
    } else {
        row.name = row.image;
    }
    return row;
}

static uint64_t key_of(const struct point *p, enum live_by by)
{
    return by == LIVE_PROCEDURES  ? p->procedure
           : by == LIVE_PROCESSES ? (uint64_t)p->pid
                                  : (uintptr_t)p->image;
}

static bool part_of(const struct point *p, enum live_by by, const struct live_only *only)
{
    return (p->samples || (by == LIVE_PROCEDURES && p->total)) && (!only->pid || p->pid == only->pid) &&
           (!only->image || strcmp(only->image, image_name(p->image)) == 0);
}

struct keyed {
    uint64_t key;
    const struct point *point;
};

CS_ORDER(by_key, struct keyed, cs_order(a->key, b->key))

int live_rows(struct live *l, enum live_by by, const struct live_only *only, struct live_rows *rows)
{
    assert(by < LIVE_BYS);
    struct keyed *keyed = malloc((l->n_points + 1) * sizeof *keyed);
    struct live_row *row = calloc(l->n_points + 1, sizeof *row);
    *rows = (struct live_rows){.row = row};
    if (!keyed || !row) {
        free(keyed);
        live_rows_fini(rows);
        return -ENOMEM;
    }
    size_t n = 0, n_rows = 0, kept = 0;
    for (size_t i = 0; i < l->n_points; i++) {
        const struct point *p = &l->points[i];
        rows->in_any_image += !only->pid || p->pid == only->pid ? p->samples : 0;
        if (!part_of(p, by, only))
            continue;
        rows->total += p->samples;
        rows->unknown += p->image->kind == CS_IMAGE_UNKNOWN ? p->samples : 0;
        keyed[n++] = (struct keyed){key_of(p, by), p};
    }
    cs_sort(keyed, n, by_key);
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || keyed[i].key != keyed[i - 1].key)
            row[n_rows++] = row_of(l, keyed[i].point, by);
        row[n_rows - 1].samples += keyed[i].point->samples;
        row[n_rows - 1].total += keyed[i].point->total;
    }
    free(keyed);
    for (size_t i = 0; i < n_rows; i++)
        if (!only->words || !*only->words || strcasestr(row[i].name, only->words))
            row[kept++] = row[i];
    rows->n = kept;
    cs_sort(row, kept, by_samples);
    return 0;
}

void live_rows_fini(struct live_rows *rows)
{
    free(rows->row);
    *rows = (struct live_rows){0};
}

bool live_procedure(const struct live *l, uint32_t procedure, const char **name, struct cs_image_code **code,
                    uint64_t *start)
{
    if (procedure >= l->n_procedures || !l->procedures[procedure].named)
        return false;
    const struct procedure *p = &l->procedures[procedure];
    *name = p->name;
    *start = p->start;
    *code = NULL;
    for (size_t i = 0; i < l->n_images; i++)
        if (l->images[i].image == p->image)
            *code = l->images[i].code;
    return *code != NULL;
}

void live_points(const struct live *l, uint32_t procedure, pid_t pid,
                 void (*visit)(uint64_t offset, uint64_t samples, void *arg), void *arg)
{
    for (size_t i = 0; i < l->n_points; i++) {
        const struct point *p = &l->points[i];
        if (p->procedure == procedure && p->samples && (!pid || p->pid == pid))
            visit(p->offset, p->samples, arg);
    }
}
