/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ring driver: samples come through perf's mmap rings and are counted in a table of ours. The BPF driver
 * keeps the same table in the kernel. Works with no more rights than perf_event_open itself.
 *
 * The kernel's cost of writing a record can't be removed. Benchmark sampler-handler writes the least records
 * there are for comparison. IP only takes 219 ns above the bare event where returns are mitigated, our three
 * fields 541, the driver 565, perf record 647.
 *
 * What is ours is 17 to 19 ns a sample, of which reading the record's words is 5. They are read some at a
 * time: first all their buckets are called for, then they are counted. */
#include "sampler/driver/driver.h"
#include "sampler/driver/entry.h"
#include "sampler/driver/hot_table.h"
#include "sampler/perf/process_filter.h"
#include "sampler/perf/ring.h"
#include "store/base/array.h"
#include "store/base/clock.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>

#define BUCKETS 16384 /* 64 Ki entries, 1 MB */
#define HUGE (2UL << 20)
#define RING_PAGES 64 /* 256 KB a CPU: 8,000 samples */

#define COMING 32 /* samples whose buckets are on their way from memory */

struct coming {
    uint64_t key;
    struct cs_hot_bucket *bucket;
    uint32_t pid;
};

struct cs_driver_state {
    struct cs_driver_config config;
    struct cs_ring *rings;
    int *ring_fds;
    struct cs_hot_bucket *table;
    void *mapped; /* the table lies in it, on a huge page where the kernel gives one */
    uint32_t turn;
    uint64_t line_ns;  /* up to where the present drain goes */
    uint64_t since_ns; /* all entries are younger */
    uint64_t *ids;     /* kernel's event id → our number */
    unsigned *id_events, n_ids, room_ids;
    struct coming coming[COMING];
    struct cs_generation_span span; /* of the last sample's process; for one drain */
    uint32_t span_pid;
    struct cs_driver_counts counts;
    uint64_t chain[CS_CHAIN_FRAMES];
};

struct record_sample { /* what follows the header and, with several events, the IDENTIFIER */
    uint64_t ip;
    uint32_t pid, tid;
    uint64_t time;
    uint64_t n_chain, chain[]; /* with chains */
};

static void emit_entry(struct cs_driver_state *s, const struct cs_hot_entry *e, cs_driver_entry_fn emit,
                       void *arg)
{
    struct cs_driver_entry out = cs_driver_entry_of(&s->config, e, s->since_ns, s->line_ns);
    s->counts.entries++;
    emit(arg, &out);
}

/* ---- a sample's way, in the order in which it goes ---- */

static unsigned event_of(struct cs_driver_state *s, uint64_t id)
{
    if (s->config.n_events == 1)
        return 0;
    for (unsigned i = 0; i < s->n_ids; i++)
        if (s->ids[i] == id) {
            unsigned event = s->id_events[i];
            if (i > 0) { /* towards the front: most come from few */
                s->ids[i] = s->ids[i - 1], s->id_events[i] = s->id_events[i - 1];
                s->ids[i - 1] = id, s->id_events[i - 1] = event;
            }
            return event;
        }
    return 0;
}

/* With one event its number is left out: each field costs 40 to 120 ns in the kernel. */
static const struct record_sample *body_of(const struct cs_driver_state *s,
                                           const struct perf_event_header *header)
{
    return (const void *)((const uint64_t *)(header + 1) + (s->config.n_events > 1));
}

