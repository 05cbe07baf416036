/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sampler/waits/reasons.h"

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#define CALL(name, reason)                                                                                   \
    {                                                                                                        \
        __NR_##name, reason, #name                                                                           \
    }
static const struct {
    int call;
    enum cs_wait_reason reason;
    const char *name;
} calls[] = {
    CALL(futex, CS_WAIT_LOCK),
    CALL(flock, CS_WAIT_LOCK),
    CALL(fcntl, CS_WAIT_LOCK),
    CALL(semop, CS_WAIT_LOCK),
    CALL(semtimedop, CS_WAIT_LOCK),
#ifdef __NR_futex_waitv
    CALL(futex_waitv, CS_WAIT_LOCK),
#endif
    CALL(msgrcv, CS_WAIT_POLL),
    CALL(msgsnd, CS_WAIT_POLL),
    CALL(mq_timedreceive, CS_WAIT_POLL),
    CALL(mq_timedsend, CS_WAIT_POLL),
    CALL(read, CS_WAIT_DESCRIPTOR),
    CALL(readv, CS_WAIT_DESCRIPTOR),
    CALL(pread64, CS_WAIT_DESCRIPTOR),
    CALL(preadv, CS_WAIT_DESCRIPTOR),
    CALL(write, CS_WAIT_DESCRIPTOR),
    CALL(writev, CS_WAIT_DESCRIPTOR),
    CALL(pwrite64, CS_WAIT_DESCRIPTOR),
    CALL(pwritev, CS_WAIT_DESCRIPTOR),
    CALL(sendfile, CS_WAIT_DESCRIPTOR),
    CALL(splice, CS_WAIT_DESCRIPTOR),
    CALL(ioctl, CS_WAIT_DESCRIPTOR),
    CALL(fsync, CS_WAIT_FILE),
    CALL(fdatasync, CS_WAIT_FILE),
    CALL(sync_file_range, CS_WAIT_FILE),
    CALL(ftruncate, CS_WAIT_FILE),
    CALL(fallocate, CS_WAIT_FILE),
    CALL(getdents64, CS_WAIT_FILE),
    CALL(fstat, CS_WAIT_FILE),
    CALL(close, CS_WAIT_FILE),
    CALL(openat, CS_WAIT_FILE),
    CALL(newfstatat, CS_WAIT_FILE),
    CALL(statx, CS_WAIT_FILE),
    CALL(faccessat, CS_WAIT_FILE),
    CALL(readlinkat, CS_WAIT_FILE),
    CALL(renameat2, CS_WAIT_FILE),
    CALL(unlinkat, CS_WAIT_FILE),
    CALL(mkdirat, CS_WAIT_FILE),
    CALL(sync, CS_WAIT_FILE),
    CALL(syncfs, CS_WAIT_FILE),
    CALL(execve, CS_WAIT_FILE),
    CALL(msync, CS_WAIT_FILE),
    CALL(recvfrom, CS_WAIT_SOCKET),
    CALL(recvmsg, CS_WAIT_SOCKET),
    CALL(recvmmsg, CS_WAIT_SOCKET),
    CALL(sendto, CS_WAIT_SOCKET),
    CALL(sendmsg, CS_WAIT_SOCKET),
    CALL(sendmmsg, CS_WAIT_SOCKET),
    CALL(accept, CS_WAIT_SOCKET),
    CALL(accept4, CS_WAIT_SOCKET),
    CALL(connect, CS_WAIT_SOCKET),
    CALL(ppoll, CS_WAIT_POLL),
    CALL(pselect6, CS_WAIT_POLL),
    CALL(epoll_pwait, CS_WAIT_POLL),
#ifdef __NR_epoll_pwait2
    CALL(epoll_pwait2, CS_WAIT_POLL),
#endif
    CALL(io_uring_enter, CS_WAIT_POLL),
    CALL(io_getevents, CS_WAIT_FILE),
    CALL(nanosleep, CS_WAIT_SLEEP),
    CALL(clock_nanosleep, CS_WAIT_SLEEP),
    CALL(wait4, CS_WAIT_CHILD),
    CALL(waitid, CS_WAIT_CHILD),
    CALL(rt_sigsuspend, CS_WAIT_SIGNAL),
    CALL(rt_sigtimedwait, CS_WAIT_SIGNAL),
    CALL(mmap, CS_WAIT_FAULT),
    CALL(munmap, CS_WAIT_FAULT),
    CALL(mprotect, CS_WAIT_FAULT),
    CALL(madvise, CS_WAIT_FAULT),
    CALL(mremap, CS_WAIT_FAULT),
    CALL(brk, CS_WAIT_FAULT),
#ifdef __x86_64__
    CALL(vfork, CS_WAIT_CHILD),
    CALL(open, CS_WAIT_FILE),
    CALL(stat, CS_WAIT_FILE),
    CALL(lstat, CS_WAIT_FILE),
    CALL(access, CS_WAIT_FILE),
    CALL(rename, CS_WAIT_FILE),
    CALL(unlink, CS_WAIT_FILE),
    CALL(mkdir, CS_WAIT_FILE),
    CALL(rmdir, CS_WAIT_FILE),
    CALL(poll, CS_WAIT_POLL),
    CALL(select, CS_WAIT_POLL),
    CALL(epoll_wait, CS_WAIT_POLL),
    CALL(pause, CS_WAIT_SIGNAL),
#endif
    CALL(clone, CS_WAIT_CHILD), /* vfork and posix_spawn come so */
#ifdef __NR_clone3
    CALL(clone3, CS_WAIT_CHILD),
#endif
};
#define N_CALLS (sizeof calls / sizeof *calls)

