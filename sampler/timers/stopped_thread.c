/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sampler/timers/stopped_thread.h"
#include "store/base/foreign.h"

#ifdef __riscv
#include <asm/ptrace.h>
#include <assert.h>
#endif
#include <elf.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <unistd.h>

#ifdef __x86_64__
#define MACHINE EM_X86_64
#define BELOW_SP CS_UNWIND_X86_RED_ZONE
#elif defined __riscv
#define MACHINE EM_RISCV
#define BELOW_SP 0
#else
#define MACHINE EM_AARCH64
#define BELOW_SP 0
#endif

bool stopped_thread_note(struct stopped_thread *s, pid_t tid, int memory)
{
    struct user_regs_struct r;
    struct iovec io = {&r, sizeof r};
    if (ptrace(PTRACE_GETREGSET, tid, NT_PRSTATUS, &io) != 0 || io.iov_len != sizeof r)
        return false;
    s->frame = (struct cs_unwind_frame){.known = CS_UNWIND_KNOWS_ALL, .leaf = true};
#ifdef __x86_64__
    const uint64_t all[16] = {r.rax, r.rdx, r.rcx, r.rbx, r.rsi, r.rdi, r.rbp, r.rsp,
                              r.r8,  r.r9,  r.r10, r.r11, r.r12, r.r13, r.r14, r.r15};
    memcpy(s->frame.registers, all, sizeof all);
    s->frame.pc = r.rip;
    s->from = r.rsp;
#elif defined __riscv
    memcpy(s->frame.registers, &r, 32 * sizeof r.pc); /* in DWARF's order, with pc in x0's place */
    s->frame.registers[0] = 0;
    s->from = r.sp;
    s->frame.pc = r.pc;
#else
    memcpy(s->frame.registers, r.regs, 31 * sizeof r.regs[0]);
    s->frame.registers[31] = s->from = r.sp;
    s->frame.pc = r.pc;
#endif
    s->from &= ~7ULL;
    ssize_t n = memory >= 0 ? cs_foreign_read(memory, s->from - BELOW_SP, s->stack, sizeof s->stack) : 0;
    if (n > 0)
        s->from -= BELOW_SP;
    else if (memory >= 0 && BELOW_SP > 0) /* the stack's first page, and no other is below it */
        n = cs_foreign_read(memory, s->from, s->stack, sizeof s->stack);
    s->n = n > 0 ? (size_t)n : 0;
    return true;
}

struct space {
    const struct stopped_thread *stopped;
    const struct process_tables *tables;
};

static bool read_copy(void *arg, uint64_t addr, uint64_t *value)
{
    const struct stopped_thread *s = ((const struct space *)arg)->stopped;
    uint64_t at = addr - s->from;
    if (s->n < sizeof *value || at > s->n - sizeof *value)
        return false;
    memcpy(value, s->stack + at, sizeof *value);
    return true;
}

static const struct cs_unwind_header *table_at(void *arg, uint64_t pc, uint64_t *to_vaddr, bool *code)
{
    const struct process_table *t = process_tables_find(((const struct space *)arg)->tables, pc);
    size_t n;
    *code = t != NULL;
    *to_vaddr = t ? t->to_vaddr : 0;
    return t && t->unwind ? cs_unwind_table(t->unwind, &n) : NULL;
}

size_t stopped_thread_chain(const struct stopped_thread *stopped, const struct process_tables *tables,
                            uint64_t *pcs, size_t room, enum cs_unwind_end *end)
{
    assert(room > 0);
    struct space ours = {stopped, tables};
    const struct cs_unwind_space space = {read_copy, table_at, &ours, MACHINE};
    struct cs_unwind_frame frame = stopped->frame;
    size_t n;
    *end = cs_unwind_chain(&frame, &space, pcs, room, &n);
    return n;
}