static bool in_kernel(const struct perf_event_header *header)
{
    return (header->misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL;
}

/* Samples of one process come in a row. */
static uint32_t generation_of(struct cs_driver_state *s, uint32_t pid, uint64_t time_ns)
{
    if (pid != s->span_pid || time_ns < s->span.from_ns || time_ns >= s->span.to_ns) {
        s->span = cs_generations_span(s->config.generations, pid, time_ns);
        s->span_pid = pid;
    }
    return s->span.number;
}

#define CONTEXT_FIRST ((uint64_t)-4095) /* marks among the addresses: what follows is kernel, user, ... */
#define CONTEXT_KERNEL ((uint64_t)-128)

/* perf's frames, which are returns, as a driver hands them on. */
static void take_chain(struct cs_driver_state *s, const struct record_sample *r, struct cs_driver_entry *out)
{
    bool kernel = out->kernel, called = false;
    for (uint64_t i = 0; i < r->n_chain && out->n_chain < CS_CHAIN_FRAMES; i++) {
        if (r->chain[i] >= CONTEXT_FIRST) {
            kernel = r->chain[i] == CONTEXT_KERNEL;
            called = false; /* what follows a mark was interrupted, or called into the kernel */
            continue;
        }
        s->chain[out->n_chain++] = r->chain[i] - called;
        out->n_kernel += kernel;
        called = true;
    }
    out->chain = s->chain;
    out->chain_end = CS_UNWIND_END_COMPLETE; /* perf doesn't tell */
}

static void emit_chain(struct cs_driver_state *s, const struct perf_event_header *header,
                       const struct record_sample *r, cs_driver_entry_fn emit, void *arg)
{
    struct cs_driver_entry out = {.pc = r->ip,
                                  .count = 1,
                                  .from_ns = r->time,
                                  .to_ns = r->time,
                                  .pid = r->pid,
                                  .tid = r->tid,
                                  .event = (uint8_t)event_of(s, *(const uint64_t *)(header + 1)),
                                  .kernel = in_kernel(header)};
    take_chain(s, r, &out);
    s->counts.delivered++;
    s->counts.entries++;
    emit(arg, &out);
}

/* Reads samples up to `line_ns` and calls for their buckets; with chains, hands them on. How many are coming:
 * COMING when there may be more. */
static unsigned read_samples(struct cs_driver_state *s, struct cs_ring *from, uint64_t line_ns,
                             cs_driver_entry_fn emit, void *arg)
{
    struct cs_ring ring = *from; /* in registers */
    const struct perf_event_header *header;
    unsigned n = 0;
    for (uint64_t before = ring.tail; n < COMING && (header = cs_ring_next(&ring)) != NULL;
         before = ring.tail) {
        const struct record_sample *r = body_of(s, header);
        s->counts.throttled += header->type == PERF_RECORD_THROTTLE;
        if (header->type == PERF_RECORD_LOST)
            s->counts.lost += ((const uint64_t *)(header + 1))[1];
        if (header->type != PERF_RECORD_SAMPLE)
            continue;
        if (r->time > line_ns) {
            ring.tail = before; /* the next drain's */
            break;
        }
        if (s->config.chains) {
            emit_chain(s, header, r, emit, arg);
            continue;
        }
        struct coming *c = &s->coming[n++];
        c->pid = s->config.process_of ? r->tid : r->pid;
        c->key = cs_hot_key(r->ip, in_kernel(header), event_of(s, *(const uint64_t *)(header + 1)),
                            generation_of(s, r->pid, r->time));
        c->bucket = &s->table[cs_hot_hash(c->key, c->pid) & (BUCKETS - 1)];
        __builtin_prefetch(c->bucket, 1);
    }
    from->tail = ring.tail;
    return n;
}

static void count_coming(struct cs_driver_state *s, unsigned n, cs_driver_entry_fn emit, void *arg)
{
    struct cs_hot_entry evicted;
    for (const struct coming *c = s->coming; c < s->coming + n; c++)
        if (cs_hot_add(c->bucket, &s->turn, c->key, c->pid, &evicted))
            emit_entry(s, &evicted, emit, arg);
    s->counts.delivered += n;
}

/* ---- drains ---- */

static void flush_table(struct cs_driver_state *s, cs_driver_entry_fn emit, void *arg)
{
    for (size_t b = 0; b < BUCKETS; b++)
        for (unsigned w = 0; w < CS_HOT_WAYS; w++)
            if (s->table[b].way[w].count) {
                emit_entry(s, &s->table[b].way[w], emit, arg);
                s->table[b].way[w].count = 0;
            }
    s->since_ns = s->line_ns;
}

static uint64_t ring_begin_drain(struct cs_driver_state *s, enum cs_driver_drain how)
{
    uint64_t now = cs_monotonic_ns();
    s->line_ns = how == CS_DRIVER_DRAIN_LAST ? now : now - CS_RING_SETTLE_NS;
    return s->line_ns;
}

static int ring_drain(struct cs_driver_state *s, enum cs_driver_drain how, cs_driver_entry_fn emit, void *arg,
                      struct cs_error *err)
{
    (void)err;
    s->span.to_ns = 0; /* records have come */
    for (unsigned c = 0; c < s->config.cpus->n; c++) {
        struct cs_ring *ring = &s->rings[c];
        unsigned n;
        if (!ring->page)
            continue;
        cs_ring_snapshot(ring);
        do {
            n = read_samples(s, ring, how == CS_DRIVER_DRAIN_LAST ? UINT64_MAX : s->line_ns, emit, arg);
            count_coming(s, n, emit, arg);
        } while (n == COMING);
        cs_ring_release(ring);
    }
    if (how != CS_DRIVER_DRAIN_SOME || s->line_ns - s->since_ns >= s->config.keep_ns)
        flush_table(s, emit, arg);
    return 0;
}

/* ---- setting up ---- */

static void ring_prepare(const struct cs_driver_state *s, struct perf_event_attr *attr)
{
    attr->sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
                        (s->config.n_events > 1 ? PERF_SAMPLE_IDENTIFIER : 0) |
                        (s->config.chains ? PERF_SAMPLE_CALLCHAIN : 0);
    attr->use_clockid = 1;
    attr->clockid = CLOCK_MONOTONIC;
    attr->watermark = 1;
    attr->wakeup_watermark = RING_PAGES * 4096 / 2;
    attr->sample_max_stack = 0;
}

static int ring_attach(struct cs_driver_state *s, int fd, unsigned event, unsigned cpu_index,
                       struct cs_error *err)
{
    uint64_t id;
    unsigned room = s->room_ids; /* of both */
    if (cs_array_room(s->ids, s->n_ids, room) < 0 || cs_array_room(s->id_events, s->n_ids, s->room_ids) < 0)
        return cs_fail(err, ENOMEM, "out of memory for the events");
    if (ioctl(fd, PERF_EVENT_IOC_ID, &id) != 0)
        return cs_fail(err, errno, "the kernel gives an event no number: %s", strerror(errno));
    int filtered = s->config.filter ? cs_process_filter_attach(s->config.filter, fd) : 0;
    if (filtered < 0)
        return cs_fail(err, -filtered, "samples of others can't be kept out: %s", strerror(-filtered));
    s->ids[s->n_ids] = id;
    s->id_events[s->n_ids++] = event;
    if (s->rings[cpu_index].page) {
        if (ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, s->ring_fds[cpu_index]) != 0)
            return cs_fail(err, errno, "events can't share a ring: %s", strerror(errno));
        return 0;
    }
    int rc = cs_ring_open(&s->rings[cpu_index], fd, RING_PAGES);
    if (rc < 0)
        return cs_fail(err, -rc, "no ring of %d KB for samples: %s%s", RING_PAGES * 4, strerror(-rc),
                       rc == -EPERM ? " (raise /proc/sys/kernel/perf_event_mlock_kb)" : "");
    s->ring_fds[cpu_index] = fd;
    return 0;
}