enum cs_wait_reason cs_wait_reason_of_call(int call)
{
    for (unsigned i = 0; i < N_CALLS; i++)
        if (calls[i].call == call)
            return calls[i].reason;
    return CS_WAIT_OTHER;
}

static bool locks_a_file(int call)
{
    return call == __NR_flock || call == __NR_fcntl;
}

enum cs_wait_look cs_wait_look_of_call(int call)
{
    switch (call) {
#ifdef __x86_64__
    case __NR_poll:
#endif
    case __NR_ppoll:
        return CS_WAIT_LOOK_POLL;
#ifdef __x86_64__
    case __NR_select:
#endif
    case __NR_pselect6:
        return CS_WAIT_LOOK_SELECT;
#ifdef __x86_64__
    case __NR_epoll_wait:
#endif
#ifdef __NR_epoll_pwait2
    case __NR_epoll_pwait2:
#endif
    case __NR_epoll_pwait:
        return CS_WAIT_LOOK_EPOLL;
    default:
        break;
    }
    enum cs_wait_reason reason = cs_wait_reason_of_call(call);
    return reason == CS_WAIT_DESCRIPTOR || reason == CS_WAIT_SOCKET || reason == CS_WAIT_FILE ||
                   locks_a_file(call)
               ? CS_WAIT_LOOK_FIRST
               : CS_WAIT_LOOK_NOT;
}

const char *cs_wait_call_name(int call)
{
    for (unsigned i = 0; i < N_CALLS; i++)
        if (calls[i].call == call)
            return calls[i].name;
    return "";
}

const char *cs_wait_reason_name(unsigned reason)
{
    static const char *const names[CS_WAIT_REASONS] = {
        [CS_WAIT_RUN_QUEUE] = "run-queue", [CS_WAIT_LOCK] = "lock",
        [CS_WAIT_FILE] = "file",           [CS_WAIT_SOCKET] = "socket",
        [CS_WAIT_PIPE] = "pipe",           [CS_WAIT_POLL] = "poll",
        [CS_WAIT_SLEEP] = "sleep",         [CS_WAIT_CHILD] = "child",
        [CS_WAIT_SIGNAL] = "signal",       [CS_WAIT_FAULT] = "page-fault",
        [CS_WAIT_STOPPED] = "stopped",     [CS_WAIT_THROTTLED] = "throttled",
        [CS_WAIT_OTHER] = "other",         [CS_WAIT_DESCRIPTOR] = "read-write",
    };
#define OF_ALL(base)                                                                                         \
    {                                                                                                        \
        base ":accept", base ":client", base ":events", base ":socket", base ":pipe", base ":resolver",      \
            base ":sleep"                                                                                    \
    }
    static const char *const refined[][7] = {OF_ALL("poll"), OF_ALL("socket"), OF_ALL("read-write")};
    unsigned base = reason & 15, more = reason >> 4;
    if (reason == (CS_WAIT_LOCK | CS_WAIT_FOR_FILE_LOCK))
        return "lock:file-lock";
    if (more && more <= 7 && (base == CS_WAIT_POLL || base == CS_WAIT_SOCKET || base == CS_WAIT_DESCRIPTOR))
        return refined[base == CS_WAIT_POLL ? 0 : base == CS_WAIT_SOCKET ? 1 : 2][more - 1];
    return base < CS_WAIT_REASONS ? names[base] : "other";
}

