/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The process in which code of strangers runs. It is a program of its own, so that nothing of ours is in its memory. Before
 * that code it closes all files, is nobody, and has no capabilities. It may end, return from a signal, and map a page of
 * anonymous memory that can't be run: credentials(7), capabilities(7), seccomp(2). Its CPU time is bounded here, its time by
 * the process that waits for it. An attacker who takes it over has the order's memory, and may answer what they like. */
#include "analysis/experiment/child/order.h"
#include "store/base/raw_calls.h"
#include "store/base/unused_user.h"

#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/prctl.h>
#include <linux/seccomp.h>
#include <linux/signal.h>
#include <stdbool.h>
#include <stddef.h>

enum {
    PAGE = 4096,
    PAGES_MOST = 12, /* a first-level cache of 48 KB, and the ways of one of 32 KB */
    TRIES = 3,       /* where other work disturbs */
    CPU_SECONDS = 1,
    CAPABILITIES_MAX = 64,
    PROTECT_RW = 3,
    PROTECT_RX = 5,
    MAP_SHARED_ = 1,
    MAP_FRESH = 0x100022, /* private, anonymous, nothing there yet */
    LIMIT_CPU = 0,
    LIMIT_FILES = 7,
    LIMIT_PROCESSES = 6,
    LIMIT_CORE = 4,
    LIMIT_SPACE = 9,
};

static struct order *order;
static volatile unsigned n_pages;

void *memcpy(void *to, const void *from, size_t n);
void *memset(void *to, int byte, size_t n);
void begin(void);

void *memcpy(void *to, const void *from, size_t n)
{
    void *result = to;
    __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n) : : "memory");
    return result;
}

void *memset(void *to, int byte, size_t n)
{
    void *result = to;
    __asm__ volatile("rep stosb" : "+D"(to), "+c"(n) : "a"(byte) : "memory");
    return result;
}

static _Noreturn void leave(enum order_trouble why)
{
    order->trouble = why;
    for (;;)
        SYS(__NR_exit_group, why != ORDER_DONE);
}

/* Eight places of four pages, so that a chase goes about, and stays near. */
static void fill_page(uint64_t page)
{
    uint64_t *word = (uint64_t *)(uintptr_t)page; /* NOLINT */
    uint64_t draw = page * UINT64_C(0x9e3779b97f4a7c15) | 1;
    for (unsigned i = 0; i < PAGE / 8; i++) {
        draw ^= draw << 13;
        draw ^= draw >> 7;
        draw ^= draw << 17;
        const uint64_t place = draw >> 40 & 7;
        word[i] = order->fill == ORDER_FILL_POINTERS
                      ? order->pool + (place & 3) * PAGE + 0x400 + place * 0x140
                  : order->fill == ORDER_FILL_FLOAT ? UINT64_C(0x3ff000003ff00000)
                  : order->fill == ORDER_FILL_SAME  ? 7
                  : order->grain == 1               ? draw & UINT64_C(0x3f3f3f3f3f3f3f3f)
                  : order->grain == 2               ? draw & UINT64_C(0x003f003f003f003f)
                  : order->grain == 4               ? draw & UINT64_C(0x0000003f0000003f)
                                                    : draw & 0x3f;
    }
}

static void at_fault(int signal, siginfo_t *info, void *context)
{
    (void)context;
    const uint64_t page = (uint64_t)(uintptr_t)info->si_addr & ~(uint64_t)(PAGE - 1);
    if (signal != SIGSEGV)
        leave(signal == SIGFPE ? ORDER_DIVISION : ORDER_SIGNAL);
    if (info->si_code == SI_KERNEL || page < 16 * PAGE || page >= UINT64_C(1) << 47)
        leave(ORDER_WILD);
    if (++n_pages > PAGES_MOST)
        leave(ORDER_PAGES);
    if (SYS(__NR_mmap, page, PAGE, PROTECT_RW, MAP_FRESH, -1, 0) != (long)page)
        leave(ORDER_WILD);
    fill_page(page);
}

__asm__(".globl back_from_signal\nback_from_signal: mov $15, %eax\nsyscall");
__attribute__((visibility("hidden"))) void back_from_signal(void);

static bool catch_faults(void)
{
    static _Alignas(64) uint8_t stack[65536];
    const struct {
        void *at;
        int flags;
        size_t size;
    } other = {stack, 0, sizeof stack};
    const struct {
        void (*handler)(int, siginfo_t *, void *);
        unsigned long flags;
        void (*restorer)(void);
        unsigned long mask;
    } action = {at_fault, SA_SIGINFO | SA_ONSTACK | 0x04000000, back_from_signal, 0};
    bool ok = SYS(__NR_sigaltstack, &other, 0) == 0;
    static const int signals[] = {SIGSEGV, SIGFPE, SIGBUS, SIGILL, SIGTRAP};
    for (unsigned k = 0; k < sizeof signals / sizeof *signals; k++)
        ok = ok && SYS(__NR_rt_sigaction, signals[k], &action, 0, 8) == 0;
    return ok;
}

