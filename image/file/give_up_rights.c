/* SPDX-License-Identifier: GPL-2.0-or-later */
/* credentials(7), capabilities(7), seccomp(2). The user is changed only by system calls: the C library's functions
 * would notify threads that a forked process doesn't have. */
#include "image/file/give_up_rights.h"
#include "store/base/unused_user.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CAPABILITIES_MAX 64
#define DESCRIPTORS_MAX 64

#if defined __x86_64__
#define MACHINE AUDIT_ARCH_X86_64
#elif defined __aarch64__
#define MACHINE AUDIT_ARCH_AARCH64
#elif defined __riscv
#define MACHINE AUDIT_ARCH_RISCV64
#endif

/* All but these two. */
static bool close_others(int a, int b)
{
    unsigned low = (unsigned)(a < b ? a : b), high = (unsigned)(a < b ? b : a);
    return (low == 0 || syscall(SYS_close_range, 0, low - 1, 0) == 0) &&
           (high == low + 1 || syscall(SYS_close_range, low + 1, high - 1, 0) == 0) &&
           syscall(SYS_close_range, high + 1, ~0U, 0) == 0;
}

static bool become(uint32_t user)
{
    return syscall(SYS_setresgid, user, user, user) == 0 && syscall(SYS_setresuid, user, user, user) == 0 &&
           geteuid() == user;
}

/* Who isn't root has a user already; its further groups it can't give back. */
static bool leave_user(void)
{
    uint16_t drawn;
    if (geteuid() != 0)
        return true;
    (void)syscall(SYS_setgroups, 0, NULL);
    return (syscall(SYS_getrandom, &drawn, sizeof drawn, 0) == sizeof drawn &&
            become(CS_UNUSED_USER_FIRST + drawn)) ||
           become(CS_NOBODY);
}

static bool leave_capabilities(void)
{
    struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct none[2] = {{0}, {0}};
    return syscall(SYS_capset, &head, none) == 0;
}

static void bound_capabilities(void)
{
    for (unsigned long i = 0; i < CAPABILITIES_MAX; i++) /* who may not do this has none to lose */
        (void)prctl(PR_CAPBSET_DROP, i, 0, 0, 0);
}

#ifdef MACHINE
#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offsetof(struct seccomp_data, field))
#define REFUSE BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM)
#define ALLOW BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define IF(value, then, otherwise) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(value), then, otherwise)
#define ANY(number) IF(number, 0, 1), ALLOW
/* One whose argument, an int, has none of these bits. */
#define WITHOUT(number, argument, bits)                                                                      \
    IF(number, 0, 4), LOAD(args[argument]), BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, bits, 1, 0), ALLOW, REFUSE

/* What reading files and memory takes. */
static bool filter_calls(void)
{
    static const struct sock_filter filter[] = {
        LOAD(arch),
        IF(MACHINE, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        LOAD(nr), /* x32's numbers are none of these */
        WITHOUT(SYS_openat, 2, O_WRONLY | O_RDWR | O_CREAT | O_TRUNC),
        WITHOUT(SYS_mmap, 2, PROT_EXEC),
        WITHOUT(SYS_mprotect, 2, PROT_EXEC),
        ANY(SYS_read),
        ANY(SYS_pread64),
        ANY(SYS_write),
        ANY(SYS_lseek),
        ANY(SYS_close),
        ANY(SYS_fstat),
        ANY(SYS_newfstatat),
        ANY(SYS_readlinkat),
#ifdef SYS_readlink
        ANY(SYS_readlink),
#endif
        ANY(SYS_munmap),
        ANY(SYS_mremap),
        ANY(SYS_madvise),
        ANY(SYS_brk),
        ANY(SYS_futex),
        ANY(SYS_getrandom),
        ANY(SYS_sysinfo),
        ANY(SYS_clock_gettime),
        ANY(SYS_rt_sigreturn),
        ANY(SYS_exit_group),
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
        ANY(SYS_sigaltstack),
        ANY(SYS_gettid),
        ANY(SYS_sched_yield),
        ANY(SYS_rt_sigprocmask),
        ANY(SYS_rt_sigaction),
#endif
        REFUSE,
    };
    const struct sock_fprog program = {sizeof filter / sizeof *filter,
                                       (struct sock_filter *)(uintptr_t)filter};
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}
#else
static bool filter_calls(void)
{
    return true;
}
#endif

bool cs_give_up_rights(pid_t parent, int fd, int other)
{
    assert(fd >= 0 && other >= 0 /* those that it keeps */);
    const struct rlimit descriptors = {DESCRIPTORS_MAX, DESCRIPTORS_MAX}, none = {0, 0};
    bound_capabilities();
    return close_others(fd, other) && leave_user() && leave_capabilities() &&
           setrlimit(RLIMIT_NOFILE, &descriptors) == 0 && setrlimit(RLIMIT_NPROC, &none) == 0 &&
           prctl(PR_SET_DUMPABLE, 0) == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == parent && filter_calls();
}
