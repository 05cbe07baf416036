/* SPDX-License-Identifier: MIT */
/* Profiles the program that it is preloaded into, where the kernel's perf_event_open is out of reach. Each
 * thread has a timer of its own CPU time, whose signal notes where the thread is.
 *
 * The signal is SIGURG, which is ignored by default. So one which comes late (after an exec, or once the program has
 * set its own handler) ends nothing. Timers come at the kernel's ticks, whatever they were set to; a slot says how much
 * CPU time it stands for. The timer runs at half the mean period, and a sample is taken after one, two or three of its
 * rounds, drawn each time. So the timer never has to be set again.
 *
 * It is linked with no C library, so that its symbols have no versions. What an old or another libc lacks is weak. So
 * one library serves programs of glibc 2.17 and later, and of musl.
 *
 * In the handler: no lock, no allocation, no system call, no library call but clock_gettime(CLOCK_MONOTONIC), which the
 * vDSO answers. A program under a filter of system calls (seccomp) may be ended even by the handler's return. So a
 * thread that asks for a filter has no timer from then on, nor has what it starts. Without its variable in the
 * environment, or with a segment that isn't one, the library does nothing.
 *
 * cyclescope_timers.h is for a program that chooses what of it is profiled. */
#define _GNU_SOURCE
#include "signals/timers/cyclescope_timers.h"
#include "signals/timers/filters.h"
#include "signals/timers/stack_frames.h"
#include "signals/timers/timer_segment.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define API __attribute__((visibility("default")))
#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

#pragma weak dlsym
#pragma weak pthread_key_create
#pragma weak pthread_setspecific
#pragma weak pthread_getattr_np
#pragma weak pthread_attr_getstack
#pragma weak pthread_attr_destroy
#pragma weak pthread_self
extern int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void), void *handle)
    __attribute__((weak));                           /* pthread_atfork is a static part of its libraries */
extern void *__libc_stack_end __attribute__((weak)); /* of the main thread; glibc's */

struct own {
    int timer; /* the kernel's number */
    bool armed;
    bool filtered; /* or about to be: no timer */
    uint32_t pid, tid;
    uint64_t stack_top, random;
    int64_t rounds, left; /* of the timer: since the last sample, until the next */
    struct own *next;     /* of the threads with timers */
};

static struct cs_timer_segment *segment; /* NULL: nobody profiles */
static pthread_key_t at_end;
static bool at_end_is;
static __thread struct own own __attribute__((tls_model("initial-exec")));
static struct own *threads;
static bool threads_locked;

