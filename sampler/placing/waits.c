/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sampler/placing/waits.h"

#include "sampler/placing/hook_frames.h"
#include "sampler/placing/wait_standing.h"
#include "sampler/placing/wait_tables.h"
#include "sampler/placing/wait_times.h"
#include "sampler/waits/blame.h"
#include "sampler/waits/objects.h"
#include "sampler/waits/record_rate.h"
#include "sampler/waits/thread_rows.h"
#include "store/base/array.h"
#include "store/base/clock.h"
#include "store/base/text.h"
#include "store/table/wait_schemas.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#define RECORDS_A_SECOND 4000.0
#define BUFFER_BYTES (16U << 20)    /* of records taken and not yet placed */
#define ABSENT_NS_MAX 5000000000ULL /* that records wait for a table that is being made */
#define TIMES_WAITS 20000           /* waits and threads whose times are kept */
#define TIMES_THREADS 20000
#define WOKEN 4096 /* wake-ups remembered until their wait comes, power of two */

enum { WAITS, WAKERS, EVENTS };
_Static_assert(CS_WAIT_HEAD % 8 == 0, "records lie one behind the other");

struct woken { /* what is known of a wake-up */
    uint32_t tid;
    uint64_t wake_ns, context;
    struct cs_blame_ran ran; /* the waker */
    char waker[17];
};

struct cs_session_waits {
    struct cs_wait_kernel *kernel;
    struct cs_session_places *places;
    struct cs_session_profiles *profiles;
    struct cs_session_contexts *contexts;
    struct cs_stack_copies *copies;
    struct cs_wait_rows *rows;
    struct cs_wait_objects *objects;
    struct cs_blame *blame;
    struct cs_session_wait_times *times; /* NULL: threads are told by name, so none has a time line */
    struct cs_session_wait_tables *tables;
    struct cs_hook_frames *hook;
    uint8_t *buffer;
    size_t used, capacity;
    struct woken woken[WOKEN];
    uint64_t tick_ns;                       /* the kernel's jiffy */
    uint64_t began_ns, placed_ns, ended_ns; /* the last 0: it goes on */
    bool times_told;                        /* of the threads that lived to the end */
    struct cs_session_waits_counts counts;
    uint64_t dropped;
    uint64_t chain[CS_WAIT_FRAMES]; /* of the record at hand, innermost first */
    unsigned n_chain, n_kernel;
    struct cs_wait_rate rate;
    uint32_t records; /* since placed_ns */
    double cpu_s;     /* the same */
};

struct cs_session_waits *cs_session_waits_open(struct cs_wait_kernel *kernel,
                                               struct cs_session_places *places,
                                               struct cs_session_profiles *profiles,
                                               struct cs_stack_copies *copies, bool by_name, double cpu_max)
{
    static const struct cs_event events[EVENTS] = {{.name = CS_WAITS_EVENT, .unit = "ns"},
                                                   {.name = CS_WAKERS_EVENT, .unit = "ns"}};
    struct cs_session_waits *w = calloc(1, sizeof *w);
    if (!w)
        return NULL;
    w->kernel = kernel;
    w->places = places;
    w->profiles = profiles;
    w->copies = copies;
    w->contexts = cs_session_contexts_open(events, EVENTS);
    w->tables = cs_session_wait_tables_open(by_name);
    w->rows = cs_wait_rows_open(kernel);
    w->objects = cs_wait_objects_open("/proc");
    w->blame = cs_blame_open();
    w->hook = cs_hook_frames_open();
    w->times = by_name ? NULL : cs_session_wait_times_open(TIMES_WAITS, TIMES_THREADS);
    if (!w->contexts || !w->tables || !w->rows || !w->objects || !w->blame || !w->hook ||
        (!w->times && !by_name)) {
        cs_session_waits_close(w);
        return NULL;
    }
    cs_session_contexts_of_others(w->contexts);
    struct timespec tick = {0};
    w->tick_ns = clock_getres(CLOCK_MONOTONIC_COARSE, &tick) == 0 ? (uint64_t)tick.tv_nsec : 10000000;
    w->rate = (struct cs_wait_rate){RECORDS_A_SECOND, cpu_max};
    *kernel->interval_ns = cs_wait_first_interval(&w->rate);
    return w;
}

