/* SPDX-License-Identifier: MIT */
/* Which thread owns which line. A thread's `cs_line` starts at a sink that nobody reads. Attaching claims a
 * line of the segment and points it there. The end of the thread gives the line back and points it to the
 * sink again, for destructors that run later.
 *
 * Invariant: owners[i].tid != 0 while a live thread's cs_line points to line i. A claim writes generation,
 * zeroes the values, then tid (release). A reader that sees the same tid and generation before and after its
 * loads saw one thread. Cost: claim and release about 0.2 us, linear in lines only where all below are taken.
 */
#include "signals/runtime.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static uint64_t sink[CS_SIGNALS_MAX] __attribute__((aligned(CS_LINE_BYTES)));
__thread volatile uint64_t *cs_line = sink;

static pthread_key_t key;
static bool key_made;
static int opened = 1; /* 1 = not yet, else what cs_open returns */

static uint32_t line_index(const struct cs_segment_header *h, const volatile uint64_t *line)
{
    return (uint32_t)(((uintptr_t)line - (uintptr_t)h - h->lines_at) / h->line_bytes);
}

/* Threads that ended without their destructor (raw exit, a copy of the library that was unloaded). A system
 * call for each line, so at most once a second. */
static bool reclaim_dead(struct cs_segment_header *h)
{
    static time_t last;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    if (now.tv_sec == last)
        return false;
    last = now.tv_sec;
    struct cs_segment_owner *owners = cs_segment_owners(h);
    bool any = false;
    for (uint32_t i = 0; i < h->lines_used; i++) {
        if (owners[i].tid == 0 || syscall(SYS_tgkill, getpid(), owners[i].tid, 0) == 0 || errno != ESRCH)
            continue;
        __atomic_store_n(&owners[i].tid, 0, __ATOMIC_RELEASE);
        owners[i].users = 0;
        h->first_free = i < h->first_free ? i : h->first_free;
        any = true;
    }
    return any;
}

static uint32_t free_line(struct cs_segment_header *h)
{
    const struct cs_segment_owner *owners = cs_segment_owners(h);
    uint32_t i = h->first_free;
    while (i < h->n_lines && owners[i].tid != 0)
        i++;
    h->first_free = i;
    return i;
}

/* The line that another copy of the library claimed for this thread, or n_lines. */
static uint32_t line_of_other_copy(struct cs_segment_header *h, uint32_t tid)
{
    const struct cs_segment_owner *owners = cs_segment_owners(h);
    for (uint32_t i = 0; h->copies > 1 && i < h->lines_used; i++)
        if (owners[i].tid == tid)
            return i;
    return h->n_lines;
}

/* ---- cs_page: the line's page mapped over a page of the thread's own storage ---- */

static void *pages[CS_LINES_MAX]; /* by line; of this process */
static uint32_t pages_end;        /* none at or above; under the lock */

/* A second mapping of the line's page, made of the first one. In a private segment it fails (false), and the
 * page stays what it was. */
static bool page_map(struct cs_segment_header *h, uint32_t i)
{
    if (!cs_page_of_thread)
        return false;
    char *page = cs_page_of_thread(), *line = (char *)cs_segment_line(h, i) - CS_LINE_IN_PAGE;
    if (mremap(line, 0, CS_PAGE_BYTES, MREMAP_MAYMOVE | MREMAP_FIXED, page) == MAP_FAILED)
        return false;
    pages[i] = page;
    if (i >= pages_end)
        pages_end = i + 1;
    return true;
}

static void page_unmap(uint32_t i)
{
    if (pages[i])
        (void)mmap(pages[i], CS_PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
                   -1, 0);
    pages[i] = NULL;
}

static void claim(struct cs_segment_header *h)
{
    struct cs_segment_owner *owners = cs_segment_owners(h);
    const uint32_t tid = cs_segment_tid();
    uint32_t i = line_of_other_copy(h, tid);
    if (i == h->n_lines) {
        i = free_line(h);
        if (i == h->n_lines && reclaim_dead(h))
            i = free_line(h);
        if (i == h->n_lines) {
            h->lines_lost++;
            return;
        }
        __atomic_store_n(&owners[i].generation, owners[i].generation + 1, __ATOMIC_RELEASE);
        volatile uint64_t *line = cs_segment_line(h, i);
        for (unsigned w = 0; w < CS_SIGNALS_MAX; w++)
            line[w] = 0;
        owners[i].users = 0;
        __atomic_store_n(&owners[i].tid, tid, __ATOMIC_RELEASE);
        h->first_free = i + 1;
        if (i >= h->lines_used)
            __atomic_store_n(&h->lines_used, i + 1, __ATOMIC_RELEASE);
    }
    owners[i].users++;
    if (cs_page_of_thread) { /* what it wrote before it had a line */
        const uint64_t *before = (const uint64_t *)((char *)cs_page_of_thread() + CS_LINE_IN_PAGE);
        for (unsigned w = 0; owners[i].users == 1 && w < CS_SIGNALS_MAX; w++)
            cs_segment_line(h, i)[w] = before[w];
    }
    page_map(h, i);
    cs_line = cs_segment_line(h, i);
}

