/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A store of a day has many rows for each chain, and chains share their callers. What a chain says is found once, from its
 * caller's. */
#include "analysis/waits/wait_place.h"

#include "store/base/text.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

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

/* Names as sampler/dynamic/interpreted.h makes them: "Thread.run (python3.11/threading.py:964)". */
static bool is_script(const struct cs_call_function *f)
{
    return f->image && f->image->kind == CS_IMAGE_JIT && begins(f->image->path, "[CPython");
}

/* The program, its library, and the modules in C that come with them. */
static bool is_interpreter(const struct cs_call_function *f)
{
    const char *path = f->image && f->image->kind == CS_IMAGE_ELF ? f->image->path : "",
               *base = cs_base_name(path);
    return begins(base, "python") || begins(base, "libpython") || strstr(path, "/lib-dynload/");
}

/* Whether a Python function is of the standard library, in a file that begins as one of these; ends with NULL. */
static bool is_of_files(const struct cs_call_function *f, const char *const *files)
{
    const char *file = strstr(f->brief, " (python3.");
    file = file ? strchr(file, '/') : NULL;
    for (; file && *files; files++)
        if (begins(file + 1, *files))
            return true;
    return false;
}

static bool is_script_way_to_wait(const struct cs_call_function *f)
{
    static const char *const files[] = {
        "threading.py",    "queue.py", "selectors.py",        "subprocess.py",
        "socket.py",       "ssl.py",   "concurrent/futures/", "multiprocessing/",
        "socketserver.py", NULL};
    return is_of_files(f, files);
}

/* Below a loop that waits for work: still for work, and not within it. */
static bool is_script_queue(const struct cs_call_function *f)
{
    static const char *const files[] = {"threading.py",
                                        "queue.py",
                                        "selectors.py",
                                        "multiprocessing/queues.py",
                                        "multiprocessing/connection.py",
                                        "multiprocessing/synchronize.py",
                                        NULL};
    return begins(f->brief, "Pool._wait_for_updates (") ||
           (is_of_files(f, files) && !strstr(f->brief, ".put ("));
}

