/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Into translated code and out of it, by signals. The kernel builds a frame with every register and the
 * vector state, the handler changes the frame, the kernel puts it back. Nothing else could restore the whole
 * state of any machine in so little code.
 *
 *     run_burst: exit stub ──► handler: own frame aside, target's registers into it ──► translated code
 *        ▲                                                                          │ fault, exit stub
 *        └────────── own frame back, when the burst ends ◄── handler ◄──────────────┘
 *                                                              └──► page or translation, then on
 */
#include "sampler/burst/replayer/translator/signal_entry.h"
#include "sampler/burst/replayer/translator/block_code.h"
#include "sampler/burst/replayer/translator/pages.h"
#include "sampler/burst/replayer/translator/translate.h"
#include "sampler/burst/runner/libc.h"
#include "sampler/burst/runner/sys.h"
#include "sampler/burst/runner/thread.h"

#include <asm/prctl.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#define GUARD_BYTES (64 << 10)
static uint8_t trace[TRACE_BYTES + GUARD_BYTES] __attribute__((aligned(2 << 20)));
#define TRACE_END (trace + TRACE_BYTES)
#define TRACE_WARM (10 << 20) /* a long burst seldom needs more */
bool have_fsgsbase;
extern const uint8_t burst_over[];

static struct {
    bool running;
    const struct registers *registers;
    const uint8_t *xstate;
    uint64_t xstate_bytes, deadline, fs, gs;
    gregset_t own;
    struct run *run;
} now;

static uint64_t base_get(bool gs)
{
    uint64_t value = 0;
    if (have_fsgsbase) {
        if (gs)
            __asm__ volatile("rdgsbase %0" : "=r"(value));
        else
            __asm__ volatile("rdfsbase %0" : "=r"(value));
    } else {
        SYS(__NR_arch_prctl, gs ? ARCH_GET_GS : ARCH_GET_FS, &value);
    }
    return value;
}

static void base_set(bool gs, uint64_t value)
{
    if (!have_fsgsbase)
        SYS(__NR_arch_prctl, gs ? ARCH_SET_GS : ARCH_SET_FS, value);
    else if (gs)
        __asm__ volatile("wrgsbase %0" : : "r"(value));
    else
        __asm__ volatile("wrfsbase %0" : : "r"(value));
}

/* MXCSR (SDM volume 1, 10.2.3) in the legacy area: flags that arithmetic sets and nobody clears. They are cleared in the copy
 * alone. A program that reads them there sees what the burst did. */
#define MXCSR_AT 24
#define DENORMAL_OPERAND (1U << 1)
#define UNDERFLOW (1U << 4)
#define FLUSHES_TO_ZERO (1U << 15)

static uint32_t *mxcsr_of(ucontext_t *context)
{
    return (uint32_t *)(void *)((uint8_t *)context->uc_mcontext.fpregs + MXCSR_AT);
}

#define FP_MAGIC 0x46505853U /* in the frame's reserved words when an extended area follows */
#define XFEATURE_PKRU (1ULL << 9)

static void load_vectors(uint8_t *frame)
{
    uint32_t magic = *(uint32_t *)(frame + 464), bytes = *(uint32_t *)(frame + 480);
    uint64_t features = *(uint64_t *)(frame + 472);
    memcpy(frame, now.xstate, 464);
    if (magic != FP_MAGIC || now.xstate_bytes < 576)
        return;
    memcpy(frame + 512, now.xstate + 512, (bytes < now.xstate_bytes ? bytes : now.xstate_bytes) - 512);
    *(uint64_t *)(frame + 512) &= features & ~XFEATURE_PKRU;
}

#define EFLAGS_KEPT 0x0cd5U /* status flags and direction: not single-step, not alignment check */

static void load_registers(greg_t *g, const struct registers *r)
{
    const uint64_t values[][2] = {
        {REG_R8, r->r8},   {REG_R9, r->r9},   {REG_R10, r->r10}, {REG_R11, r->r11},
        {REG_R12, r->r12}, {REG_R13, r->r13}, {REG_R14, r->r14}, {REG_R15, r->r15},
        {REG_RDI, r->rdi}, {REG_RSI, r->rsi}, {REG_RBP, r->rbp}, {REG_RBX, r->rbx},
        {REG_RDX, r->rdx}, {REG_RAX, r->rax}, {REG_RCX, r->rcx}, {REG_RSP, r->rsp},
    };
    for (unsigned i = 0; i < sizeof values / sizeof *values; i++)
        g[values[i][0]] = (greg_t)values[i][1];
    g[REG_EFL] = (greg_t)((r->eflags & EFLAGS_KEPT) | 0x202);
}

static void end_burst(ucontext_t *context, enum cs_burst_cause cause, uint64_t next, bool partial)
{
    now.run->cause = cause;
    now.run->next = next;
    now.run->end = (const uint8_t *)hot.cursor;
    now.run->last_partial = partial;
    const uint32_t flags = *mxcsr_of(context);
    now.run->denormal = flags & DENORMAL_OPERAND || (flags & UNDERFLOW && !(flags & FLUSHES_TO_ZERO));
    memcpy(context->uc_mcontext.gregs, now.own, sizeof now.own);
    now.running = false;
    now.fs = (uint64_t)own_fs;
}

static void go_on_at(ucontext_t *context, uint64_t pc, struct block **found)
{
    struct block *block = translations_full() ? NULL : translate(pc);
    *found = block;
    if (block)
        context->uc_mcontext.gregs[REG_RIP] = (greg_t)block->code;
    else
        end_burst(context, translations_full() ? CS_BURST_TRACE_FULL : translate_cause, pc, false);
}