void cs_session_waits_close(struct cs_session_waits *w)
{
    if (!w)
        return;
    cs_session_wait_tables_close(w->tables);
    cs_session_contexts_close(w->contexts);
    cs_wait_rows_close(w->rows);
    cs_wait_objects_close(w->objects);
    cs_blame_close(w->blame);
    cs_hook_frames_close(w->hook);
    cs_session_wait_times_close(w->times);
    free(w->buffer);
    free(w);
}

void cs_session_waits_limit(struct cs_session_waits *w, double cpu_max)
{
    assert(cpu_max >= 0);
    w->rate.cpu_max = cpu_max;
}

void cs_session_waits_begin(struct cs_session_waits *w)
{
    w->began_ns = w->placed_ns = cs_monotonic_ns();
    __atomic_store_n(w->kernel->began_ns, w->placed_ns, __ATOMIC_RELEASE);
}

/* ---- taking ---- */

#define COPY_HEAD offsetof(struct cs_chain_copy, stack)
_Static_assert(COPY_HEAD % 8 == 0 && sizeof(struct cs_wait_record) % 8 == 0, "copies lie between records");

static size_t bytes_of(const struct cs_wait_record *r)
{
    return CS_WAIT_HEAD + r->n * 8UL;
}

/* Of a record in the buffer; NULL: it has none. */
static const struct cs_chain_copy *copy_of(const struct cs_wait_record *r)
{
    return r->copied ? (const void *)((const uint8_t *)r + bytes_of(r)) : NULL;
}

static size_t bytes_with_copy(const struct cs_wait_record *r)
{
    const struct cs_chain_copy *copy = copy_of(r);
    return bytes_of(r) + (copy ? COPY_HEAD + ((copy->n_stack + 7UL) & ~7UL) : 0);
}

static void take(void *arg, const struct cs_wait_record *record, size_t n)
{
    struct cs_session_waits *w = arg;
    const struct cs_chain_copy *copy = &((const struct cs_wait_copied *)record)->copy;
    const size_t behind = offsetof(struct cs_wait_copied, copy) + COPY_HEAD;
    size_t room = sizeof(struct cs_wait_record) + COPY_HEAD + 8;
    if (n < CS_WAIT_HEAD || record->n >= CS_WAIT_FRAMES || n < bytes_of(record) ||
        (record->copied && (n < behind || n - behind < copy->n_stack)))
        return;
    room += record->copied ? copy->n_stack : 0;
    if (w->used + room > BUFFER_BYTES || cs_array_reserve_in(w->buffer, w->used + room, w->capacity) < 0) {
        w->dropped++;
        return;
    }
    struct cs_wait_record *kept = (void *)(w->buffer + w->used);
    memcpy(kept, record, bytes_of(record));
    if (record->copied)
        memcpy((uint8_t *)kept + bytes_of(record), copy, COPY_HEAD + copy->n_stack);
    w->used += bytes_with_copy(kept);
}

void cs_session_waits_take(struct cs_session_waits *w)
{
    const double before = cs_thread_cpu_seconds();
    w->kernel->records(w->kernel->arg, take, w);
    w->cpu_s += cs_thread_cpu_seconds() - before;
}

/* ---- the end ---- */

static struct cs_session_wait_time time_of(uint32_t label, const struct cs_wait_standing *t, uint64_t now_ns,
                                           const char *name)
{
    struct cs_session_wait_time time = {.label = label,
                                        .pid = t->pid,
                                        .tid = t->tid,
                                        .what = CS_WAIT_TIMES_THREAD,
                                        .begin_ns = t->since_ns,
                                        .end_ns = now_ns};
    memcpy(time.thread, name, strnlen(name, sizeof time.thread - 1));
    return time;
}

