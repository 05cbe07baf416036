/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A store of a day has many rows for each chain, and chains share their callers. What a chain says is found once, from its
 * caller's. */
#include "analysis/waits/wait_place.h"

#include "store/base/text.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool is_kernel(const struct cs_call_function *f)
{
    return f->image && (f->image->kind == CS_IMAGE_KERNEL || f->image->kind == CS_IMAGE_MODULE ||
                        strncmp(f->image->path, "bpf_prog_", 9) == 0);
}

static bool is_c_library(const struct cs_call_function *f)
{
    static const char *const names[] = {"libc.so", "libc-", "libpthread", "ld-linux", "ld-musl", "libc.musl"};
    const char *base = f->image ? cs_base_name(f->image->path) : "";
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strncmp(base, names[i], strlen(names[i])) == 0)
            return true;
    return f->image && f->image->kind == CS_IMAGE_VDSO;
}

bool cs_wait_is_own(const struct cs_call_function *f)
{
    return f->image && !is_kernel(f) && !is_c_library(f);
}

/* Of the C++ library and of Java's machine, in whose they are: how to wait, and nothing else. */
static bool is_way_to_wait(const struct cs_call_function *f)
{
    static const char *const names[] = {"__gthread_",
                                        "std::mutex::",
                                        "std::timed_mutex::",
                                        "std::recursive_",
                                        "std::shared_mutex",
                                        "std::__shared_",
                                        "std::unique_lock",
                                        "std::lock_guard",
                                        "std::scoped_lock",
                                        "std::shared_lock",
                                        "std::lock",
                                        "std::condition_variable",
                                        "std::thread::join",
                                        "std::this_thread",
                                        "std::__basic_future",
                                        "std::future",
                                        "std::__atomic_",
                                        "os::PlatformEvent::",
                                        "os::PlatformMonitor::",
                                        "PosixSemaphore::"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strncmp(f->brief, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

/* Functions in which threads of a run-time library wait until there is work. */
static bool is_pool(const struct cs_call_function *f)
{
    static const char *const names[] = {"runtime.stopm", "runtime.mPark", "runtime.sysmon",
                                        "runtime.bgscavenge", "runtime.templateThread"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(f->brief, names[i]) == 0)
            return true;
    return false;
}

static bool begins_thread(const struct cs_call_function *f)
{
    static const char *const firsts[] = {"_start", "main", "__libc_start_main", "__libc_start_call_main"};
    for (size_t i = 0; i < sizeof firsts / sizeof *firsts; i++)
        if (strcmp(f->brief, firsts[i]) == 0)
            return true;
    return false;
}

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

enum { PROGRAM = 1, LIBRARY = 2, WAY = 4, FIRST = 8, POOL = 16, MONITOR = 32, SLEEP = 64 };

static unsigned said_by(const struct cs_call_function *f)
{
    const bool program = f->image && !is_kernel(f), library = program && is_c_library(f);
    return (program ? PROGRAM : 0) | (library ? LIBRARY : 0) |
           (program && !library && is_way_to_wait(f) ? WAY : 0) | (program && begins_thread(f) ? FIRST : 0) |
           (is_pool(f) ? POOL : 0) | (begins(f->brief, "ObjectMonitor::EnterI") ? MONITOR : 0) |
           (begins(f->brief, "JavaThread::sleep") ? SLEEP : 0);
}

/* What the chain from the root to a node says. */
struct cs_wait_spot {
    const struct cs_call_function *place, *via, *root;
    const struct cs_call_function *way; /* the innermost way to wait; where there is no place */
    unsigned said;                      /* by all of its functions */
};

static struct cs_wait_spot below(const struct cs_wait_spot *caller, const struct cs_call_function *f,
                                 unsigned said)
{
    struct cs_wait_spot s = *caller;
    s.said |= said;
    if (!(said & PROGRAM))
        return s;
    if (said & LIBRARY) {
        s.via = s.via || !f->known ? s.via : f; /* the outermost: the one that was called */
        return s;
    }
    s.root = s.root ? s.root : f;
    if (said & WAY) {
        s.way = f;
    } else {
        s.place = f;
        s.via = s.way = NULL;
    }
    return s;
}

int cs_wait_spots_make(struct cs_calls *calls)
{
    const uint32_t n = cs_contexts_count(calls->tree);
    unsigned *said = malloc((calls->n_functions + 1) * sizeof *said);
    struct cs_wait_spot *spots = calloc(n, sizeof *spots);
    if (!said || !spots) {
        free(said);
        free(spots);
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < calls->n_functions; i++)
        said[i] = said_by(&calls->functions[i]);
    for (uint32_t node = 1; node < n; node++) {
        const struct cs_context *c = cs_contexts_at(calls->tree, node);
        assert(c->parent < node); /* callers were there before */
        spots[node] = below(&spots[c->parent], &calls->functions[c->offset], said[c->offset]);
    }
    free(said);
    free(calls->by_node);
    calls->by_node = spots;
    return 0;
}

static const struct cs_wait_spot *spot_at(const struct cs_calls *calls, uint32_t node)
{
    assert(calls->by_node);
    return (const struct cs_wait_spot *)calls->by_node + node;
}

const struct cs_call_function *cs_wait_place(const struct cs_calls *calls, uint32_t node,
                                             const struct cs_call_function **via)
{
    const struct cs_wait_spot *s = spot_at(calls, node);
    if (via)
        *via = s->via;
    return s->place ? s->place : s->way;
}

const struct cs_call_function *cs_wait_root(const struct cs_calls *calls, uint32_t node, bool *first_thread)
{
    const struct cs_wait_spot *s = spot_at(calls, node);
    *first_thread = s->said & FIRST;
    return s->root;
}

bool cs_wait_is_program(const struct cs_calls *calls, uint32_t node)
{
    return spot_at(calls, node)->said & PROGRAM;
}

bool cs_wait_is_pool(const struct cs_calls *calls, uint32_t node)
{
    return spot_at(calls, node)->said & POOL;
}

const char *cs_wait_kind(const struct cs_calls *waits, const char *reason, uint64_t context,
                         const char *object)
{
    static const struct {
        const char *begins, *kind;
    } names[] = {{"pthread_mutex_", "mutex"},    {"__lll_", "mutex"},
                 {"pthread_cond_", "condition"}, {"pthread_rwlock_", "rwlock"},
                 {"pthread_join", "join"},       {"pthread_timedjoin", "join"},
                 {"pthread_clockjoin", "join"},  {"__pthread_clockjoin", "join"},
                 {"sem_", "semaphore"},          {"pthread_barrier", "barrier"},
                 {"pthread_spin", "mutex"},      {"flockfile", "mutex"}};
    const char *refined = strchr(reason, ':');
    if (refined)
        return refined + 1;
    if (strcmp(reason, "lock") != 0)
        return reason;
    if (strstr(object, ", dead lock"))
        return "dead-lock";
    if (begins(object, "pi "))
        return "pi-mutex";
    const struct cs_wait_spot *spot = spot_at(waits, cs_calls_node(waits, context));
    if (spot->said & MONITOR)
        return "monitor";
    if (spot->said & SLEEP)
        return "sleep";
    const struct cs_call_function *via = spot->via;
    for (size_t i = 0; via && i < sizeof names / sizeof *names; i++)
        if (begins(via->brief, names[i].begins))
            return names[i].kind;
    return "lock";
}
