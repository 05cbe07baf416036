/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A row that the kernel writes meanwhile may be read half old. Its totals never fall, so what is missed now comes with
 * the next call. A thread that has ended is written no more. */
#include "sampler/waits/thread_rows.h"

#include "store/base/text.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { ON_CPU = CS_WAIT_REASONS, STOLEN, WHATS };

struct told {
    uint64_t ns[WHATS];
    uint32_t times[WHATS];
};

struct cs_wait_rows {
    struct cs_wait_kernel *kernel;
    struct told *told; /* CS_WAIT_THREADS */
};

static void give_row(struct cs_wait_kernel *kernel, uint32_t number)
{
    struct cs_wait_free *f = kernel->free;
    if (kernel->give)
        kernel->give(kernel->arg, number);
    else
        f->number[f->given & (CS_WAIT_THREADS - 1)] = number;
    __atomic_store_n(&f->given, f->given + 1, __ATOMIC_RELEASE);
}

struct cs_wait_rows *cs_wait_rows_open(struct cs_wait_kernel *kernel)
{
    assert(kernel);
    struct cs_wait_rows *r = calloc(1, sizeof *r);
    if (!r || !(r->told = calloc(CS_WAIT_THREADS, sizeof *r->told))) {
        free(r);
        return NULL;
    }
    r->kernel = kernel;
    for (uint32_t i = 0; i < CS_WAIT_THREADS; i++)
        give_row(kernel, i);
    return r;
}

void cs_wait_rows_close(struct cs_wait_rows *r)
{
    if (r)
        free(r->told);
    free(r);
}

/* Its totals with what is under way. */
static void totals_at(const struct cs_wait_thread *row, uint64_t now_ns, struct told *out)
{
    uint64_t on = row->on_ns, exec = row->exec_ns, since = row->since_ns;
    memset(out, 0, sizeof *out);
    for (unsigned i = 0; i < CS_WAIT_REASONS; i++) {
        out->ns[i] = row->ns[i];
        out->times[i] = row->times[i];
    }
    out->ns[STOLEN] = on > exec ? on - exec : 0;
    out->ns[ON_CPU] = on - out->ns[STOLEN];
    if (row->end_ns || !since || now_ns <= since)
        return;
    if (!row->out) {
        out->ns[ON_CPU] += now_ns - since;
        return;
    }
    uint64_t woken = __atomic_load_n(&row->wake_ns, __ATOMIC_RELAXED);
    uint64_t until = woken > since && woken < now_ns ? woken : now_ns;
    out->ns[row->reason & 15] += until - since;
    out->ns[CS_WAIT_RUN_QUEUE] += now_ns - until;
}

static void free_row(struct cs_wait_rows *r, uint32_t number)
{
    r->kernel->rows[number].tid = 0;
    memset(&r->told[number], 0, sizeof *r->told);
    give_row(r->kernel, number);
}

bool cs_wait_rows_are_short(const struct cs_wait_rows *r)
{
    const struct cs_wait_free *f = r->kernel->free;
    return f->given - __atomic_load_n(&f->taken, __ATOMIC_RELAXED) < CS_WAIT_THREADS / 2;
}

static const char *name_of(unsigned what)
{
    return what == ON_CPU ? "on-cpu" : what == STOLEN ? "stolen" : cs_wait_reason_name(what);
}

static struct cs_wait_life life_of(const struct cs_wait_thread *row, const char *name, uint64_t now_ns)
{
    struct cs_wait_life life = {.pid = row->pid,
                                .tid = row->tid,
                                .thread = name,
                                .start_ns = row->start_ns,
                                .end_ns = row->end_ns ? row->end_ns : now_ns,
                                .on_ns = row->on_ns,
                                .reason = cs_wait_reason_name(row->reason & 15)};
    if (row->end_ns || now_ns <= row->since_ns)
        return life;
    if (row->out) {
        uint64_t woken = __atomic_load_n(&row->wake_ns, __ATOMIC_RELAXED);
        life.out_ns = row->since_ns;
        life.wake_ns = woken > row->since_ns && woken < now_ns ? woken : 0;
    } else {
        life.on_ns += now_ns - row->since_ns;
    }
    return life;
}

void cs_wait_rows_each(struct cs_wait_rows *r, uint64_t now_ns, bool last,
                       void (*each)(void *arg, const struct cs_wait_added *added),
                       void (*lived)(void *arg, const struct cs_wait_life *life), void *arg)
{
    for (uint32_t i = 0; i < CS_WAIT_THREADS; i++) {
        const struct cs_wait_thread *row = &r->kernel->rows[i];
        if (!row->tid || !row->since_ns)
            continue;
        bool ended = __atomic_load_n(&row->end_ns, __ATOMIC_ACQUIRE) != 0;
        struct told now, *told = &r->told[i];
        char name[17];
        cs_text_clean(name, sizeof name, row->comm, sizeof row->comm);
        totals_at(row, now_ns, &now);
        for (unsigned w = 0; w < WHATS; w++) {
            struct cs_wait_added added = {row->pid, row->tid, name, name_of(w), 0, 0};
            if (now.ns[w] > told->ns[w])
                added.ns = now.ns[w] - told->ns[w];
            added.times = (uint32_t)(now.times[w] - told->times[w]);
            if (!added.ns && !added.times)
                continue;
            each(arg, &added);
            told->ns[w] += added.ns;
            told->times[w] = now.times[w];
        }
        if (lived && (ended || last)) {
            struct cs_wait_life life = life_of(row, name, now_ns);
            lived(arg, &life);
        }
        if (ended)
            free_row(r, i);
    }
}
