/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sampler/burst/paths.h"
#include "sampler/burst/placed_rows.h"
#include "sampler/perf/timer_rings.h"
#include "store/base/clock.h"
#include "store/table/burst_schemas.h"

#include <assert.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#define RATE_HZ 251   /* a quarter of the samples that record takes; in step with nothing */
#define MOST_HZ 997   /* within a budget */
#define SHARE 0.5     /* of what bursts may take of the budget */
#define SAMPLE_S 3e-6 /* of the work's time, where it wasn't measured */
#define MORE_S 1.2e-6 /* that a snapshot with registers and stack takes (`bench/run sampler-handler`) */
#define STACK_BYTES 512
#define RING_PAGES 32 /* 128 KB a CPU: 186 snapshots */
#define RING_PAGES_SMALL 8
#define WAIT_MS 200
#define WINDOW_ROWS 100000 /* of an image between two merges: some 1 MB on disk */

enum { EDGES, WINDOWS, STARTS, ENDS, N_KINDS };
static const struct cs_placed_rows_kind kinds[N_KINDS] = {
    [EDGES] = {"path-edges", &cs_schema_edges},
    [WINDOWS] = {"path-windows", &cs_schema_per_burst_edges},
    [STARTS] = {"path-starts", &cs_schema_edges},
    [ENDS] = {"path-ends", &cs_schema_edges},
};

struct cs_paths {
    struct cs_paths_config config;
    struct cs_timer_rings *snapshots;
    pthread_t thread;
    bool started;
    int stop_fd;
    double charged_s; /* of our thread's CPU time */

    pthread_mutex_t lock; /* of everything below */
    struct cs_placed_rows *rows;
    struct cs_paths_statistics statistics, counted; /* so far; of it in the store */
};

#if defined __x86_64__
#include <asm/perf_regs.h>

#define HERE true
/* The kernel writes registers in the order of its numbers: ax bx cx dx si di bp sp ip flags (segments) r8 …
 */
#define REGISTERS                                                                                            \
    ((1ULL << PERF_REG_X86_AX) | (1ULL << PERF_REG_X86_BX) | (1ULL << PERF_REG_X86_CX) |                     \
     (1ULL << PERF_REG_X86_DX) | (1ULL << PERF_REG_X86_SI) | (1ULL << PERF_REG_X86_DI) |                     \
     (1ULL << PERF_REG_X86_BP) | (1ULL << PERF_REG_X86_SP) | (1ULL << PERF_REG_X86_IP) |                     \
     (1ULL << PERF_REG_X86_FLAGS) | (0xffULL << PERF_REG_X86_R8))
static const uint8_t slot_of[16] = {0, 2, 3, 1, 7, 6, 4, 5, 10, 11, 12, 13, 14, 15, 16, 17};
enum { SLOT_IP = 8, SLOT_FLAGS = 9, SLOTS = 18 };
#else
#define HERE false
#define REGISTERS 0
static const uint8_t slot_of[16];
enum { SLOT_IP, SLOT_FLAGS, SLOTS = 18 };
#endif

struct sample {
    struct perf_event_header header;
    uint32_t pid, tid;
    uint64_t time_ns, abi, slot[SLOTS];
    uint64_t stack_size; /* as asked; 0: none was copied */
    uint8_t stack[STACK_BYTES];
    uint64_t stack_bytes; /* of them that are the stack's */
};

static bool state_of(const struct perf_event_header *header, struct cs_thread_state *state)
{
    const struct sample *sample = (const void *)header;
    if (header->size != sizeof *sample || sample->abi != PERF_SAMPLE_REGS_ABI_64 ||
        sample->stack_size != STACK_BYTES || sample->stack_bytes > STACK_BYTES)
        return false;
    *state = (struct cs_thread_state){.pid = (pid_t)sample->pid,
                                      .time_ns = sample->time_ns,
                                      .pc = sample->slot[SLOT_IP],
                                      .flags = sample->slot[SLOT_FLAGS],
                                      .stack = sample->stack,
                                      .stack_bytes = sample->stack_bytes};
    for (unsigned i = 0; i < 16; i++)
        state->reg[i] = sample->slot[slot_of[i]];
    return true;
}

static int add_edge(struct cs_paths *paths, const struct cs_path_edge *edge, uint64_t count, uint64_t group)
{
    uint64_t from_offset, to_offset;
    struct cs_placed_rows_image *from = cs_placed_rows_place(paths->rows, edge->from, &from_offset);
    struct cs_placed_rows_image *to = from ? cs_placed_rows_place(paths->rows, edge->to, &to_offset) : NULL;
    if (!to)
        return 0;
    int rc = cs_placed_rows_add_edge(from, EDGES, from_offset, to, to_offset, count);
    if (rc < 0 || cs_placed_rows_n(from, WINDOWS) > WINDOW_ROWS)
        return rc;
    int64_t name = cs_placed_rows_name(from, WINDOWS, to);
    uint64_t window[] = {group, from_offset, (uint64_t)name, to_offset, count};
    return name < 0 ? -ENOMEM : cs_placed_rows_add(from, WINDOWS, window);
}