static bool is_script_pool(const struct cs_call_function *f)
{
    static const char *const files[] = {"concurrent/futures/", "multiprocessing/", NULL};
    static const char *const names[] = {
        "_worker (",    "worker (", "_process_worker (", "Pool._handle_tasks (", "Pool._handle_workers (",
        "Queue._feed ("};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (begins(f->brief, names[i]))
            return is_of_files(f, files);
    return false;
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

enum {
    PROGRAM = 1,
    LIBRARY = 2,
    WAY = 4,
    FIRST = 8,
    POOL = 16,
    MONITOR = 32,
    SLEEP = 64,
    SCRIPT = 128, /* a Python function */
    INTERPRETER = 256,
    QUEUE = 512,      /* of Python */
    THREADING = 1024, /* around all that a thread does */
    BEGINS = 2048,    /* what is around it isn't done on its account: a pool's loop, a child after its fork */
    CHILD = 4096,
    JOIN = 8192
};

static unsigned said_by_script(const struct cs_call_function *f)
{
    static const char *const threading[] = {"threading.py", NULL}, *const process[] = {
                                                                       "multiprocessing/process.py", NULL};
    const bool thread = is_of_files(f, threading), pool = is_script_pool(f),
               child = begins(f->brief, "BaseProcess._bootstrap (") && is_of_files(f, process),
               join = thread && (begins(f->brief, "Thread.join (") ||
                                 begins(f->brief, "Thread._wait_for_tstate_lock ("));
    return PROGRAM | SCRIPT | (is_script_way_to_wait(f) ? WAY : 0) | (pool ? POOL : 0) |
           (is_script_queue(f) ? QUEUE : 0) | (thread || child ? THREADING : 0) |
           (pool || child ? BEGINS : 0) | (child ? CHILD : 0) | (join ? JOIN : 0);
}

static unsigned said_by(const struct cs_call_function *f)
{
    if (is_script(f))
        return said_by_script(f);
    const bool program = f->image && !is_kernel(f), library = program && is_c_library(f);
    return (program ? PROGRAM : 0) | (library ? LIBRARY : 0) |
           (program && !library && is_way_to_wait(f) ? WAY : 0) | (program && begins_thread(f) ? FIRST : 0) |
           (is_interpreter(f) ? INTERPRETER : 0) | (is_pool(f) ? POOL : 0) |
           (begins(f->brief, "ObjectMonitor::EnterI") ? MONITOR : 0) |
           (begins(f->brief, "JavaThread::sleep") ? SLEEP : 0);
}

/* What the chain from the root to a node says. */
struct cs_wait_spot {
    const struct cs_call_function *place, *via, *root, *base; /* base: the root in code of the machine */
    const struct cs_call_function *way; /* the innermost way to wait; where there is no place */
    unsigned said;                      /* by all of its functions */
    bool own;                           /* of the node's function */
    bool rooted, looped; /* the root is a Python function; the way isn't what a thread begins with */
};

/* A Python function calls another, or is called by the interpreter. */
static struct cs_wait_spot below_script(const struct cs_wait_spot *caller, const struct cs_call_function *f,
                                        unsigned said)
{
    struct cs_wait_spot s = *caller;
    s.said = (s.said & ~(unsigned)(JOIN | (said & (POOL | QUEUE) ? 0 : POOL))) | (said & ~(unsigned)WAY);
    s.own = !(said & WAY);
    if (said & CHILD) /* the chain began in its parent, whose first thread it isn't */
        s.said &= ~(unsigned)FIRST;
    s.rooted = s.rooted && !(said & BEGINS);
    if (!s.rooted && !(said & THREADING)) {
        s.root = f;
        s.rooted = true;
    }
    s.via = NULL;
    if (!(said & WAY)) {
        s.place = f;
        s.way = NULL;
        s.looped = false;
        return s;
    }
    if (s.place && (said & BEGINS || is_interpreter(s.place)))
        s.place = NULL;
    if (!s.looped || said & BEGINS) {
        s.way = f;
        s.looped = !(said & THREADING);
    }
    return s;
}

static struct cs_wait_spot below(const struct cs_wait_spot *caller, const struct cs_call_function *f,
                                 unsigned said)
{
    if (said & SCRIPT)
        return below_script(caller, f, said);
    struct cs_wait_spot s = *caller;
    s.said |= said;
    s.own = (said & (PROGRAM | LIBRARY | INTERPRETER)) == PROGRAM;
    if (!(said & PROGRAM))
        return s;
    if ((said & INTERPRETER) && (caller->said & SCRIPT)) {
        s.via = NULL;
        return s;
    }
    if (said & LIBRARY) {
        if ((s.said & SCRIPT) && begins(f->brief, "pthread_cond_")) /* for the lock of the interpreter */
            s.said &= ~(unsigned)POOL;
        s.via = s.via || !f->known ? s.via : f; /* the outermost: the one that was called */
        return s;
    }
    if (!s.root)
        s.root = s.base = f;
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
    unsigned *said = malloc((calls->n_functions + 1) * sizeof *said), scripts = 0;
    struct cs_wait_spot *spots = calloc(n, sizeof *spots);
    if (!said || !spots) {
        free(said);
        free(spots);
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < calls->n_functions; i++)
        scripts |= (said[i] = said_by(&calls->functions[i]));
    for (uint32_t i = 0; !(scripts & SCRIPT) && i < calls->n_functions; i++)
        said[i] &= ~(unsigned)INTERPRETER;
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

bool cs_wait_is_own(const struct cs_calls *calls, uint32_t node)
{
    return spot_at(calls, node)->own;
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

const struct cs_call_function *cs_wait_base(const struct cs_calls *calls, uint32_t node)
{
    return spot_at(calls, node)->base;
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
    if (spot->said & JOIN)
        return "join";
    const struct cs_call_function *via = spot->via;
    for (size_t i = 0; via && i < sizeof names / sizeof *names; i++)
        if (begins(via->brief, names[i].begins))
            return names[i].kind;
    return "lock";
}
