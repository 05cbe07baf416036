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

static void part(struct walk *w, const char *thread, int reason, uint64_t context, uint64_t ns)
{
    if (ns)
        w->each(w->arg, &(struct cs_blame_part){thread, reason, context, ns});
}

static const struct cs_blame_wait *last_wait(const struct thread *t, uint32_t back)
{
    return &t->waits[(t->n - back) & (WAITS - 1)];
}

static const char *name_of(const struct cs_blame *b, uint32_t tid)
{
    const struct thread *t = &b->threads[tid & (THREADS - 1)];
    return t->tid == tid && t->n ? last_wait(t, 1)->thread : "";
}

static uint64_t queued_since(const struct cs_blame_wait *wait)
{
    return wait->reason == CS_WAIT_RUN_QUEUE || wait->wake_ns < wait->out_ns ? wait->out_ns : wait->wake_ns;
}

/* `ns` of a thread's wait for a CPU: the one that had it is to blame for its share, the rest is a wait of `name`. */
static void queue(struct walk *w, const char *name, const struct cs_blame_wait *wait, uint64_t ns)
{
    uint64_t whole = wait->in_ns - queued_since(wait), had = 0;
    if (whole && wait->turn_ns)
        had = wait->turn_ns < whole ? (uint64_t)((double)ns * (double)wait->turn_ns / (double)whole) : ns;
    part(w, wait->turn, -1, 0, had);
    part(w, name, CS_WAIT_RUN_QUEUE, wait->context, ns - had);
}

/* A short wait of the thread, the nearest before its wait `back`, else the nearest after it; NULL: none was kept. */
static const struct cs_blame_wait *short_wait(const struct thread *t, uint32_t back)
{
    uint32_t n = t->n < WAITS ? t->n : WAITS;
    for (uint32_t i = back ? back : 1; i <= n; i++)
        if (last_wait(t, i)->is_short)
            return last_wait(t, i);
    for (uint32_t i = back; i >= 1 && i <= n; i--)
        if (last_wait(t, i)->is_short)
            return last_wait(t, i);
    return NULL;
}

struct doing {                   /* of a thread whose waits are walked */
    const struct thread *thread; /* NULL: none of them is known */
    const char *name;
    uint64_t ended;            /* where it ended the wait above */
    bool forgotten;            /* it waited more often than is remembered */
    struct cs_blame_ran until; /* the earliest moment that was met */
};

/* [from, to), in which no wait was kept: it lies behind wait `back` of the thread (0: none is older) and before `until`. */
static void between(struct walk *w, const struct doing *d, uint32_t back, uint64_t from, uint64_t to)
{
    const struct cs_blame_wait *before = back ? last_wait(d->thread, back) : NULL;
    uint64_t since = before ? before->in_ns : d->until.began_ns, ran_before = before ? before->ran.ran_ns : 0,
             ns = to - from, ran = ns;
    if (d->until.at_ns > since && d->until.ran_ns >= ran_before && (!before || before->ran.at_ns)) {
        double share = (double)(d->until.ran_ns - ran_before) / (double)(d->until.at_ns - since);
        ran = share < 1 ? (uint64_t)(share * (double)ns) : ns;
    }
    part(w, d->name, -1, d->ended, ran);
    if (ran == ns)
        return;
    const struct cs_blame_wait *like = d->thread && !d->forgotten ? short_wait(d->thread, back) : NULL;
    part(w, d->name, like ? like->reason : -3, like ? like->context : 0, ns - ran);
}

/* What thread `tid` did in [from, to). */
static void walk_back(struct walk *w, uint32_t tid, struct doing d, uint64_t from, uint64_t to,
                      unsigned depth)
{
    const struct thread *t = &w->blame->threads[tid & (THREADS - 1)];
    uint32_t n = t->tid != tid ? 0 : t->n < WAITS ? t->n : WAITS, back = 1;
    uint64_t until = to;
    d.thread = n ? t : NULL;
    for (; back <= n && until > from; back++) {
        const struct cs_blame_wait *wait = last_wait(t, back);
        if (wait->in_ns <= from || ++w->steps > STEPS)
            break;
        if (wait->out_ns >= until)
            continue;
        uint64_t end = wait->in_ns < until ? wait->in_ns : until,
                 begin = wait->out_ns > from ? wait->out_ns : from,
                 woken = wait->wake_ns && wait->wake_ns < end ? wait->wake_ns : end;
        woken = woken < begin ? begin : woken;
        between(w, &d, back, end, until);
        if (wait->reason != CS_WAIT_RUN_QUEUE)
            queue(w, d.name, wait, end - woken);
        else
            woken = end;
        if (wait->waker_tid && wait->waker_context && wait->waker_tid != tid && depth < DEPTH)
            walk_back(w, wait->waker_tid,
                      (struct doing){.name = *wait->waker_name ? wait->waker_name
                                                               : name_of(w->blame, wait->waker_tid),
                                     .ended = wait->waker_context,
                                     .until = wait->waker},
                      begin, woken, depth + 1);
        else if (wait->reason == CS_WAIT_RUN_QUEUE)
            queue(w, d.name, wait, woken - begin);
        else
            part(w, d.name, wait->reason, wait->context, woken - begin);
        until = begin;
        d.until = wait->ran;
    }
    bool is_older = back <= n && last_wait(t, back)->in_ns <= from;
    d.forgotten = !is_older && (back <= n || n == WAITS); /* or there were too many steps */
    if (until > from)
        between(w, &d, is_older ? back : 0, from, until);
}

void cs_blame_each(struct cs_blame *b, const struct cs_blame_wait *wait, const char *name,
                   void (*each)(void *arg, const struct cs_blame_part *part), void *arg)
{
    struct walk w = {b, each, arg, 0};
    uint64_t end = wait->wake_ns ? wait->wake_ns : wait->in_ns;
    if (end <= wait->out_ns)
        return;
    if (wait->waker_tid && !wait->waker_context)
        part(&w, name, -2, 0, end - wait->out_ns);
    else if (wait->waker_tid)
        walk_back(&w, wait->waker_tid,
                  (struct doing){.name = name, .ended = wait->waker_context, .until = wait->waker},
                  wait->out_ns, end, 0);
}

void cs_blame_queue(struct cs_blame *b, const struct cs_blame_wait *wait,
                    void (*each)(void *arg, const struct cs_blame_part *part), void *arg)
{
    uint64_t ns = wait->in_ns - queued_since(wait), had = wait->turn_ns < ns ? wait->turn_ns : ns;
    struct walk w = {b, each, arg, 0};
    part(&w, wait->turn, -1, 0, had);
    if (had)
        part(&w, "[others]", -1, 0, ns - had);
}