/* An edge is one row of a path, however often the path takes it. */
static int add_edges(struct cs_paths *paths, const struct cs_followed_path *path, uint64_t group)
{
    const struct cs_path_edge *t = path->edge;
    int rc = 0;
    for (unsigned i = 0; rc == 0 && i < path->n; i++) {
        uint64_t count = 0;
        bool first = true;
        for (unsigned k = 0; k < path->n; k++)
            if (t[k].from == t[i].from && t[k].to == t[i].to) {
                first &= k >= i;
                count++;
            }
        if (first)
            rc = add_edge(paths, &t[i], count, group);
    }
    return rc;
}

static int add_end(struct cs_paths *paths, const struct cs_followed_path *path)
{
    uint64_t offset, to_offset;
    struct cs_placed_rows_image *from = cs_placed_rows_place(paths->rows, path->open, &offset), *to;
    int rc = 0;
    if (from && path->n_ways == 0)
        rc = cs_placed_rows_add_edge(from, ENDS, offset, from, offset, 1);
    for (unsigned i = 0; from && rc == 0 && i < path->n_ways; i++)
        if ((to = cs_placed_rows_place(paths->rows, path->way[i], &to_offset)) != NULL)
            rc = cs_placed_rows_add_edge(from, ENDS, offset, to, to_offset, 1);
    return rc;
}

static int add_path(struct cs_paths *paths, const struct cs_followed_path *path)
{
    uint64_t first = path->n ? path->edge[0].from : path->open, offset;
    struct cs_placed_rows_image *image = first ? cs_placed_rows_place(paths->rows, first, &offset) : NULL;
    if (!image)
        return 0;
    int rc = cs_placed_rows_add_edge(image, STARTS, offset, image, offset, 1);
    if (rc == 0)
        rc = add_edges(paths, path, cs_path_group(image->image->id, offset));
    return rc == 0 && path->open ? add_end(paths, path) : rc;
}

static void follow(struct cs_paths *paths, const struct cs_thread_state *state)
{
    struct cs_followed_path path = {.n = 0};
    paths->config.follow(paths->config.arg, paths->config.sampler, state, &path);
    struct cs_paths_statistics *s = &paths->statistics;
    pthread_mutex_lock(&paths->lock);
    cs_placed_rows_begin(paths->rows, state->pid, state->time_ns);
    s->snapshots++;
    if (add_path(paths, &path) < 0) {
        s->lost++;
    } else {
        s->paths += path.n > 0;
        s->edges += path.n;
        s->unplaced += cs_placed_rows_unplaced(paths->rows);
    }
    pthread_mutex_unlock(&paths->lock);
}

/* The snapshots, and where everything that runs is the target our own CPU time, too. */
static void charge(struct cs_paths *paths, uint64_t snapshots)
{
    struct cs_sampler *sampler = paths->config.sampler;
    double sample_s = sampler ? cs_sampler_sample_cost(sampler) : 0, own_s = cs_thread_cpu_seconds();
    if (sample_s <= 0) /* no budget */
        return;
    double cost_s = (double)snapshots * (sample_s + MORE_S);
    if (paths->config.target == CS_TARGET_ALL)
        cost_s += own_s - paths->charged_s;
    paths->charged_s = own_s;
    cs_sampler_held(sampler, (uint64_t)(cost_s * 1e9));
}

static void read_ring(struct cs_paths *paths, struct cs_ring *ring)
{
    const struct perf_event_header *header;
    uint64_t snapshots = 0, lost = 0;
    struct cs_thread_state state;
    cs_ring_snapshot(ring);
    while ((header = cs_ring_next(ring)) != NULL) {
        if (header->type == PERF_RECORD_LOST)
            lost += ((const uint64_t *)(header + 1))[1];
        if (header->type != PERF_RECORD_SAMPLE)
            continue;
        snapshots++;
        if (state_of(header, &state))
            follow(paths, &state);
    }
    cs_ring_release(ring);
    pthread_mutex_lock(&paths->lock);
    paths->statistics.lost += lost;
    pthread_mutex_unlock(&paths->lock);
    charge(paths, snapshots + lost);
}