/* A thread that no switch told of: all its time is what it is at now. */
static void add_untold(struct cs_session_waits *w, const struct cs_wait_standing *t)
{
    char name[17];
    cs_text_clean(name, sizeof name, t->comm, 16);
    const bool ran = t->reason == CS_WAIT_RUN_QUEUE;
    const uint32_t label = cs_maps_label_of(w->places->maps, (pid_t)t->pid, w->ended_ns);
    const struct cs_wait_added added = {
        t->pid, t->tid, name, ran ? "on-cpu" : cs_wait_reason_name(t->reason), w->ended_ns - t->since_ns,
        !ran};
    struct cs_session_wait_label *of = cs_session_wait_tables_of(w->tables, label);
    if (of)
        cs_session_wait_tables_thread(of, &added);
    if (!w->times)
        return;
    struct cs_session_wait_time time = time_of(label, t, w->ended_ns, name);
    time.on_ns = ran ? w->ended_ns - t->since_ns : 0;
    cs_session_wait_times_thread(w->times, &time);
    if (!ran) {
        time.what = cs_wait_reason_name(t->reason);
        cs_session_wait_times_wait(w->times, &time);
    }
}

static void stand(void *arg, const struct cs_wait_standing *standing)
{
    struct cs_session_waits *w = arg;
    if (standing->is_new)
        add_untold(w, standing);
    if (standing->record)
        take(w, &standing->record->record, sizeof *standing->record);
}

void cs_session_waits_end(struct cs_session_waits *w)
{
    w->ended_ns = cs_monotonic_ns();
    cs_session_waits_take(w);
    cs_wait_standing_each(w->kernel, w->began_ns, w->ended_ns, stand, w);
    __atomic_store_n(w->kernel->began_ns, 0, __ATOMIC_RELEASE);
}

/* ---- placing ---- */

static struct cs_driver_entry entry_of(const struct cs_wait_record *r)
{
    return (struct cs_driver_entry){
        .from_ns = r->in_ns, .to_ns = r->in_ns, .pid = r->pid, .tid = r->tid, .latest = true};
}

/* The record's chain to hand. False: it needs a table that is being made, and is what it is without. */
static bool take_chain(struct cs_session_waits *w, const struct cs_wait_record *r)
{
    const struct cs_driver_entry of = entry_of(r);
    const uint64_t *frames;
    unsigned n;
    w->n_chain = r->n;
    w->n_kernel = r->n_kernel < r->n ? r->n_kernel : r->n;
    for (unsigned i = 0; i < r->n; i++)
        w->chain[i] = r->frames[r->joined ? r->n - 1 - i : i];
    for (unsigned i = 0; i < w->n_kernel; i++) /* of returns: within the calls */
        w->chain[i]--;
    unsigned hook = cs_hook_frames_count(w->hook, w->chain, w->n_kernel);
    memmove(w->chain, w->chain + hook, (w->n_chain - hook) * sizeof *w->chain);
    w->n_chain -= hook;
    w->n_kernel -= hook;
    if (!r->copied || w->n_kernel > CS_CHAIN_KERNEL_FRAMES)
        return true;
    if (!cs_stack_copies_frames(w->copies, &of, copy_of(r), &frames, &n))
        return false;
    memcpy(w->chain + w->n_kernel, frames, n * sizeof *frames);
    w->n_chain = w->n_kernel + n;
    return true;
}

/* The chain into a tree; *key is its context's. False: no memory. */
static bool add_chain(struct cs_session_waits *w, const struct cs_wait_record *r, unsigned event, uint64_t ns,
                      uint64_t *key, uint32_t *label)
{
    struct cs_driver_entry entry = entry_of(r);
    entry.pc = w->n_chain ? w->chain[0] : 0;
    entry.count = ns;
    entry.event = (uint8_t)event;
    entry.kernel = w->n_kernel > 0;
    entry.chain = w->chain;
    entry.n_chain = w->n_chain;
    entry.n_kernel = w->n_kernel;
    struct cs_maps_location found;
    (void)cs_session_resolve(w->places, &entry, &found);
    *label = found.label;
    (void)cs_session_profiles_touch(w->profiles, found.image, 0, found.label);
    return cs_session_contexts_add(w->contexts, w->places, w->profiles, &entry, &found) == 0 &&
           (*key = cs_session_contexts_last(w->contexts)) != 0;
}

