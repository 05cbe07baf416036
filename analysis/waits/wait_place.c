/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/waits/wait_place.h"

#include "store/base/text.h"

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

const struct cs_call_function *cs_wait_place(const struct cs_calls *calls, uint32_t node,
                                             const struct cs_call_function **via)
{
    const struct cs_call_function *way = NULL;
    if (via)
        *via = NULL;
    for (; node; node = cs_contexts_at(calls->tree, node)->parent) {
        const struct cs_call_function *f = cs_calls_function(calls, node);
        if (!f->image || is_kernel(f))
            continue;
        if (!is_c_library(f) && !is_way_to_wait(f))
            return f;
        if (!is_c_library(f))
            way = way ? way : f;
        else if (f->known && via)
            *via = f; /* the outermost: the one that was called */
    }
    return way;
}

const struct cs_call_function *cs_wait_root(const struct cs_calls *calls, uint32_t node, bool *first_thread)
{
    static const char *const firsts[] = {"_start", "main", "__libc_start_main", "__libc_start_call_main"};
    const struct cs_call_function *root = NULL;
    *first_thread = false;
    for (; node; node = cs_contexts_at(calls->tree, node)->parent) {
        const struct cs_call_function *f = cs_calls_function(calls, node);
        if (!f->image || is_kernel(f))
            continue;
        root = is_c_library(f) ? root : f;
        for (size_t i = 0; i < sizeof firsts / sizeof *firsts; i++)
            *first_thread |= strcmp(f->brief, firsts[i]) == 0;
    }
    return root;
}

bool cs_wait_is_program(const struct cs_calls *calls, uint32_t node)
{
    for (; node; node = cs_contexts_at(calls->tree, node)->parent) {
        const struct cs_call_function *f = cs_calls_function(calls, node);
        if (f->image && !is_kernel(f))
            return true;
    }
    return false;
}

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static bool is_in(const struct cs_calls *calls, uint32_t node, const char *name)
{
    for (; node; node = cs_contexts_at(calls->tree, node)->parent)
        if (begins(cs_calls_function(calls, node)->brief, name))
            return true;
    return false;
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
    const struct cs_call_function *via;
    const char *refined = strchr(reason, ':');
    if (refined)
        return refined + 1;
    if (strcmp(reason, "lock") != 0)
        return reason;
    if (strstr(object, ", dead lock"))
        return "dead-lock";
    if (begins(object, "pi "))
        return "pi-mutex";
    if (is_in(waits, cs_calls_node(waits, context), "ObjectMonitor::EnterI"))
        return "monitor";
    if (is_in(waits, cs_calls_node(waits, context), "JavaThread::sleep"))
        return "sleep";
    (void)cs_wait_place(waits, cs_calls_node(waits, context), &via);
    for (size_t i = 0; via && i < sizeof names / sizeof *names; i++)
        if (begins(via->brief, names[i].begins))
            return names[i].kind;
    return "lock";
}