static void *reader(void *argument)
{
    struct cs_paths *paths = argument;
    bool stopped = false;
    while (!stopped) {
        uint64_t stop;
        (void)cs_timer_rings_wait(paths->snapshots, paths->stop_fd, WAIT_MS);
        stopped = read(paths->stop_fd, &stop, sizeof stop) > 0;
        for (int i = 0; i < paths->snapshots->n_cpus; i++)
            if (paths->snapshots->rings[i].page)
                read_ring(paths, &paths->snapshots->rings[i]);
    }
    return NULL;
}

static double rate_for(const struct cs_paths_config *config)
{
    double allowed = config->sampler ? cs_sampler_burst_allowance(config->sampler) : 0;
    double sample_s = config->sampler ? cs_sampler_sample_cost(config->sampler) : 0;
    double affordable = SHARE * allowed / ((sample_s > 0 ? sample_s : SAMPLE_S) + MORE_S);
    if (config->rate_hz > 0)
        return config->rate_hz;
    return allowed <= 0 ? RATE_HZ : affordable < MOST_HZ ? affordable : MOST_HZ;
}

static int open_snapshots(struct cs_paths *paths, unsigned pages, struct cs_error *err)
{
    const struct perf_event_attr attr = {
        .sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER,
        .use_clockid = 1,
        .clockid = CLOCK_MONOTONIC,
        .sample_regs_user = REGISTERS,
        .sample_stack_user = STACK_BYTES,
        .watermark = 1,
        .wakeup_watermark = pages * 4096 / 2,
    };
    const struct cs_paths_config *config = &paths->config;
    const struct cs_process_filter *filter = config->sampler ? cs_sampler_filter(config->sampler) : NULL;
    return cs_timer_rings_open(config->target, config->pid, filter, (uint64_t)(1e9 / rate_for(config)), &attr,
                               pages, "paths", &paths->snapshots, err);
}

int cs_paths_open(const struct cs_paths_config *config, struct cs_paths **out, struct cs_error *err)
{
    assert(config->sampler && config->follow);
    *out = NULL;
    if (!HERE)
        return cs_fail(err, ENOTSUP, "paths exist on x86-64 only; this machine has another instruction set");
    struct cs_paths *paths = calloc(1, sizeof *paths);
    if (!paths)
        return cs_fail(err, ENOMEM, "out of memory for paths");
    paths->config = *config;
    pthread_mutex_init(&paths->lock, NULL);
    paths->rows = cs_placed_rows_open(config->sampler, kinds, N_KINDS);
    paths->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int rc = paths->rows && paths->stop_fd >= 0 ? 0 : cs_fail(err, ENOMEM, "out of memory for paths");
    if (rc == 0)
        rc = open_snapshots(paths, RING_PAGES, err);
    if (rc == -EPERM) /* over the locked-memory limit */
        rc = open_snapshots(paths, RING_PAGES_SMALL, err);
    if (rc == 0) {
        int code = pthread_create(&paths->thread, NULL, reader, paths);
        paths->started = code == 0;
        rc = code ? cs_fail(err, code, "no thread to follow paths: %s", strerror(code)) : 0;
    }
    if (rc < 0)
        cs_paths_close(paths);
    else
        *out = paths;
    return rc;
}

void cs_paths_stop(struct cs_paths *paths)
{
    uint64_t one = 1;
    if (!paths->started)
        return;
    (void)!write(paths->stop_fd, &one, sizeof one);
    pthread_join(paths->thread, NULL);
    paths->started = false;
}

int cs_paths_merge(struct cs_paths *paths, struct cs_store *store, struct cs_error *err)
{
    pthread_mutex_lock(&paths->lock);
    cs_store_batch_begin(store);
    int rc = cs_placed_rows_merge(paths->rows, store, err);
    cs_store_batch_end(store);
    const struct cs_paths_statistics *s = &paths->statistics, *c = &paths->counted;
    const struct cs_counter counters[] = {
        {"paths", s->paths - c->paths},
        {"path-moments", s->snapshots - c->snapshots},
        {"path-moments-lost", s->lost - c->lost},
    };
    if (rc >= 0)
        rc = cs_store_count_all(store, counters, sizeof counters / sizeof *counters, err);
    if (rc >= 0)
        paths->counted = paths->statistics;
    pthread_mutex_unlock(&paths->lock);
    return rc;
}

void cs_paths_statistics(struct cs_paths *paths, struct cs_paths_statistics *out)
{
    pthread_mutex_lock(&paths->lock);
    *out = paths->statistics;
    pthread_mutex_unlock(&paths->lock);
}

void cs_paths_close(struct cs_paths *paths)
{
    if (!paths)
        return;
    cs_paths_stop(paths);
    cs_timer_rings_close(paths->snapshots);
    cs_placed_rows_close(paths->rows);
    if (paths->stop_fd >= 0)
        close(paths->stop_fd);
    pthread_mutex_destroy(&paths->lock);
    free(paths);
}
