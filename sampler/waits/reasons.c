/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sampler/waits/reasons.h"

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

const char *cs_wait_call_name(int call)
{
    for (unsigned i = 0; i < N_CALLS; i++)
        if (calls[i].call == call)
            return calls[i].name;
    return "";
}

const char *cs_wait_reason_name(enum cs_wait_reason reason)
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
    return (unsigned)reason < CS_WAIT_REASONS ? names[reason] : "other";
}

enum cs_wait_reason cs_wait_reason_by_mode(enum cs_wait_reason reason, unsigned mode)
{
    if (reason != CS_WAIT_DESCRIPTOR && reason != CS_WAIT_SOCKET)
        return reason;
    return S_ISFIFO(mode)                                    ? CS_WAIT_PIPE
           : S_ISSOCK(mode)                                  ? CS_WAIT_SOCKET
           : S_ISREG(mode) || S_ISBLK(mode) || S_ISDIR(mode) ? CS_WAIT_FILE
                                                             : reason;
}