static bool become(uint32_t user)
{
    SYS(__NR_setgroups, 0, 0);
    return SYS(__NR_setresgid, user, user, user) == 0 && SYS(__NR_setresuid, user, user, user) == 0 &&
           SYS(__NR_geteuid, 0) == user;
}

static bool leave_user(void)
{
    uint16_t drawn;
    return SYS(__NR_geteuid, 0) != 0 ||
           (SYS(__NR_getrandom, &drawn, sizeof drawn, 0) == sizeof drawn &&
            become(CS_UNUSED_USER_FIRST + drawn)) ||
           become(CS_NOBODY);
}

static bool limit(long what, uint64_t most)
{
    const uint64_t both[2] = {most, most};
    return SYS(__NR_prlimit64, 0, what, both, 0) == 0;
}

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offsetof(struct seccomp_data, field))
#define LOAD_HIGH(field)                                                                                     \
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offsetof(struct seccomp_data, field) + 4)
#define DIE BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)
#define ALLOW BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define IF(value, then, otherwise) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(value), then, otherwise)
/* Else the process ends. */
#define EXACTLY(argument, value)                                                                             \
    LOAD(args[argument]), IF(value, 1, 0), DIE, LOAD_HIGH(args[argument]), IF(0, 1, 0), DIE

static bool filter_calls(void)
{
    static const struct sock_filter filter[] = {
        LOAD(arch),
        IF(AUDIT_ARCH_X86_64, 1, 0),
        DIE,
        LOAD(nr), /* x32's numbers are none of these */
        IF(__NR_rt_sigreturn, 0, 1),
        ALLOW,
        IF(__NR_exit_group, 0, 1),
        ALLOW,
        IF(__NR_mmap, 1, 0),
        DIE,
        EXACTLY(1, PAGE),
        EXACTLY(2, PROTECT_RW),
        EXACTLY(3, MAP_FRESH),
        ALLOW,
    };
    const struct sock_fprog program = {sizeof filter / sizeof *filter,
                                       (struct sock_filter *)(uintptr_t)filter};
    return SYS(__NR_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW, &program) == 0;
}

static bool give_up_rights(void)
{
    struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct none[2] = {{0}};
    for (long i = 0; i < CAPABILITIES_MAX; i++) /* who may not do this has none to lose */
        SYS(__NR_prctl, PR_CAPBSET_DROP, i, 0, 0, 0);
    return leave_user() && SYS(__NR_capset, &head, none) == 0 && limit(LIMIT_CPU, CPU_SECONDS) &&
           limit(LIMIT_FILES, 0) && limit(LIMIT_PROCESSES, 0) && limit(LIMIT_CORE, 0) &&
           limit(LIMIT_SPACE, 16 << 20) && SYS(__NR_prctl, PR_SET_DUMPABLE, 0, 0, 0, 0) == 0 &&
           SYS(__NR_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           SYS(__NR_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == 0 &&
           SYS(__NR_getppid, 0) == order->parent && filter_calls();
}

/* Code and routine at their places, not to be written from then on. */
static bool place_code(void)
{
    const uint64_t from = order->first & ~(uint64_t)(PAGE - 1),
                   size = (order->first - from + order->n + PAGE - 1) & ~(uint64_t)(PAGE - 1);
    uint8_t *routine = (uint8_t *)SYS(__NR_mmap, 0, BARE_ROUTINE_BYTES, PROTECT_RW, 0x22, -1, 0);
    if ((long)routine < 0 || SYS(__NR_mmap, from, size, PROTECT_RW, MAP_FRESH, -1, 0) != (long)from)
        return false;
    uint8_t *code = (uint8_t *)(uintptr_t)order->first; /* NOLINT */
    const struct bare_loop loop = {
        .head = order->first + order->head, .counter = order->counter, .state = order->state};
    memset((void *)(uintptr_t)from, 0xcc, size); /* NOLINT */
    memcpy(code, order->code, order->n);
    const uint64_t to = bare_prepare(routine, &loop);
    memcpy(code + order->exit_at, &to, sizeof to);
    return SYS(__NR_mprotect, routine, BARE_ROUTINE_BYTES, PROTECT_RX) == 0 &&
           SYS(__NR_mprotect, from, size, PROTECT_RX) == 0;
}

__attribute__((force_align_arg_pointer)) void begin(void)
{
    order = (struct order *)SYS(__NR_mmap, 0, sizeof *order, PROTECT_RW, MAP_SHARED_, ORDER_FD, 0);
    if ((long)order < 0)
        for (;;)
            SYS(__NR_exit_group, 1);
    if (SYS(__NR_close_range, 0, ~0U, 0) != 0 || !place_code() || !catch_faults() || !give_up_rights())
        leave(ORDER_RIGHTS);
    struct bare_time best = {.spread = 1e9};
    for (int k = 0; k < TRIES && best.spread > 1; k++) {
        struct bare_time time;
        bare_measure(order->registers, &n_pages, &time);
        if (time.spread < best.spread)
            best = time;
    }
    order->time = best;
    leave(ORDER_DONE);
}

/* The stack as a caller would leave it. */
__asm__(".globl _start\n_start: xor %ebp, %ebp\nand $-16, %rsp\ncall begin\nhlt");
