/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sampler/placing/wait_standing.h"

#include "store/base/array.h"
#include "store/base/foreign.h"
#include "store/base/order.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#define HEAD offsetof(struct cs_chain_copy, stack)
#ifdef __aarch64__
#define SP 31
#elif defined(__riscv)
#define SP 2
#else
#define SP 7
#endif
#define RED_ZONE 128

struct stander {
    struct cs_wait_record record; /* without frames */
    uint8_t registers[HEAD];
    uint32_t owner; /* of the lock that it waits for: a number of a thread; 0: not known */
    bool in_circle;
};

struct standers {
    CS_ARRAY(struct stander *) at;
};

static void note(void *arg, const struct cs_wait_record *record, const struct cs_chain_copy *registers)
{
    struct standers *s = arg;
    struct stander *one = calloc(1, sizeof *one), **more = one ? cs_array_add(&s->at) : NULL;
    if (!more) {
        free(one);
        return;
    }
    memcpy(&one->record, record, CS_WAIT_HEAD);
    memcpy(one->registers, registers, HEAD);
    *more = one;
}

CS_ORDER(by_tid, const struct stander *, cs_order((*a)->record.tid, (*b)->record.tid))

static struct stander *find(const struct standers *s, uint32_t tid)
{
    struct stander key = {.record.tid = tid}, *of = &key, **found = NULL;
    if (s->at.n)
        found = bsearch(&of, s->at.at, s->at.n, sizeof of, by_tid);
    return found ? *found : NULL;
}

/* The C library's mutex is {lock, count, owner}: believed where the lock is taken, by a thread of that process that stands too. */
static void find_owner(const struct standers *s, struct stander *one)
{
    const struct cs_wait_record *r = &one->record;
    uint32_t mutex[3];
    if (r->reason != CS_WAIT_LOCK || r->call != __NR_futex ||
        !cs_foreign_memory((pid_t)r->pid, r->args[0], mutex, sizeof mutex) || !mutex[0])
        return;
    const struct stander *owner = find(s, mutex[2]);
    if (owner && owner->record.pid == r->pid)
        one->owner = mutex[2];
}

static void find_circle(const struct standers *s, struct stander *one)
{
    const struct stander *at = one;
    for (size_t i = 0; i <= s->at.n && at && at->owner; i++) {
        at = find(s, at->owner);
        if (at == one) {
            one->in_circle = true;
            return;
        }
    }
}

struct known { /* threads that have a row, by number: those too that have ended meanwhile */
    const struct cs_wait_thread *at[CS_WAIT_THREADS];
    size_t n;
};

/* Two may have one number: one is gone, which nobody saw. */
CS_ORDER(row_by_thread, const struct cs_wait_thread *, cs_order((*a)->tid, (*b)->tid),
         cs_order((*a)->task, (*b)->task))

static struct known *find_known(const struct cs_wait_kernel *k)
{
    struct known *l = calloc(1, sizeof *l);
    for (uint32_t i = 0; l && i < CS_WAIT_THREADS; i++)
        if (k->rows[i].tid && k->rows[i].since_ns)
            l->at[l->n++] = &k->rows[i];
    if (l)
        cs_sort(l->at, l->n, row_by_thread);
    return l;
}

static const struct cs_wait_thread *row_of(const struct known *l, const struct cs_wait_record *r)
{
    const struct cs_wait_thread key = {.tid = r->tid, .task = r->task}, *of = &key, *const * found;
    found = bsearch(&of, l->at, l->n, sizeof of, row_by_thread);
    return found ? *found : NULL;
}

static uint32_t copy_stack(struct cs_wait_copied *copied)
{
    struct cs_chain_copy *c = &copied->copy;
    c->from = (c->reg[SP] - RED_ZONE) & ~7ULL;
    uint32_t n = 0;
    while (n < CS_CHAIN_COPY_STACK) {
        uint32_t part = 4096 - (uint32_t)((c->from + n) & 4095);
        part = part < CS_CHAIN_COPY_STACK - n ? part : CS_CHAIN_COPY_STACK - n;
        if (!cs_foreign_memory((pid_t)copied->record.pid, c->from + n, c->stack + n, part))
            break;
        n += part;
    }
    c->cut = n == CS_CHAIN_COPY_STACK;
    return n;
}

static void fill(struct cs_wait_copied *copied, const struct standers *s, const struct stander *one,
                 const struct cs_wait_thread *row, uint64_t since_ns, uint64_t now_ns)
{
    struct cs_wait_record *r = &copied->record;
    const struct stander *owner = one->owner ? find(s, one->owner) : NULL;
    memcpy(r, &one->record, CS_WAIT_HEAD);
    memcpy(&copied->copy, one->registers, HEAD);
    r->kind = CS_WAIT_ENDED;
    r->interval_ns = 1;
    r->out_ns = since_ns;
    r->in_ns = now_ns;
    r->wake_ns = 0;
    r->reason = row ? row->reason : r->reason;
    r->waker_kind = CS_WAKER_NO_END;
    r->start_ns = row ? row->start_ns : since_ns;
    r->on_ns = row ? row->on_ns : 0;
    r->circle = one->in_circle ? 1 : 0;
    if (owner) {
        r->waker_tid = one->owner;
        memcpy(r->name, owner->record.comm, sizeof owner->record.comm);
    }
    copied->copy.time_ns = now_ns;
    copied->copy.n_stack = r->copied ? copy_stack(copied) : 0;
    r->copied = copied->copy.n_stack > 0;
}

void cs_wait_standing_each(const struct cs_wait_kernel *k, uint64_t began_ns, uint64_t now_ns,
                           void (*each)(void *arg, const struct cs_wait_standing *standing), void *arg)
{
    assert(began_ns <= now_ns && each);
    struct standers s = {0};
    struct cs_wait_copied *copied = k->standing ? calloc(1, sizeof *copied) : NULL;
    struct known *known = copied ? find_known(k) : NULL;
    if (!known) {
        free(copied);
        return;
    }
    k->standing(k->arg, note, &s);
    cs_sort(s.at.at, s.at.n, by_tid);
    for (size_t i = 0; i < s.at.n; i++)
        find_owner(&s, s.at.at[i]);
    for (size_t i = 0; i < s.at.n; i++)
        find_circle(&s, s.at.at[i]);
    for (size_t i = 0; i < s.at.n; i++) {
        struct stander *one = s.at.at[i];
        const struct cs_wait_thread *row = row_of(known, &one->record);
        uint64_t since = row                               ? row->since_ns
                         : one->record.start_ns > began_ns ? one->record.start_ns
                                                           : began_ns;
        bool waits = one->record.reason != CS_WAIT_RUN_QUEUE && (!row || (row->out && !row->wake_ns));
        struct cs_wait_standing standing = {.is_new = !row,
                                            .pid = one->record.pid,
                                            .tid = one->record.tid,
                                            .since_ns = since,
                                            .reason = one->record.reason,
                                            .comm = one->record.comm};
        if (since >= now_ns || (row && (!waits || row->end_ns)))
            continue;
        if (waits) {
            fill(copied, &s, one, row, since, now_ns);
            standing.record = copied;
        }
        each(arg, &standing);
    }
    for (size_t i = 0; i < s.at.n; i++)
        free(s.at.at[i]);
    cs_array_free(&s.at);
    free(known);
    free(copied);
}
