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

const struct cs_call_function *cs_wait_place(const struct cs_calls *calls, uint32_t node,
                                             const struct cs_call_function **via)
{
    if (via)
        *via = NULL;
    for (; node; node = cs_contexts_at(calls->tree, node)->parent) {
        const struct cs_call_function *f = cs_calls_function(calls, node);
        if (!f->image || is_kernel(f))
            continue;
        if (!is_c_library(f))
            return f;
        if (f->known && via)
            *via = f; /* the outermost: the one that was called */
    }
    return NULL;
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
    if (strcmp(reason, "lock") != 0)
        return reason;
    if (begins(object, "pi "))
        return "pi-mutex";
    (void)cs_wait_place(waits, cs_calls_node(waits, context), &via);
    for (size_t i = 0; via && i < sizeof names / sizeof *names; i++)
        if (begins(via->brief, names[i].begins))
            return names[i].kind;
    return "lock";
}

bool cs_wait_is_idle(const char *kind)
{
    static const char *const idle[] = {"poll", "child", "signal", "join", "stopped"};
    for (size_t i = 0; i < sizeof idle / sizeof *idle; i++)
        if (strcmp(kind, idle[i]) == 0)
            return true;
    return false;
}
