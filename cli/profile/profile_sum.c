/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sums points by image, procedure, line, process or tag. Images are independent: each worker takes the next
 * one, and only the finished rows meet under a lock. Within an image, points come in ascending order, so a
 * row is found again by its key in a small hash. */
#include "cli/output/output.h"
#include "cli/profile/profile.h"
#include "store/base/array.h"

#include <assert.h>
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WORKERS_MAX 16
#define KEEP_BYTES (64 << 20)
#define TOP_BY_INSERTION 200 /* more rows are sorted all together */

/* Rows of one image (or, BY_PROCESS, of all that a worker had). */
struct bag {
    struct profile_row *row;
    size_t n, capacity;
    struct cs_map by_key;
};

struct job {
    struct progress bar; /* drawn by the thread that began */
    struct profile *profile;
    enum profile_by by;
    struct profile_rows *rows;
    atomic_size_t next;
    pthread_mutex_t lock; /* rows, code_open of images whose names are in the store, error */
    struct cs_error *err;
    int rc;
};

struct point {
    struct job *job;
    const struct profile_image *image;
    struct cs_image_code *code;
    struct bag *bag;
    const struct cs_image_procedure
        *last; /* of the previous point, and its row: the next is mostly the same */
    uint64_t *last_samples;
    bool failed;
};

