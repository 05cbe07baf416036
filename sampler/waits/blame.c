/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sampler/waits/blame.h"

#include "sampler/waits/wait_records.h"

#include <stdlib.h>
#include <string.h>

#define THREADS 1024 /* by number modulo, power of two */
#define WAITS 32     /* of a thread, power of two */
#define DEPTH 6      /* wakers of wakers */
#define STEPS 256    /* of a walk in all */

struct thread {
    uint32_t tid, n;
    struct cs_blame_wait waits[WAITS]; /* n modulo is the next */
};

struct cs_blame {
    struct thread threads[THREADS];
};

struct cs_blame *cs_blame_open(void)
{
    return calloc(1, sizeof(struct cs_blame));
}

void cs_blame_close(struct cs_blame *blame)
{
    free(blame);
}

void cs_blame_note(struct cs_blame *b, const struct cs_blame_wait *wait)
{
    struct thread *t = &b->threads[wait->tid & (THREADS - 1)];
    if (t->tid != wait->tid) {
        t->tid = wait->tid;
        t->n = 0;
    }
    t->waits[t->n++ & (WAITS - 1)] = *wait;
}

struct walk {
    struct cs_blame *blame;
    void (*each)(void *arg, const struct cs_blame_part *part);
    void *arg;
    unsigned steps;
};

static void part(struct walk *w, const char *thread, int reason, uint64_t context, uint64_t from_ns,
                 uint64_t to_ns)
{
    if (to_ns > from_ns)
        w->each(w->arg, &(struct cs_blame_part){thread, reason, context, to_ns - from_ns});
}

static const char *name_of(const struct cs_blame *b, uint32_t tid)
{
    const struct thread *t = &b->threads[tid & (THREADS - 1)];
    return t->tid == tid && t->n ? t->waits[(t->n - 1) & (WAITS - 1)].thread : "";
}

/* Thread `tid`'s doing in [from, to). `ended` is where it ended the wait above. */
static void walk_back(struct walk *w, uint32_t tid, const char *name, uint64_t ended, uint64_t from,
                      uint64_t to, unsigned depth)
{
    const struct thread *t = &w->blame->threads[tid & (THREADS - 1)];
    uint64_t until = to;
    for (uint32_t back = 1; t->tid == tid && back <= WAITS && back <= t->n && until > from; back++) {
        const struct cs_blame_wait *wait = &t->waits[(t->n - back) & (WAITS - 1)];
        if (wait->in_ns <= from || ++w->steps > STEPS)
            break;
        if (wait->out_ns >= until)
            continue;
        uint64_t end = wait->in_ns < until ? wait->in_ns : until,
                 begin = wait->out_ns > from ? wait->out_ns : from,
                 woken = wait->wake_ns && wait->wake_ns < end ? wait->wake_ns : end;
        woken = woken < begin ? begin : woken;
        part(w, name, -1, ended, end, until);
        if (wait->reason != CS_WAIT_RUN_QUEUE)
            part(w, name, CS_WAIT_RUN_QUEUE, wait->context, woken, end);
        else
            woken = end;
        if (wait->waker_tid && wait->waker_context && wait->waker_tid != tid && depth < DEPTH)
            walk_back(w, wait->waker_tid, name_of(w->blame, wait->waker_tid), wait->waker_context, begin,
                      woken, depth + 1);
        else
            part(w, name, wait->reason, wait->context, begin, woken);
        until = begin;
    }
    part(w, name, -1, ended, from, until);
}

void cs_blame_each(struct cs_blame *b, const struct cs_blame_wait *wait, const char *name,
                   void (*each)(void *arg, const struct cs_blame_part *part), void *arg)
{
    struct walk w = {b, each, arg, 0};
    uint64_t end = wait->wake_ns ? wait->wake_ns : wait->in_ns;
    if (wait->waker_tid && !wait->waker_context)
        part(&w, name, -2, 0, wait->out_ns, end);
    else if (wait->waker_tid)
        walk_back(&w, wait->waker_tid, name, wait->waker_context, wait->out_ns, end, 0);
}
