/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A hash of chains by thread number. */
#include "sampler/images/threads.h"
#include "store/base/kernel_files.h"

#include <assert.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUCKETS 4096
#define THREADS_MOST 100000 /* 5 MB */

struct thread {
    struct thread *next;
    pid_t tid, pid;
    bool ended;
    char name[16]; /* the kernel's TASK_COMM_LEN */
    unsigned n_earlier;
    struct earlier { /* names that it had before, oldest first; NULL: none */
        uint64_t until_ns;
        char name[16];
    } * earlier;
};

#define EARLIER_MOST 8 /* of more the oldest is forgotten: its samples are the next one's */

struct cs_threads {
    const char *proc;
    struct thread *buckets[BUCKETS];
    unsigned n;
};

struct cs_threads *cs_threads_open(const char *proc)
{
    struct cs_threads *threads = calloc(1, sizeof *threads);
    if (threads)
        threads->proc = proc;
    return threads;
}

static void drop(struct cs_threads *threads, bool ended_only)
{
    for (unsigned b = 0; b < BUCKETS; b++)
        for (struct thread **at = &threads->buckets[b], *t; (t = *at) != NULL;) {
            if (ended_only && !t->ended) {
                at = &t->next;
                continue;
            }
            *at = t->next;
            free(t->earlier);
            free(t);
            threads->n--;
        }
}

void cs_threads_close(struct cs_threads *threads)
{
    if (threads)
        drop(threads, false);
    free(threads);
}

static struct thread *find(struct cs_threads *threads, pid_t tid)
{
    struct thread *t = threads->buckets[(unsigned)tid % BUCKETS];
    while (t && t->tid != tid)
        t = t->next;
    return t;
}

static struct thread *find_or_add(struct cs_threads *threads, pid_t tid)
{
    struct thread *t = find(threads, tid);
    if (t)
        return t;
    if (threads->n >= THREADS_MOST)
        drop(threads, true);
    t = threads->n < THREADS_MOST ? calloc(1, sizeof *t) : NULL;
    if (!t)
        return NULL;
    t->tid = tid;
    t->next = threads->buckets[(unsigned)tid % BUCKETS];
    threads->buckets[(unsigned)tid % BUCKETS] = t;
    threads->n++;
    return t;
}

void cs_threads_born(struct cs_threads *threads, pid_t tid, pid_t pid, pid_t parent_tid)
{
    const struct thread *parent = find(threads, parent_tid);
    struct thread *t = find_or_add(threads, tid);
    if (!t)
        return;
    t->pid = pid;
    t->ended = false;
    snprintf(t->name, sizeof t->name, "%s", parent ? parent->name : "");
}

static void keep_name(struct thread *t, uint64_t until_ns)
{
    if (!t->earlier && !(t->earlier = calloc(EARLIER_MOST, sizeof *t->earlier)))
        return;
    if (t->n_earlier == EARLIER_MOST)
        memmove(&t->earlier[0], &t->earlier[1], --t->n_earlier * sizeof *t->earlier);
    struct earlier *e = &t->earlier[t->n_earlier++];
    e->until_ns = until_ns;
    memcpy(e->name, t->name, sizeof e->name);
}

void cs_threads_named(struct cs_threads *threads, pid_t tid, pid_t pid, const char *name, uint64_t time_ns)
{
    struct thread *t = find_or_add(threads, tid);
    if (!t)
        return;
    t->pid = pid;
    t->ended = false;
    if (time_ns && t->name[0] && strncmp(t->name, name, sizeof t->name - 1) != 0)
        keep_name(t, time_ns);
    snprintf(t->name, sizeof t->name, "%s", name);
}

void cs_threads_ended(struct cs_threads *threads, pid_t tid)
{
    struct thread *t = find(threads, tid);
    if (t)
        t->ended = true;
}

/* /proc/TID is there for every thread, though it isn't listed. */
static struct thread *look_up(struct cs_threads *threads, pid_t tid)
{
    char name[16], tgid[16];
    (void)cs_kernel_line(name, sizeof name, "Name:", "%s/%d/status", threads->proc, (int)tid);
    (void)cs_kernel_line(tgid, sizeof tgid, "Tgid:", "%s/%d/status", threads->proc, (int)tid);
    const pid_t pid = (pid_t)strtol(tgid, NULL, 10);
    if (pid <= 0)
        return NULL;
    cs_threads_named(threads, tid, pid, name, 0);
    return find(threads, tid);
}

static struct thread *known(struct cs_threads *threads, pid_t tid)
{
    struct thread *t = find(threads, tid);
    return t && t->name[0] ? t : tid > 0 ? look_up(threads, tid) : NULL;
}

pid_t cs_threads_process(struct cs_threads *threads, pid_t tid)
{
    const struct thread *t = find(threads, tid);
    t = t && t->pid ? t : known(threads, tid);
    return t ? t->pid : 0;
}

uint64_t cs_threads_renamed(struct cs_threads *threads, pid_t tid, uint64_t from_ns, uint64_t to_ns)
{
    const struct thread *t = find(threads, tid);
    for (unsigned i = 0; t && i < t->n_earlier; i++)
        if (t->earlier[i].until_ns > from_ns)
            return t->earlier[i].until_ns <= to_ns ? t->earlier[i].until_ns : 0;
    return 0;
}

void cs_threads_text(struct cs_threads *threads, pid_t tid, uint64_t time_ns, char *text, size_t size)
{
    assert(size > 0);
    const struct thread *t = known(threads, tid);
    const char *name = t ? t->name : "thread";
    for (unsigned i = t ? t->n_earlier : 0; i-- > 0 && t->earlier[i].until_ns > time_ns;)
        name = t->earlier[i].name;
    snprintf(text, size, "%s (%d)", name, (int)tid);
}