static size_t hash(const char *name, const char *file, uint64_t line, uint64_t start)
{
    size_t h = 1469598103934665603ull ^ start * 0x9E3779B97F4A7C15ull ^ line << 17;
    for (; name && *name; name++)
        h = (h ^ (unsigned char)*name) * 1099511628211ull;
    for (; file && *file; file++)
        h = (h ^ (unsigned char)*file) * 1099511628211ull;
    return h ^ h >> 29;
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

/* The row with that key, added if new; NULL for want of memory. Valid until the next new one. */
static struct profile_row *bag_find(struct bag *bag, unsigned n_events, const struct profile_row *key)
{
    uint64_t h = hash(key->name, key->file, key->line, key->start);
    uint32_t i;
    for (size_t step = 0; (i = cs_map_next(&bag->by_key, h, &step)) != CS_MAP_NONE;) {
        assert(i < bag->n && bag->row);
        struct profile_row *r = &bag->row[i];
        if (r->start == key->start && r->line == key->line && same_text(r->name, key->name) &&
            same_text(r->file, key->file))
            return r;
    }
    if (cs_array_room(bag->row, bag->n, bag->capacity) < 0)
        return NULL;
    struct profile_row *r = &bag->row[bag->n];
    *r = *key;
    r->name = key->name ? strdup(key->name) : NULL;
    r->file = key->file ? strdup(key->file) : NULL;
    r->samples = calloc(n_events, sizeof *r->samples);
    if ((key->name && !r->name) || (key->file && !r->file) || !r->samples ||
        cs_map_add(&bag->by_key, h, (uint32_t)bag->n) < 0) {
        free(r->name);
        free(r->file);
        free(r->samples);
        return NULL;
    }
    bag->n++;
    return r;
}

static bool is_readable(const struct point *p, const struct cs_image_procedure *proc)
{
    size_t n = 0;
    if (p->image->image.kind == CS_IMAGE_JIT)
        (void)cs_image_bytes_at(p->code, proc->start, &n, NULL);
    return n > 0 || (p->image->image.kind == CS_IMAGE_ELF && !p->image->fileless);
}

static void name_by_procedure(const struct point *p, const struct cs_image_procedure *proc,
                              struct profile_row *key)
{
    if (proc) {
        key->readable = is_readable(p, proc);
        key->name = (char *)(uintptr_t)proc->name;
        key->start = proc->start;
    }
}

static void name_by_line(struct point *p, unsigned event, uint64_t offset, struct profile_row *key)
{
    struct cs_image_frame frame;
    if (p->code)
        offset = profile_charged(p->job->profile, event, p->code, offset);
    if (p->code && cs_image_frames_at(p->code, offset, &frame, 1)) {
        key->file = (char *)(uintptr_t)frame.file;
        key->line = frame.line;
        key->begin = frame.first_line;
        key->name = (char *)(uintptr_t)frame.function;
    } else {
        name_by_procedure(p, p->code ? cs_image_procedure_at(p->code, offset) : NULL, key);
    }
}

static void add_point(unsigned event, const char *label, uint64_t offset, uint64_t samples, void *arg)
{
    struct point *p = arg;
    struct profile_row key = {.image = p->image};
    const struct cs_image_procedure *proc = NULL;
    if (p->code && (p->job->by == BY_PROCEDURE || p->job->by == BY_TAG))
        proc = cs_image_procedure_at(p->code, offset);
    if (proc && proc == p->last && p->job->by == BY_PROCEDURE) {
        p->last_samples[event] += samples;
        return;
    }
    switch (p->job->by) {
    case BY_IMAGE:
        break;
    case BY_PROCEDURE:
        name_by_procedure(p, proc, &key);
        break;
    case BY_LINE:
        name_by_line(p, event, offset, &key);
        break;
    case BY_PROCESS:
        key.image = NULL;
        key.name = (char *)(uintptr_t)label;
        break;
    case BY_TAG:
        name_by_procedure(p, proc, &key);
        key.start = offset;
        break;
    }
    struct profile_row *row = bag_find(p->bag, p->job->profile->n_events, &key);
    if (!row) {
        p->failed = true;
        return;
    }
    row->samples[event] += samples;
    p->last = proc;
    p->last_samples = row->samples;
}

static int sum_image(struct job *job, struct profile_image *image, struct bag *bag, struct cs_error *err)
{
    struct point p = {.job = job, .image = image, .bag = bag};
    bool names = job->by == BY_PROCEDURE || job->by == BY_LINE || job->by == BY_TAG;
    int rc = 0;
    if (names) {
        pthread_mutex_lock(&job->lock); /* the store isn't ours alone */
        rc = cs_image_open(&image->image, job->profile->store, &p.code, err);
        if (rc == 0 && image->image.kind == CS_IMAGE_ELF && !image->image.build_id[0] &&
            !job->rows->trouble[0])
            snprintf(job->rows->trouble, sizeof job->rows->trouble, "%s", cs_image_trouble(p.code));
        image->fileless = rc == 0 && image->image.kind == CS_IMAGE_ELF && cs_image_trouble(p.code)[0];
        pthread_mutex_unlock(&job->lock);
    }
    if (rc == 0)
        rc = profile_points(image, -1, add_point, &p, err);
    if (p.code)
        cs_image_close(p.code);
    return rc < 0     ? rc
           : p.failed ? cs_fail(err, ENOMEM, "out of memory while summing up %s", image->image.path)
                      : 0;
}

static int move_rows(struct profile_rows *rows, struct bag *bag)
{
    if (cs_array_reserve_in(rows->row, rows->n + bag->n, rows->capacity) < 0)
        return -ENOMEM;
    if (bag->n)
        memcpy(rows->row + rows->n, bag->row, bag->n * sizeof *bag->row);
    rows->n += bag->n;
    bag->n = 0;
    return 0;
}

static void bag_fini(struct bag *bag)
{
    for (size_t i = 0; i < bag->n; i++) {
        free(bag->row[i].name);
        free(bag->row[i].file);
        free(bag->row[i].samples);
    }
    free(bag->row);
    cs_map_fini(&bag->by_key);
}

static void take_images(struct job *job, bool drawing)
{
    size_t i;
    while ((i = atomic_fetch_add(&job->next, 1)) < job->profile->n_images) {
        if (drawing)
            progress_step(&job->bar, i);
        struct profile_image *image = &job->profile->images[i];
        if (job->by == BY_TAG && image->image.kind != CS_IMAGE_TAG)
            continue;
        struct bag bag = {0};
        struct cs_error err = {0};
        int rc = sum_image(job, image, &bag, &err);
        pthread_mutex_lock(&job->lock);
        if (rc == 0 && image->image.kind == CS_IMAGE_UNKNOWN)
            for (size_t r = 0; r < bag.n; r++)
                job->rows->unknown += bag.row[r].samples[job->profile->main_event];
        if (rc == 0 && move_rows(job->rows, &bag) < 0)
            rc = cs_fail(&err, ENOMEM, "out of memory for the rows of the report");
        if (rc < 0 && job->rc == 0) {
            job->rc = rc;
            *job->err = err;
        }
        pthread_mutex_unlock(&job->lock);
        bag_fini(&bag);
        if (rc < 0)
            break;
    }
}

static void *work(void *job)
{
    take_images(job, false);
    return NULL;
}

/* Rows of one process come from many images: they are one row. */
static int fold_processes(struct profile_rows *rows)
{
    struct bag all = {0};
    for (size_t r = 0; r < rows->n; r++) {
        struct profile_row *row = bag_find(&all, rows->n_events, &rows->row[r]);
        if (!row) {
            bag_fini(&all);
            return -ENOMEM;
        }
        for (unsigned e = 0; e < rows->n_events; e++)
            row->samples[e] += rows->row[r].samples[e];
    }
    for (size_t r = 0; r < rows->n; r++) {
        free(rows->row[r].name);
        free(rows->row[r].file);
        free(rows->row[r].samples);
    }
    rows->n = 0;
    int rc = move_rows(rows, &all);
    bag_fini(&all);
    return rc;
}

struct order {
    unsigned main_event, n_events;
};

static int by_samples(const void *left, const void *right, void *arg)
{
    const struct profile_row *a = left, *b = right;
    const struct order *o = arg;
    if (a->samples[o->main_event] != b->samples[o->main_event])
        return a->samples[o->main_event] < b->samples[o->main_event] ? 1 : -1;
    for (unsigned e = 0; e < o->n_events; e++)
        if (a->samples[e] != b->samples[e])
            return a->samples[e] < b->samples[e] ? 1 : -1;
    int order = strcmp(a->name ? a->name : "", b->name ? b->name : "");
    if (order == 0 && a->image && b->image)
        order = strcmp(a->image->image.path, b->image->image.path);
    return order                ? order
           : a->line != b->line ? (a->line > b->line) - (a->line < b->line)
                                : (a->start > b->start) - (a->start < b->start);
}

/* Brings the first `most` rows of the order to the front, in order: the front is a sorted list that takes in
 * what is better than its last. */
static void sort_top(struct profile_rows *rows, size_t most, struct order *order)
{
    for (size_t i = 0; i < rows->n; i++) {
        size_t front = i < most ? i : most, at = front;
        if (i >= most && by_samples(&rows->row[i], &rows->row[most - 1], order) >= 0)
            continue;
        struct profile_row row = rows->row[i];
        if (i >= most)
            rows->row[i] = rows->row[--at];
        for (; at > 0 && by_samples(&row, &rows->row[at - 1], order) < 0; at--)
            rows->row[at] = rows->row[at - 1];
        rows->row[at] = row;
    }
}

int profile_sum(struct profile *profile, enum profile_by by, struct profile_rows *rows, struct cs_error *err)
{
    return profile_sum_top(profile, by, 0, rows, err);
}

/* Where the kernel's idle task waits for an interrupt, on x86-64 and AArch64 (arch/x86/kernel/process.c,
 * drivers/idle, drivers/acpi/processor_idle.c, drivers/cpuidle). A timer counts there, but nobody works. */
static bool is_idle(const struct profile_row *row)
{
    static const char *const waits[] = {
        "pv_native_safe_halt", "native_safe_halt",   "acpi_safe_halt",         "default_idle",
        "mwait_idle",          "intel_idle",         "intel_idle_irq",         "intel_idle_ibrs",
        "intel_idle_xstate",   "acpi_idle_do_entry", "acpi_idle_enter",        "poll_idle",
        "cpu_idle_poll",       "cpu_do_idle",        "psci_cpu_suspend_enter", "native_halt",
        "arch_cpu_idle",
    };
    bool kernel = row->image && row->image->image.kind == CS_IMAGE_KERNEL;
    for (size_t i = 0; kernel && row->name && i < sizeof waits / sizeof waits[0]; i++)
        if (strcmp(row->name, waits[i]) == 0)
            return true;
    return false;
}

static void leave_out_idle(const struct profile *profile, struct profile_rows *rows)
{
    size_t kept = 0;
    for (size_t r = 0; r < rows->n; r++) {
        struct profile_row *row = &rows->row[r];
        if (!is_idle(row)) {
            rows->row[kept++] = *row;
            continue;
        }
        rows->idle += row->samples[profile->main_event];
        for (unsigned e = 0; e < rows->n_events; e++)
            rows->total[e] -= row->samples[e];
        free(row->name);
        free(row->file);
        free(row->samples);
    }
    rows->n = kept;
}

int profile_sum_top(struct profile *profile, enum profile_by by, size_t most, struct profile_rows *rows,
                    struct cs_error *err)
{
    *rows = (struct profile_rows){.n_events = profile->n_events};
    rows->total = calloc(profile->n_events, sizeof *rows->total);
    if (!rows->total)
        return cs_fail(err, ENOMEM, "out of memory for %u events", profile->n_events);
    /* Each image's symbol table comes and goes: keeping the memory saves the kernel clearing it again. */
    mallopt(M_MMAP_THRESHOLD, KEEP_BYTES);
    mallopt(M_TRIM_THRESHOLD, KEEP_BYTES);
    mallopt(M_TOP_PAD, KEEP_BYTES / 8);
    struct job job = {.profile = profile, .by = by, .rows = rows, .err = err};
    atomic_init(&job.next, 0);
    pthread_mutex_init(&job.lock, NULL);
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    size_t n = profile->n_images < 4 || cpus < 2 ? 1 : cpus > WORKERS_MAX ? WORKERS_MAX : (size_t)cpus;
    pthread_t workers[WORKERS_MAX];
    size_t started = 0;
    while (started + 1 < n && pthread_create(&workers[started], NULL, work, &job) == 0)
        started++;
    progress_init(&job.bar, "reading", "images", profile->n_images);
    take_images(&job, true);
    for (size_t i = 0; i < started; i++)
        pthread_join(workers[i], NULL);
    progress_fini(&job.bar);
    pthread_mutex_destroy(&job.lock);
    if (job.rc == 0 && by == BY_PROCESS && fold_processes(rows) < 0)
        job.rc = cs_fail(err, ENOMEM, "out of memory for the rows of the report");
    if (job.rc < 0) {
        profile_rows_fini(rows);
        return job.rc;
    }
    for (size_t r = 0; r < rows->n; r++)
        for (unsigned e = 0; e < rows->n_events; e++)
            rows->total[e] += rows->row[r].samples[e];
    for (unsigned e = 0; e < rows->n_events; e++)
        profile->events[e].samples = rows->total[e];
    if (by == BY_PROCEDURE)
        leave_out_idle(profile, rows);
    struct order order = {profile->main_event, profile->n_events};
    if (most && most <= TOP_BY_INSERTION)
        sort_top(rows, most, &order);
    else
        qsort_r(rows->row, rows->n, sizeof *rows->row, by_samples, &order);
    return 0;
}

void profile_rows_fini(struct profile_rows *rows)
{
    for (size_t r = 0; r < rows->n; r++) {
        free(rows->row[r].name);
        free(rows->row[r].file);
        free(rows->row[r].samples);
    }
    free(rows->row);
    free(rows->total);
    *rows = (struct profile_rows){0};
}
