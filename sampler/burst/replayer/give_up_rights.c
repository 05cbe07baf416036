/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An attacker who takes this process over has only the copies of pages that it made, two descriptors, and the calls
 * below. The descriptors read the target's memory and say which of its pages are there. See credentials(7),
 * capabilities(7), seccomp(2). */
#include "sampler/burst/replayer/give_up_rights.h"
#include "sampler/burst/replayer/replayer.h"
#include "sampler/burst/runner/runner.h"
#include "sampler/burst/runner/sys.h"
#include "store/base/unused_user.h"

#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/ioctl.h>
#include <linux/prctl.h>
#include <linux/seccomp.h>
#include <linux/userfaultfd.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/resource.h>

#define CAPABILITIES_MAX 64
#define X32 0x40000000U
#define REAL_TIME_US 200000 /* without a pause */

static bool is_user(uint32_t uid, uint32_t gid)
{
    uint32_t u[3], g[3];
    return SYS(__NR_getresuid, &u[0], &u[1], &u[2]) == 0 && SYS(__NR_getresgid, &g[0], &g[1], &g[2]) == 0 &&
           u[0] == uid && u[1] == uid && u[2] == uid && g[0] == gid && g[1] == gid && g[2] == gid;
}

static bool become(uint32_t uid, uint32_t gid)
{
    if (SYS(__NR_setgroups, 0, NULL) < 0 && !is_user(uid, gid))
        return false;
    return SYS(__NR_setresgid, gid, gid, gid) == 0 && SYS(__NR_setresuid, uid, uid, uid) == 0 &&
           is_user(uid, gid);
}

static bool become_unused(void)
{
    uint16_t drawn;
    return SYS(__NR_getrandom, &drawn, sizeof drawn, 0) == sizeof drawn &&
           become(CS_UNUSED_USER_FIRST + drawn, CS_UNUSED_USER_FIRST + drawn);
}

/* Root's programs are repeated as a user that has nothing else, or as nobody, where there is one of them. A profiler that may not
 * change its group, and isn't root, keeps it. */
static bool leave_user(uint32_t uid, uint32_t gid)
{
    uint32_t own_uid = (uint32_t)SYS(__NR_geteuid, 0), own_gid = (uint32_t)SYS(__NR_getegid, 0);
    return (uid == 0 && (become_unused() || become(CS_NOBODY, CS_NOBODY))) || become(uid, gid) ||
           (own_uid && become(own_uid, own_gid));
}

static bool leave_capabilities(void)
{
    struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct none[2] = {{0}};
    return SYS(__NR_capset, &head, none) == 0;
}

/* They can't come back: not by exec, which there is none of, nor by new files. */
static void bound_capabilities(void)
{
    SYS(__NR_prctl, PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    for (long i = 0; i < CAPABILITIES_MAX; i++) /* who may not do this has none to lose */
        SYS(__NR_prctl, PR_CAPBSET_DROP, i, 0, 0, 0);
}

static bool limit_resources(void)
{
    static const int zero[] = {RLIMIT_NPROC,  RLIMIT_FSIZE,    RLIMIT_CORE,
                               RLIMIT_NOFILE, RLIMIT_MSGQUEUE, RLIMIT_MEMLOCK};
    struct rlimit none = {0, 0};
    for (unsigned i = 0; i < sizeof zero / sizeof *zero; i++)
        if (SYS(__NR_prlimit64, 0, zero[i], &none, NULL) < 0)
            return false;
    /* By a real-time priority, which the holder lends it while a thread stands. */
    struct rlimit real_time = {REAL_TIME_US, REAL_TIME_US};
    return SYS(__NR_prlimit64, 0, RLIMIT_RTTIME, &real_time, NULL) == 0;
}

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offsetof(struct seccomp_data, field))
#define DIE BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)
#define ALLOW BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define IF(value, then, otherwise) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(value), then, otherwise)
/* Allows a call whatever it is called with; one whose argument is one of two values; one whose argument has
 * none of these bits. The low half of an argument is all that the kernel reads of an int. */
#define ANY(number) IF(number, 0, 1), ALLOW
#define ONE_OF(number, argument, a, b)                                                                       \
    IF(number, 0, 5), LOAD(args[argument]), IF(a, 1, 0), IF(b, 0, 1), ALLOW, DIE
#define WITHOUT(number, argument, bits)                                                                      \
    IF(number, 0, 4), LOAD(args[argument]), BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, bits, 1, 0), ALLOW, DIE

static bool filter_calls(int faults, int self)
{
    const struct sock_filter filter[] = {
        LOAD(arch),
        IF(AUDIT_ARCH_X86_64, 1, 0),
        DIE,
        LOAD(nr), /* x32's numbers are none of these */
        ONE_OF(__NR_futex, 1, FUTEX_WAIT, FUTEX_WAKE),
        ONE_OF(__NR_pread64, 0, CS_BURST_FD_MEMORY, CS_BURST_FD_PAGES),
        ANY(__NR_rt_sigreturn),
        ANY(__NR_exit_group),
        ANY(__NR_munmap),
        ANY(__NR_mremap),
        ANY(__NR_madvise),
        WITHOUT(__NR_mprotect, 2, PROT_EXEC),
        /* mmap: anonymous memory that isn't run */
        IF(__NR_mmap, 0, 6),
        LOAD(args[2]),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 2, 0),
        LOAD(args[3]),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, MAP_ANONYMOUS, 1, 0),
        DIE,
        ALLOW,
        /* ioctl: of the descriptor of faults */
        IF(__NR_ioctl, 0, 7),
        LOAD(args[0]),
        IF(faults, 0, 4),
        LOAD(args[1]),
        IF((uint32_t)UFFDIO_COPY, 1, 0),
        IF((uint32_t)UFFDIO_REGISTER, 0, 1),
        ALLOW,
        DIE,
        ONE_OF(__NR_process_madvise, 0, self, self),
        ANY(have_fsgsbase ? X32 : __NR_arch_prctl),
        DIE,
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, (struct sock_filter *)filter};
    /* What the processor guesses in here it may guess: all that is secret here is the target's own. */
    return SYS(__NR_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW, &program) == 0;
}

/* Dies with its parent: said after all else, because who changes its user is asked again. */
static bool die_with(int32_t parent)
{
    return SYS(__NR_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == 0 && SYS(__NR_getppid, 0) == parent;
}

bool give_up_rights(int32_t parent, uint32_t uid, uint32_t gid, int faults, int self)
{
    bound_capabilities();
    return leave_user(uid, gid) && leave_capabilities() && limit_resources() &&
           SYS(__NR_prctl, PR_SET_DUMPABLE, 0, 0, 0, 0) == 0 &&
           SYS(__NR_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && die_with(parent) &&
           filter_calls(faults, self);
}