static enum cs_wait_reason by_mode(enum cs_wait_reason reason, unsigned mode)
{
    if (reason != CS_WAIT_DESCRIPTOR && reason != CS_WAIT_SOCKET)
        return reason;
    return S_ISFIFO(mode)                                    ? CS_WAIT_PIPE
           : S_ISSOCK(mode)                                  ? CS_WAIT_SOCKET
           : S_ISREG(mode) || S_ISBLK(mode) || S_ISDIR(mode) ? CS_WAIT_FILE
                                                             : reason;
}

/* Who hands something on waits for somebody who doesn't take it: that one isn't idle. */
static bool hands_on(int call)
{
    static const int calls_of[] = {__NR_write,    __NR_writev,   __NR_sendto, __NR_sendmsg,
                                   __NR_sendmmsg, __NR_sendfile, __NR_splice};
    for (unsigned i = 0; i < sizeof calls_of / sizeof *calls_of; i++)
        if (calls_of[i] == call)
            return true;
    return false;
}

/* A reply came in this wait, or what was asked last has none yet. */
static bool is_under_way(const struct cs_wait_record *r, uint64_t tick_ns)
{
    return !r->has_ticks || r->sent_ticks <= r->received_ticks ||
           r->received_ticks * tick_ns <= r->in_ns - r->out_ns + tick_ns;
}

#define RESOLVER_PORT 53

static unsigned refined_of(const struct cs_wait_record *r, uint64_t tick_ns)
{
    const bool serves = r->classes & (1U << CS_WAIT_EVENTS | 1U << CS_WAIT_LISTENS | 1U << CS_WAIT_SERVES);
    switch (r->class) {
    case CS_WAIT_EVENTS:
        return CS_WAIT_FOR_EVENTS;
    case CS_WAIT_LISTENS:
        return CS_WAIT_FOR_CONNECTIONS;
    case CS_WAIT_SERVES:
        return hands_on(r->call) ? CS_WAIT_FOR_SOCKET : CS_WAIT_FOR_CLIENT;
    case CS_WAIT_PAIR:
        if (r->reason == CS_WAIT_POLL && r->waker_kind == CS_WAKER_NO_END && !serves) /* nothing tells yet */
            return CS_WAIT_PLAIN;
        return serves || r->waker_kind == CS_WAKER_INTERRUPT
                   ? CS_WAIT_FOR_EVENTS
                   : CS_WAIT_FOR_SOCKET; /* only a timeout interrupts it */
    case CS_WAIT_PIPES: /* beside connections and events it is what wakes the program itself */
        return serves ? CS_WAIT_FOR_EVENTS : CS_WAIT_FOR_PIPE;
    case CS_WAIT_ASKS:
        return !is_under_way(r, tick_ns)       ? CS_WAIT_FOR_EVENTS
               : r->peer_port == RESOLVER_PORT ? CS_WAIT_FOR_RESOLVER
                                               : CS_WAIT_FOR_SOCKET;
    default:
        return CS_WAIT_PLAIN;
    }
}

/* A poll or select of nothing: a sleep. */
static bool is_of_nothing(const struct cs_wait_record *r)
{
    switch (cs_wait_look_of_call(r->call)) {
    case CS_WAIT_LOOK_POLL:
        return !r->args[1];
    case CS_WAIT_LOOK_SELECT:
        return !r->args[0] || (!r->args[1] && !r->args[2] && !r->args[3]);
    default:
        return false;
    }
}

unsigned cs_wait_reason_of_record(const struct cs_wait_record *r, uint64_t tick_ns)
{
    enum cs_wait_reason plain = by_mode(r->reason, r->mode);
    if (r->reason == CS_WAIT_LOCK && locks_a_file(r->call))
        return CS_WAIT_LOCK | CS_WAIT_FOR_FILE_LOCK;
    if (r->reason != CS_WAIT_POLL && plain != CS_WAIT_SOCKET)
        return plain;
    if (r->reason == CS_WAIT_POLL && is_of_nothing(r))
        return CS_WAIT_POLL | CS_WAIT_FOR_TIME;
    unsigned refined = refined_of(r, tick_ns);
    if (!refined || (plain == CS_WAIT_SOCKET && refined == CS_WAIT_FOR_SOCKET))
        return plain;
    return r->reason | refined;
}