static uint64_t now(void)
{
    struct timespec t = {0, 0};
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static struct timespec time_of(uint64_t ns)
{
    return (struct timespec){(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
}

/* ---- the ring ---- */

static struct cs_timer_slot *reserve(uint64_t *number)
{
    uint64_t head = __atomic_load_n(&segment->head, __ATOMIC_RELAXED);
    do
        if (head - __atomic_load_n(&segment->tail, __ATOMIC_ACQUIRE) >= CS_TIMER_SLOTS) {
            __atomic_fetch_add(&segment->dropped, 1, __ATOMIC_RELAXED);
            return NULL;
        }
    while (!__atomic_compare_exchange_n(&segment->head, &head, head + 1, true, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED));
    *number = head;
    struct cs_timer_slot *slot = &segment->slots[head % CS_TIMER_SLOTS];
    slot->time_ns = now();
    slot->pid = own.pid;
    slot->tid = own.tid;
    slot->n_frames = 0;
    slot->cpu_ns = 0;
    return slot;
}

static void publish(struct cs_timer_slot *slot, uint64_t number)
{
    __atomic_store_n(&slot->sequence, number + 1, __ATOMIC_RELEASE);
}

static void copy_path(char *to, const char *from)
{
    size_t n = 0;
    while (n + 1 < CS_TIMER_PATH && from[n]) {
        to[n] = from[n];
        n++;
    }
    to[n] = '\0';
}

static void tell(enum cs_timer_kind kind, const char *path)
{
    uint64_t number;
    struct cs_timer_slot *slot = reserve(&number);
    if (!slot)
        return;
    slot->kind = kind;
    copy_path(slot->more.map.path, path);
    publish(slot, number);
}

static void tell_map(uint64_t start, uint64_t end, uint64_t pgoff, const char *path)
{
    struct stat is;
    uint64_t number;
    struct cs_timer_slot *slot = reserve(&number);
    if (!slot)
        return;
    const bool known = path[0] == '/' && kernel(SYS_newfstatat, AT_FDCWD, path, &is, 0) == 0;
    slot->kind = CS_TIMER_MAP;
    slot->pc = start;
    slot->more.map.end = end;
    slot->more.map.pgoff = pgoff;
    slot->more.map.inode = known ? is.st_ino : 0;
    slot->more.map.major = known ? major(is.st_dev) : 0;
    slot->more.map.minor = known ? minor(is.st_dev) : 0;
    copy_path(slot->more.map.path, path);
    publish(slot, number);
}

/* ---- a thread's timer ---- */

/* Rounds until the next sample: one to three, xorshift64. */
static void draw(void)
{
    uint64_t x = own.random;
    do {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        own.left += 1 + (int64_t)(x % 3);
    } while (own.left <= 0);
    own.random = x;
}

static uint64_t round_ns(void)
{
    return segment->period_ns / 2;
}

static void sample(int signal, siginfo_t *info, void *context)
{
    (void)signal;
    if (info->si_code != SI_TIMER || info->si_value.sival_ptr != &own || !own.armed)
        return;
    const int64_t rounds = 1 + (info->si_overrun > 0 ? info->si_overrun : 0);
    own.rounds += rounds;
    own.left -= rounds;
    if (own.left > 0)
        return;
    const int saved = errno;
    const mcontext_t *m = &((const ucontext_t *)context)->uc_mcontext;
#if defined(__x86_64__)
    const uint64_t pc = (uint64_t)m->gregs[REG_RIP], fp = (uint64_t)m->gregs[REG_RBP],
                   sp = (uint64_t)m->gregs[REG_RSP];
#elif defined(__aarch64__)
    const uint64_t pc = m->pc, fp = m->regs[29], sp = m->sp;
#elif defined(__riscv)
    const uint64_t pc = m->__gregs[REG_PC], fp = m->__gregs[REG_S0], sp = m->__gregs[REG_SP];
#else
#error "where does this architecture keep pc, fp and sp?"
#endif
    uint64_t number;
    struct cs_timer_slot *slot = reserve(&number);
    if (slot) {
        slot->kind = CS_TIMER_SAMPLE;
        slot->pc = pc;
        slot->cpu_ns = (uint64_t)own.rounds * round_ns();
        own.rounds = 0;
        slot->more.frames[0] = pc;
        if (segment->with_frames)
            slot->n_frames =
                1 + cs_stack_frames(fp, sp, own.stack_top, slot->more.frames + 1, CS_TIMER_FRAMES - 1);
        publish(slot, number);
    }
    draw();
    errno = saved;
}

static void lock_threads(void)
{
    while (__atomic_test_and_set(&threads_locked, __ATOMIC_ACQUIRE))
        ;
}

static void unlock_threads(void)
{
    __atomic_clear(&threads_locked, __ATOMIC_RELEASE);
}

static void disarm(struct own *thread)
{
    if (thread->armed)
        kernel(SYS_timer_delete, thread->timer);
    thread->armed = false;
}

static void thread_ends(void *unused)
{
    (void)unused;
    if (!own.armed)
        return;
    lock_threads();
    for (struct own **link = &threads; *link; link = &(*link)->next)
        if (*link == &own) {
            *link = own.next;
            break;
        }
    disarm(&own);
    unlock_threads();
}

static void thread_begins(void)
{
    struct sigevent event = {
        .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGURG, .sigev_value.sival_ptr = &own};
    pthread_attr_t attributes;
    void *stack = NULL;
    size_t size = 0;
    struct itimerspec when;
    if (!segment || own.armed || own.filtered)
        return;
    own.pid = (uint32_t)getpid();
    own.tid = (uint32_t)kernel(SYS_gettid, 0);
    event.sigev_notify_thread_id = (pid_t)own.tid;
    if (pthread_getattr_np && pthread_attr_getstack && pthread_attr_destroy && pthread_self &&
        pthread_getattr_np(pthread_self(), &attributes) == 0) {
        pthread_attr_getstack(&attributes, &stack, &size);
        pthread_attr_destroy(&attributes);
    }
    own.stack_top = (uint64_t)(uintptr_t)stack + size;
    if (!stack && own.tid == own.pid && &__libc_stack_end)
        own.stack_top = (uint64_t)(uintptr_t)__libc_stack_end;
    own.random = (now() ^ ((uint64_t)own.tid << 32)) * 0x9E3779B97F4A7C15ULL | 1;
    own.rounds = own.left = 0;
    draw();
    if (kernel(SYS_timer_create, CLOCK_THREAD_CPUTIME_ID, &event, &own.timer) != 0)
        return;
    lock_threads();
    own.armed = true;
    own.next = threads;
    threads = &own;
    unlock_threads();
    if (at_end_is)
        pthread_setspecific(at_end, &own);
    when.it_interval = time_of(round_ns());
    when.it_value = time_of(1 + own.random % round_ns());
    kernel(SYS_timer_settime, own.timer, 0, &when, NULL);
}

/* ---- filters of system calls ---- */

/* This thread, or all, are about to be under a filter. A child of vfork has this memory, and no timers. */
static void filter_begins(bool all)
{
    if (!segment || own.filtered || (uint32_t)getpid() != own.pid)
        return;
    lock_threads();
    for (struct own **link = &threads, *thread; (thread = *link) != NULL;) {
        if (!all && thread != &own) {
            link = &thread->next;
            continue;
        }
        *link = thread->next;
        disarm(thread);
        thread->filtered = true;
    }
    unlock_threads();
    own.filtered = true;
    tell(CS_TIMER_FILTERED, "");
}

static void filter_fails(void)
{
    own.filtered = false;
    thread_begins();
}

API int prctl(int option, ...)
{
    unsigned long a[4];
    int (*next)(int, ...);
    va_list list;
    va_start(list, option);
    for (int i = 0; i < 4; i++)
        a[i] = va_arg(list, unsigned long);
    va_end(list);
    *(void **)&next = dlsym ? dlsym(RTLD_NEXT, "prctl") : NULL;
    const bool filters = option == PR_SET_SECCOMP && !own.filtered;
    if (filters)
        filter_begins(false);
    const int rc = next ? next(option, a[0], a[1], a[2], a[3])
                        : (int)kernel(SYS_prctl, (long)option, a[0], a[1], a[2], a[3]);
    if (filters && rc != 0)
        filter_fails();
    return rc;
}

API long syscall(long number, ...)
{
    long a[6];
    va_list list;
    va_start(list, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(list, long);
    va_end(list);
    const bool filters = !own.filtered && cs_filters_by(number, a);
    if (filters)
        filter_begins(number == SYS_seccomp && ((unsigned long)a[1] & SECCOMP_FILTER_FLAG_TSYNC));
    const long rc = cs_kernel(number, a);
    if (filters && rc < 0)
        filter_fails();
    if (rc >= 0 || rc < -4095)
        return rc;
    errno = (int)-rc;
    return -1;
}

/* ---- threads, forks ---- */

struct start {
    void *(*run)(void *);
    void *argument;
    bool filtered;
};

static void *begin(void *p)
{
    const struct start s = *(struct start *)p;
    free(p);
    own.filtered = s.filtered;
    thread_begins();
    return s.run(s.argument);
}

API int pthread_create(pthread_t *restrict thread, const pthread_attr_t *restrict attributes,
                       void *(*run)(void *), void *restrict argument)
{
    int (*next)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    *(void **)&next = dlsym ? dlsym(RTLD_NEXT, "pthread_create") : NULL;
    if (!next)
        return EAGAIN;
    struct start *s = segment ? malloc(sizeof *s) : NULL;
    if (!s)
        return next(thread, attributes, run, argument);
    *s = (struct start){run, argument, own.filtered};
    const int rc = next(thread, attributes, begin, s);
    if (rc != 0)
        free(s);
    return rc;
}

static void forked(void)
{
    const uint32_t parent = own.pid;
    own.armed = false; /* a child has none of its parent's timers, and none of its threads */
    threads = NULL;
    threads_locked = false;
    if (own.filtered)
        return;
    own.pid = (uint32_t)getpid();
    own.tid = parent;
    tell(CS_TIMER_FORK, "");
    thread_begins();
}

API void cs_timers_pause_thread(void)
{
    thread_ends(NULL);
}

API void cs_timers_resume_thread(void)
{
    thread_begins();
}

/* ---- the program ---- */

static int tell_object(struct dl_phdr_info *object, size_t size, void *p)
{
    char *program = p;
    (void)size;
    const char *name = object->dlpi_name && object->dlpi_name[0] ? object->dlpi_name : program;
    program[0] = name == program ? program[0] : '\0'; /* the first alone is the program */
    if (strncmp(name, "linux-vdso", 10) == 0)
        name = "[vdso]";
    char real[PATH_MAX]; /* as /proc would name it */
    if (name[0] == '/' && realpath(name, real))
        name = real;
    for (int i = 0; i < object->dlpi_phnum && name[0]; i++) {
        const ElfW(Phdr) *ph = &object->dlpi_phdr[i];
        if (ph->p_type != PT_LOAD || !(ph->p_flags & PF_X))
            continue;
        const uint64_t page = 4096, start = (object->dlpi_addr + ph->p_vaddr) & ~(page - 1);
        const uint64_t end = (object->dlpi_addr + ph->p_vaddr + ph->p_memsz + page - 1) & ~(page - 1);
        tell_map(start, end, ph->p_offset & ~(page - 1), name);
    }
    return 0;
}

static struct cs_timer_segment *map_segment(const char *path)
{
    struct stat is;
    void *at = MAP_FAILED;
    const int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return NULL;
    if (kernel(SYS_newfstatat, fd, "", &is, AT_EMPTY_PATH) == 0 && S_ISREG(is.st_mode) &&
        (is.st_uid == geteuid() || is.st_uid == 0) && (uint64_t)is.st_size == sizeof *segment)
        at = mmap(NULL, sizeof *segment, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    struct cs_timer_segment *s = at == MAP_FAILED ? NULL : at;
    return s && s->magic == CS_TIMER_MAGIC && s->period_ns >= 1000 ? s : NULL;
}

__attribute__((constructor)) static void program_begins(void)
{
    const char *variable = secure_getenv(CS_TIMER_VARIABLE), *path;
    unsigned filters = 0;
    char program[CS_TIMER_PATH] = "", name[16] = "";
    const struct sigaction action = {.sa_sigaction = sample,
                                     .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
    for (path = variable; path && *path >= '0' && *path <= '9'; path++)
        filters = filters * 10 + (unsigned)(*path - '0');
    if (!path || *path++ != ':' || cs_filters_now() > filters)
        return;
    at_end_is = pthread_key_create && pthread_setspecific && pthread_key_create(&at_end, thread_ends) == 0;
    segment = map_segment(path);
    if (!segment)
        return;
    own.pid = own.tid = (uint32_t)getpid();
    kernel(SYS_prctl, PR_GET_NAME, name, 0, 0, 0);
    tell(CS_TIMER_BEGIN, name);
    const ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
    program[n > 0 ? n : 0] = '\0';
    dl_iterate_phdr(tell_object, program);
    if (__register_atfork)
        __register_atfork(NULL, NULL, forked, NULL);
    if (sigaction(SIGURG, &action, NULL) == 0)
        thread_begins();
}
