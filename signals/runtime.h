/* SPDX-License-Identifier: MIT */
/* Inside of the runtime that targets link: who makes the segment, who owns lines, who registers names. Not
 * installed. Nothing here may allocate from the heap but thread_attached.c and threads.c, print, or fail the program.
 *
 * State of a copy of the library. `cs_segment` points to a mapping of the layout in segment.h: shared with
 * readers when it could be published, else private memory. NULL only before cs_open and when there is no
 * memory at all. It never moves and is never unmapped: compiled code may hold addresses in it.
 *
 * Everything in the segment but values changes under cs_segment_lock. The lock lies in the segment because
 * a second copy of the library in this process shares it. */
#ifndef CS_SIGNALS_RUNTIME_H
#define CS_SIGNALS_RUNTIME_H

#include "signals/cyclescope.h"
#include "signals/segment.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#define CS_HIDDEN __attribute__((visibility("hidden")))

/* Geometry of every segment that this version makes. */
#define CS_NAMES_BYTES (16u << 20)
#define CS_ROUND_PAGE(n) (((n) + 4095u) & ~4095u)
#define CS_SIGNALS_AT 256u /* in the header's page: a fork fills one page less */
#define CS_HEAD_BYTES (CS_SIGNALS_AT + CS_SIGNALS_MAX * (unsigned)sizeof(struct cs_segment_signal))
#define CS_OWNERS_AT CS_ROUND_PAGE(CS_HEAD_BYTES)
/* A page for each line, so that it can be mapped over a thread's cs_page too; the line stands in the page
 * where little else does (page starts are crowded, and loads from the same offset in other pages would wait
 * for its stores). */
#define CS_PAGES_AT (CS_OWNERS_AT + CS_ROUND_PAGE(CS_LINES_MAX * (unsigned)sizeof(struct cs_segment_owner)))
#define CS_PAGE_BYTES 4096u
#define CS_LINE_IN_PAGE 1664u
#define CS_LINES_AT (CS_PAGES_AT + CS_LINE_IN_PAGE)
#define CS_NAMES_AT (CS_PAGES_AT + CS_LINES_MAX * CS_PAGE_BYTES + CS_PAGE_BYTES)
#define CS_SEGMENT_BYTES (CS_NAMES_AT + CS_NAMES_BYTES)

/* segment_map.c */
extern CS_HIDDEN struct cs_segment_header *cs_segment;
/* Maps the process's segment: joins the one that another copy made, else publishes one, else private memory.
 * Sets cs_segment; 0 or why it isn't published. */
CS_HIDDEN int cs_segment_map(void);
/* What a child inherits, noted before the fork: in the child the parent's lines may be ahead already, and
 * each page of them costs a fault. */
struct cs_segment_at_fork {
    union {
        struct cs_segment_header header;
        char head[CS_HEAD_BYTES]; /* with the signals */
    };
    struct cs_segment_owner owner; /* of the forking thread's line */
    uint64_t line[CS_SIGNALS_MAX];
    uint32_t mine; /* that line, or CS_LINES_MAX */
};
/* In a forked child: replaces the parent's segment by one of the child's, same addresses, same contents,
 * whose only thread is this one. False where there is none, or another copy did it. */
CS_HIDDEN bool cs_segment_after_fork(struct cs_segment_at_fork *inherited);

/* page.c, in executables whose code stores to cs_page directly: this thread's. */
CS_HIDDEN void *cs_page_of_thread(void) __attribute__((weak));

/* lock.c: not recursive; cs_segment_lock returns false where this thread holds it already (or there is no
 * segment).
 */
CS_HIDDEN bool cs_segment_lock(void);
CS_HIDDEN void cs_segment_unlock(bool taken);
CS_HIDDEN uint32_t cs_segment_tid(void);

/* threads.c; named by lines.c so that a static link always takes it along. */
extern CS_HIDDEN const int cs_threads_wrapped;

/* thread_attached.c: pthread_create by `next`, of a thread that attaches itself first. */
typedef int cs_create_function(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
CS_HIDDEN int cs_create_attached(cs_create_function *next, pthread_t *thread,
                                 const pthread_attr_t *attributes, void *(*run)(void *), void *argument);

static inline struct cs_segment_signal *cs_segment_signals(struct cs_segment_header *h)
{
    return (struct cs_segment_signal *)((char *)h + h->signals_at);
}
static inline struct cs_segment_owner *cs_segment_owners(struct cs_segment_header *h)
{
    return (struct cs_segment_owner *)((char *)h + h->owners_at);
}
static inline volatile uint64_t *cs_segment_line(struct cs_segment_header *h, uint32_t i)
{
    return (volatile uint64_t *)((char *)h + h->lines_at + (size_t)i * h->line_bytes);
}

#endif