static void enter(ucontext_t *context)
{
    greg_t *g = context->uc_mcontext.gregs;
    memcpy(now.own, g, sizeof now.own);
    now.own[REG_RIP] = (greg_t)burst_over;
    load_registers(g, now.registers);
    load_vectors((uint8_t *)context->uc_mcontext.fpregs);
    *mxcsr_of(context) &= ~(DENORMAL_OPERAND | UNDERFLOW);
    now.fs = now.registers->fs_base;
    base_set(true, now.registers->gs_base);
    now.running = true;
    struct block *block;
    go_on_at(context, now.registers->rip, &block);
}

static void on_exit_stub(ucontext_t *context, uint32_t exit_stub)
{
    struct block *block;
    if (exit_stub >= STUB_MISS) {
        go_on_at(context, translation_link_target(exit_stub - STUB_MISS), &block);
    } else if (exit_stub >= STUB_STOP) {
        block = &blocks[exit_stub - STUB_STOP];
        end_burst(context, block->cause, block->pc + block->bytes, false);
    } else {
        go_on_at(context, hot.target, &block);
        if (block)
            translation_remember_indirect(block);
    }
}

static void on_fault(ucontext_t *context, uint64_t addr)
{
    uint64_t error = (uint64_t)context->uc_mcontext.gregs[REG_ERR];
    bool write = error & 2;
    if (addr - (uint64_t)trace < sizeof trace) {
        /* In a block's entry: the blocks before are whole. Or at a slot that is noted later than the entry:
         * the cursor stands behind this block's record already, which the trace holds in part. */
        end_burst(context, CS_BURST_FULL, 0, hot.cursor > (uint64_t)TRACE_END);
    } else if (addr - CS_BURST_BASE < CS_BURST_SPAN) {
        end_burst(context, CS_BURST_COLLISION, 0, true);
    } else {
        enum cs_burst_cause cause = page_in(addr, write);
        if (cause != CS_BURST_FULL)
            end_burst(context, cause, addr, true);
    }
}

static void handler(int number, siginfo_t *signal, void *argument)
{
    ucontext_t *context = argument;
    greg_t *g = context->uc_mcontext.gregs;
    uint64_t rip = (uint64_t)g[REG_RIP];
    if (now.running)
        now.fs = base_get(false);
    base_set(false, (uint64_t)own_fs);
    uint64_t exit_stub = rip - (uint64_t)exit_stubs;
    if (exit_stub == STUB_ENTER && !now.running) {
        enter(context);
    } else if (!now.running || !(in_cache(rip) || exit_stub - STUB_INDIRECT < EXIT_STUBS - STUB_INDIRECT)) {
        die(76); /* a fault of our own */
    } else if (tsc() > now.deadline) {
        end_burst(context, CS_BURST_TIME, 0, true);
    } else if (exit_stub < EXIT_STUBS) {
        on_exit_stub(context, (uint32_t)exit_stub);
    } else if ((number == SIGSEGV || number == SIGBUS) && signal->si_code > 0 &&
               signal->si_code != SI_KERNEL && g[REG_TRAPNO] == 14) {
        on_fault(context, (uint64_t)signal->si_addr);
    } else {
        end_burst(context, number == SIGILL ? CS_BURST_UNSUPPORTED : CS_BURST_FAULT, 0, true);
    }
    base_set(false, now.fs);
}

struct kernel_sigaction {
    void (*handler)(int, siginfo_t *, void *);
    unsigned long flags;
    void (*restorer)(void);
    unsigned long mask;
};
#define SA_RESTORER 0x04000000UL

static uint8_t signal_stack[131072] __attribute__((aligned(4096)));

void signals_install(void)
{
    stack_t alternative = {.ss_sp = signal_stack, .ss_size = sizeof signal_stack};
    SYS(__NR_sigaltstack, &alternative, NULL);
    static const int numbers[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP};
    struct kernel_sigaction action = {handler, SA_SIGINFO | SA_ONSTACK | SA_NODEFER | SA_RESTORER,
                                      signal_return, 0};
    for (unsigned i = 0; i < sizeof numbers / sizeof *numbers; i++)
        SYS(__NR_rt_sigaction, numbers[i], &action, NULL, 8);
    SYS(__NR_mprotect, TRACE_END, GUARD_BYTES, PROT_NONE);
    SYS(__NR_mprotect, exit_stubs, (EXIT_STUBS + PAGE - 1) & ~(PAGE - 1), PROT_NONE);
    SYS(__NR_madvise, trace, TRACE_BYTES, MADV_HUGEPAGE);
    translations_flush();
}

/* To bring a big page takes milliseconds, or a hundred of them: not while a thread is stopped. */
void trace_prepare(void)
{
    for (uint8_t *at = TRACE_END - TRACE_WARM; at < TRACE_END; at += PAGE)
        *(volatile uint8_t *)at = 0;
}

void trace_rest(void)
{
    SYS(__NR_madvise, trace, TRACE_BYTES, MADV_DONTNEED);
}

__attribute__((noinline)) void run_burst(const struct registers *registers, const void *xstate,
                                         uint64_t xstate_bytes, uint64_t trace_bytes, uint64_t deadline,
                                         struct run *run)
{
    now.registers = registers;
    now.xstate = xstate;
    now.xstate_bytes = xstate_bytes;
    now.deadline = deadline;
    now.run = run;
    run->start = TRACE_END - (trace_bytes < TRACE_BYTES ? trace_bytes : TRACE_BYTES);
    hot.cursor = (uint64_t)run->start;
    __asm__ volatile("jmp exit_stubs\n"
                     "burst_over:"
                     :
                     :
                     : "memory");
}