static void ring_detach(struct cs_driver_state *s, unsigned cpu_index)
{
    if (s->rings[cpu_index].page)
        cs_ring_close(&s->rings[cpu_index]);
    s->ring_fds[cpu_index] = -1;
}

static void ring_close(struct cs_driver_state *s)
{
    if (!s)
        return;
    for (unsigned c = 0; s->rings && c < s->config.cpus->n; c++)
        cs_ring_close(&s->rings[c]);
    free(s->rings);
    free(s->ring_fds);
    if (s->mapped)
        munmap(s->mapped, 2 * HUGE);
    free(s->ids);
    free(s->id_events);
    free(s);
}

/* Buckets are met in any order: of small pages each would need a translation of its own, which is what adding
 * a sample costs most by. */
static void map_table(struct cs_driver_state *s)
{
    void *at = mmap(NULL, 2 * HUGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
        return;
    s->mapped = at;
    s->table = (void *)(((uintptr_t)at + HUGE - 1) & ~(HUGE - 1));
    (void)madvise(s->table, HUGE, MADV_HUGEPAGE);
}

static int ring_open(const struct cs_driver_config *config, struct cs_driver_state **out,
                     struct cs_error *err)
{
    struct cs_driver_state *s = calloc(1, sizeof *s);
    if (s) {
        s->config = *config;
        s->rings = calloc(config->cpus->n, sizeof *s->rings);
        s->ring_fds = calloc(config->cpus->n, sizeof *s->ring_fds);
        map_table(s);
        for (unsigned c = 0; s->ring_fds && c < config->cpus->n; c++)
            s->ring_fds[c] = -1;
    }
    if (!s || !s->rings || !s->ring_fds || !s->table) {
        ring_close(s);
        return cs_fail(err, ENOMEM, "out of memory for the sample table");
    }
    s->since_ns = cs_monotonic_ns();
    *out = s;
    return 0;
}

static uint64_t ring_oldest(const struct cs_driver_state *s)
{
    return s->since_ns;
}

static void ring_counts(const struct cs_driver_state *s, struct cs_driver_counts *out)
{
    *out = s->counts;
}

static double ring_mean_period(const struct cs_driver_state *s, unsigned event)
{
    (void)s;
    (void)event;
    return 0;
}

static int ring_fd(const struct cs_driver_state *s, unsigned i)
{
    return i < s->config.cpus->n ? s->ring_fds[i] : -1;
}

static struct cs_chain_kernel *ring_chains(struct cs_driver_state *s)
{
    (void)s;
    return NULL;
}

const struct cs_driver cs_driver_ring = {
    "ring",      ring_open,   ring_prepare, ring_attach,      ring_detach, ring_begin_drain,
    ring_drain,  ring_oldest, ring_counts,  ring_mean_period, NULL,        ring_fd,
    ring_chains, ring_close,  false,
};