static struct cs_blame_ran ran_until(const struct cs_wait_record *r, uint64_t at_ns)
{
    return r->start_ns ? (struct cs_blame_ran){r->start_ns, at_ns, r->on_ns} : (struct cs_blame_ran){0};
}

static void place_woken(struct cs_session_waits *w, const struct cs_wait_record *r)
{
    struct woken *at = &w->woken[r->tid & (WOKEN - 1)];
    uint32_t label;
    *at = (struct woken){.tid = r->tid, .wake_ns = r->wake_ns, .ran = ran_until(r, r->wake_ns)};
    cs_text_clean(at->waker, sizeof at->waker, r->comm, sizeof r->comm);
    if (r->n &&
        !add_chain(w, r, WAKERS, r->wake_ns > r->out_ns ? r->wake_ns - r->out_ns : 1, &at->context, &label))
        at->context = 0;
}

static void note_times(struct cs_session_waits *w, const struct cs_wait_record *r, uint32_t label,
                       const struct cs_session_wait_row *row, bool queued)
{
    struct cs_session_wait_time time = {.label = label,
                                        .pid = r->pid,
                                        .tid = r->tid,
                                        .what = row->reason,
                                        .context = row->context,
                                        .begin_ns = r->out_ns,
                                        .wake_ns = queued ? r->wake_ns : 0,
                                        .end_ns = r->in_ns,
                                        .on_ns = r->on_ns};
    memcpy(time.thread, row->thread, strnlen(row->thread, sizeof time.thread - 1));
    cs_session_wait_times_wait(w->times, &time);
}

/* The process at the other end: it is on this machine. */
static void add_peer(const struct cs_wait_record *r, char object[CS_WAIT_OBJECT_MAX], const char *name)
{
    size_t at = strlen(object);
    if (r->class != CS_WAIT_EVENTS && (r->class < CS_WAIT_PAIR || !at))
        return;
    if (r->class == CS_WAIT_EVENTS)
        at = 0;
    snprintf(object + at, CS_WAIT_OBJECT_MAX - at, "%s%s (%" PRIu32 ")", at ? ", " : CS_WAITS_EVENT_FROM,
             name, (uint32_t)r->waker_pid);
}

