/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/waits/wait_function.h"

#include "store/base/text.h"

#include <assert.h>

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

unsigned cs_wait_said_by(const struct cs_call_function *f)
{
    assert(f->name && f->brief);
    if (is_script(f))
        return said_by_script(f);
    const bool program = f->image && !is_kernel(f), library = program && is_c_library(f);
    return (program ? PROGRAM : 0) | (library ? LIBRARY : 0) |
           (program && !library && is_way_to_wait(f) ? WAY : 0) | (program && begins_thread(f) ? FIRST : 0) |
           (is_interpreter(f) ? INTERPRETER : 0) | (is_pool(f) ? POOL : 0) |
           (begins(f->brief, "ObjectMonitor::EnterI") ? MONITOR : 0) |
           (begins(f->brief, "JavaThread::sleep") ? SLEEP : 0);
}