static void release(void *line_was)
{
    struct cs_segment_header *h = cs_segment;
    if (!h || cs_line == sink)
        return;
    (void)line_was;
    struct cs_segment_owner *owners = cs_segment_owners(h);
    const uint32_t i = line_index(h, cs_line);
    cs_line = sink;
    page_unmap(i);
    const bool taken = cs_segment_lock();
    if (owners[i].users > 1) {
        owners[i].users--;
    } else {
        owners[i].users = 0;
        __atomic_store_n(&owners[i].tid, 0, __ATOMIC_RELEASE);
        if (i < h->first_free)
            h->first_free = i;
    }
    cs_segment_unlock(taken);
}

volatile uint64_t *cs_attach(void)
{
    if (cs_line != sink)
        return cs_line;
    cs_open();
    if (!cs_segment || cs_line != sink)
        return cs_line;
    const bool taken = cs_segment_lock();
    claim(cs_segment);
    cs_segment_unlock(taken);
    if (cs_line != sink && key_made)
        pthread_setspecific(key, (const void *)cs_line);
    return cs_line;
}

/* ---- opening, and fork ---- */

static bool held_over_fork;
static struct cs_segment_at_fork inherited;

static void before_fork(void)
{
    held_over_fork = cs_segment_lock();
    struct cs_segment_header *h = cs_segment;
    if (!h)
        return;
    memcpy(inherited.head, h, sizeof inherited.head);
    inherited.mine = cs_line == sink ? CS_LINES_MAX : line_index(h, cs_line);
    if (inherited.mine == CS_LINES_MAX)
        return;
    inherited.owner = cs_segment_owners(h)[inherited.mine];
    for (unsigned w = 0; w < CS_SIGNALS_MAX; w++)
        inherited.line[w] = cs_line[w];
}
static void after_fork_parent(void)
{
    cs_segment_unlock(held_over_fork);
}

/* Another copy of the library made the child's segment, and may not have known this thread. */
static void own_line_in_theirs(struct cs_segment_header *h)
{
    struct cs_segment_owner *owner = &cs_segment_owners(h)[inherited.mine];
    const uint32_t tid = cs_segment_tid();
    if (owner->tid == tid)
        return;
    for (unsigned w = 0; w < CS_SIGNALS_MAX; w++)
        cs_line[w] = inherited.line[w];
    owner->generation = inherited.owner.generation + 1;
    owner->users = inherited.owner.users;
    __atomic_store_n(&owner->tid, tid, __ATOMIC_RELEASE);
    if (inherited.mine >= h->lines_used)
        __atomic_store_n(&h->lines_used, inherited.mine + 1, __ATOMIC_RELEASE);
}

/* The child has no segment to map over its page, which still is the parent's line: its own memory instead. */
static void own_page(uint32_t i)
{
    if (i == CS_LINES_MAX || !pages[i])
        return;
    volatile uint64_t *line = (volatile uint64_t *)((char *)pages[i] + CS_LINE_IN_PAGE);
    page_unmap(i);
    for (unsigned w = 0; w < CS_SIGNALS_MAX; w++)
        line[w] = inherited.line[w];
}

/* The child's one thread keeps its line; its tid is a new one. All other lines are nobody's. */
static void after_fork_child(void)
{
    const bool renewed = cs_segment_after_fork(&inherited);
    struct cs_segment_header *h = cs_segment;
    if (!h) {
        cs_line = sink;
        own_page(inherited.mine);
        return;
    }
    for (uint32_t i = 0; i < pages_end; i++)
        if (i != inherited.mine)
            page_unmap(i); /* of threads that the child doesn't have, but whose stacks it may use again */
    if (inherited.mine == CS_LINES_MAX)
        return;
    if (!page_map(h, inherited.mine))
        own_page(inherited.mine);
    if (!renewed)
        own_line_in_theirs(h);
}

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void open_once(void)
{
    const int rc = cs_segment_map();
    key_made = pthread_key_create(&key, release) == 0;
    pthread_atfork(before_fork, after_fork_parent, after_fork_child);
    opened = rc;
    __asm__ volatile("" : : "r"(&cs_threads_wrapped)); /* a reference that no compiler leaves out */
}

int cs_open(void)
{
    pthread_once(&once, open_once);
    return opened;
}

/* Early, so that constructors of instrumented code write to a line already. */
__attribute__((constructor(101))) static void loaded(void)
{
    cs_attach();
}

__attribute__((destructor)) static void unloaded(void)
{
    if (key_made)
        pthread_key_delete(key);
    key_made = false;
}