static void place_ended(struct cs_session_waits *w, const struct cs_wait_record *r)
{
    if (r->in_ns <= r->out_ns || !r->interval_ns)
        return;
    uint64_t away = r->in_ns - r->out_ns, context = 0;
    bool queued = r->reason == CS_WAIT_RUN_QUEUE || r->reason == CS_WAIT_THROTTLED;
    uint64_t waited =
        queued || r->wake_ns <= r->out_ns || r->wake_ns > r->in_ns ? away : r->wake_ns - r->out_ns;
    double factor = away < r->interval_ns ? (double)r->interval_ns / (double)away : 1;
    unsigned reason = cs_wait_reason_of_record(r, w->tick_ns);
    const struct woken *woken = &w->woken[r->tid & (WOKEN - 1)];
    const bool by_thread =
        r->waker_kind == CS_WAKER_THREAD && woken->tid == r->tid && woken->wake_ns == r->wake_ns;
    char object[CS_WAIT_OBJECT_MAX] = "", thread[17];
    uint32_t label;
    cs_text_clean(thread, sizeof thread, r->comm, sizeof r->comm);
    if (!queued)
        cs_wait_object(w->objects, r, object);
    if (by_thread && r->waker_pid != r->pid)
        add_peer(r, object, woken->waker);
    w->counts.kept++;
    w->counts.seconds += factor * (double)away * 1e-9;
    w->records++;
    struct cs_session_wait_label *t =
        add_chain(w, r, WAITS, cs_session_wait_tables_rounded(w->tables, factor * (double)away), &context,
                  &label)
            ? cs_session_wait_tables_of(w->tables, label)
            : NULL;
    if (!t)
        return;
    struct cs_session_wait_row row = {.context = context,
                                      .waker_context = by_thread ? woken->context : 0,
                                      .ns = waited,
                                      .reason = cs_wait_reason_name(reason),
                                      .call = cs_wait_call_name(r->call),
                                      .object = object,
                                      .thread = thread,
                                      .waker = by_thread                             ? woken->waker
                                               : r->waker_kind == CS_WAKER_INTERRUPT ? CS_WAITS_INTERRUPT
                                               : r->waker_kind == CS_WAKER_NO_END    ? CS_WAITS_NO_END
                                                                                     : "",
                                      .factor = factor};
    if (waited)
        cs_session_wait_tables_wait(t, &row);
    if (away > waited) {
        struct cs_session_wait_row queue = {.context = context,
                                            .ns = away - waited,
                                            .reason = cs_wait_reason_name(CS_WAIT_RUN_QUEUE),
                                            .call = "",
                                            .object = "",
                                            .thread = thread,
                                            .waker = "",
                                            .factor = factor};
        cs_session_wait_tables_wait(t, &queue);
    }
    struct cs_blame_wait wait = {.tid = r->tid,
                                 .waker_tid = by_thread ? r->waker_tid : 0,
                                 .out_ns = r->out_ns,
                                 .wake_ns = r->wake_ns,
                                 .in_ns = r->in_ns,
                                 .reason = (uint8_t)reason,
                                 .is_short = factor > 1,
                                 .ran = ran_until(r, r->out_ns),
                                 .context = context,
                                 .waker_context = row.waker_context};
    if (by_thread) {
        wait.waker = woken->ran;
        snprintf(wait.waker_name, sizeof wait.waker_name, "%s", woken->waker);
    }
    memcpy(wait.thread, thread, sizeof wait.thread - 1);
    if (r->turn_ns) {
        char turn[17];
        cs_text_clean(turn, sizeof turn, (const char *)r->turn_comm, sizeof r->turn_comm);
        memcpy(wait.turn, turn, sizeof wait.turn - 1);
        wait.turn_ns = r->turn_ns;
    }
    struct cs_session_wait_blaming blaming = {t, context, row.reason, object, factor},
                                   queueing = {t, context, cs_wait_reason_name(CS_WAIT_RUN_QUEUE), "",
                                               factor};
    cs_blame_each(w->blame, &wait, row.waker, cs_session_wait_tables_blame, &blaming);
    if (reason == CS_WAIT_RUN_QUEUE || away > waited)
        cs_blame_queue(w->blame, &wait, cs_session_wait_tables_blame, &queueing);
    cs_blame_note(w->blame, &wait);
    if (w->times && r->waker_kind != CS_WAKER_NO_END) /* else its row tells of it */
        note_times(w, r, label, &row, away > waited);
}

static void adapt(struct cs_session_waits *w)
{
    const uint64_t now = cs_monotonic_ns(), span = now - w->placed_ns;
    if (span < 100000000)
        return;
    const uint32_t interval =
        cs_wait_interval(&w->rate, *w->kernel->interval_ns, (double)span * 1e-9, w->records, w->cpu_s);
    __atomic_store_n(w->kernel->interval_ns, interval, __ATOMIC_RELAXED);
    w->records = 0;
    w->cpu_s = 0;
    w->placed_ns = now;
}

struct adding {
    struct cs_session_waits *w;
    uint64_t now_ns;
};

static void add_thread(void *arg, const struct cs_wait_added *added)
{
    struct adding *a = arg;
    struct cs_session_wait_label *t = cs_session_wait_tables_of(
        a->w->tables, cs_maps_label_of(a->w->places->maps, (pid_t)added->pid, a->now_ns));
    if (t)
        cs_session_wait_tables_thread(t, added);
}

/* A thread, and what it waits for at the end of all. */
static void add_life(void *arg, const struct cs_wait_life *life)
{
    struct adding *a = arg;
    struct cs_session_wait_time time = {.label =
                                            cs_maps_label_of(a->w->places->maps, (pid_t)life->pid, a->now_ns),
                                        .pid = life->pid,
                                        .tid = life->tid,
                                        .what = CS_WAIT_TIMES_THREAD,
                                        .begin_ns = life->start_ns,
                                        .end_ns = life->end_ns,
                                        .on_ns = life->on_ns};
    memcpy(time.thread, life->thread, strnlen(life->thread, sizeof time.thread - 1));
    cs_session_wait_times_thread(a->w->times, &time);
    if (!life->out_ns)
        return;
    time.what = life->reason;
    time.begin_ns = life->out_ns;
    time.wake_ns = life->wake_ns;
    cs_session_wait_times_wait(a->w->times, &time);
}

/* What threads' totals have gained since the last call; rows of those that have ended come back. */
static void add_threads(struct cs_session_waits *w)
{
    struct adding adding = {w, w->ended_ns ? w->ended_ns : cs_monotonic_ns()};
    cs_wait_rows_each(w->rows, adding.now_ns, w->ended_ns && !w->times_told, add_thread,
                      w->times ? add_life : NULL, &adding);
    w->times_told |= w->ended_ns != 0;
}

static bool may_wait(const struct cs_session_waits *w, const struct cs_wait_record *r, uint64_t now_ns)
{
    return now_ns - r->in_ns < ABSENT_NS_MAX && w->used < BUFFER_BYTES / 2;
}

bool cs_session_waits_place(struct cs_session_waits *w, bool all)
{
    size_t at = 0;
    const uint64_t now = cs_monotonic_ns();
    const double before = cs_thread_cpu_seconds();
    cs_session_contexts_refresh(w->contexts);
    while (at < w->used) {
        const struct cs_wait_record *r = (const void *)(w->buffer + at);
        if (!take_chain(w, r) && !all && may_wait(w, r, now))
            break; /* the others, too: who held a lock then is told by what came before */
        if (r->kind == CS_WAIT_WOKEN)
            place_woken(w, r);
        else
            place_ended(w, r);
        at += bytes_with_copy(r);
    }
    w->used -= at;
    memmove(w->buffer, w->buffer + at, w->used);
    if (cs_wait_rows_are_short(w->rows))
        add_threads(w);
    w->cpu_s += cs_thread_cpu_seconds() - before;
    adapt(w);
    return w->used != 0;
}

uint64_t cs_session_waits_oldest(const struct cs_session_waits *w)
{
    return w->used ? ((const struct cs_wait_record *)(const void *)w->buffer)->in_ns : UINT64_MAX;
}

void cs_session_waits_counts(const struct cs_session_waits *w, struct cs_session_waits_counts *out)
{
    *out = w->counts;
    out->lost = *w->kernel->lost + w->dropped;
    out->no_row = *w->kernel->no_row;
    out->interval_ns = *w->kernel->interval_ns;
}

/* ---- merging ---- */

int cs_session_waits_merge(struct cs_session_waits *w, struct cs_store *store,
                           const struct cs_session_profiles_merging *with, struct cs_error *err)
{
    static const struct cs_session_profiles_times times[EVENTS] = {{0, 0, 1.0}, {0, 0, 1.0}};
    add_threads(w);
    int rc = cs_session_contexts_merge(w->contexts, store, times, with, err);
    if (rc == 0)
        rc = cs_session_wait_tables_merge(w->tables, store, with, err);
    if (rc == 0 && w->times && w->ended_ns) { /* before, nobody knows which waits are the longest */
        rc = cs_session_wait_times_merge(w->times, store, with, err);
        cs_session_wait_times_close(w->times);
        w->times = NULL;
    }
    return rc;
}
