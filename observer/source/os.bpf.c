// SPDX-License-Identifier: GPL-2.0-or-later
/* Keeps the line of os_line.h for one CPU or for each. Cost: about 30 ns a context switch (from Linux 6.16 on also a look at its end), and 50 ns a system call where
 * that was asked for. Thread and process ids are those of the initial PID namespace. */
#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "observer/source/os_line.h"

#define PF_KTHREAD 0x00200000

/* Only the fields that are used; their places come from the running kernel's BTF. */
struct task_struct {
    int pid, tgid;
    unsigned int flags;
} __attribute__((preserve_access_index));
struct pt_regs {
    unsigned long orig_ax;
} __attribute__((preserve_access_index));

const volatile unsigned int target_cpu = 0; /* or CS_OS_EVERY_CPU */
const volatile int syscalls = 0;

struct cs_os_line lines[CS_OS_CPUS_MAX];

#define STORE(to, value) (*(volatile unsigned long long *)&(to) = (value))

static __always_inline unsigned long long resumed_in(struct task_struct *next)
{
    if (next->flags & PF_KTHREAD)
        return 0;
    struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(next);
    long number = (long)BPF_CORE_READ(regs, orig_ax);
    return number >= 0 && number < 4096 ? (unsigned long long)number + 1 : 0;
}

/* This CPU's, or NULL. */
static __always_inline struct cs_os_line *kept(void)
{
    const unsigned int cpu = bpf_get_smp_processor_id();
    return target_cpu == CS_OS_EVERY_CPU || cpu == target_cpu ? &lines[cpu % CS_OS_CPUS_MAX] : NULL;
}

static __always_inline void runs_now(struct cs_os_line *line, struct task_struct *next)
{
    unsigned long long switches = (line->thread_id >> 32) + 1, now = bpf_ktime_get_ns();
    if (line->process == line->watched)
        STORE(line->ran_ns, line->ran_ns + now - line->since_ns);
    STORE(line->since_ns, now);
    if (syscalls)
        STORE(line->syscall, resumed_in(next));
    STORE(line->thread, (unsigned int)next->pid);
    STORE(line->process, (unsigned int)next->tgid);
    STORE(line->thread_id, switches << 32 | (unsigned int)next->pid);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, _Bool preempt, struct task_struct *prev, struct task_struct *next)
{
    struct cs_os_line *line = kept();
    if (line)
        runs_now(line, next);
    return 0;
}

/* Kernels of some cloud machines tell no switch away from threads that they keep to themselves: who came after such a one says
 * so when it is back. Linux 6.16. */
SEC("tp_btf/sched_exit_tp")
int BPF_PROG(on_back, _Bool is_switch)
{
    struct cs_os_line *line = kept();
    struct task_struct *now = bpf_get_current_task_btf();
    if (line && (unsigned int)now->pid != (unsigned int)line->thread_id)
        runs_now(line, now);
    return 0;
}

SEC("tp_btf/sys_enter")
int BPF_PROG(on_enter, struct pt_regs *regs, long id)
{
    struct cs_os_line *line = kept();
    if (line)
        STORE(line->syscall, (unsigned long long)id + 1);
    return 0;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(on_exit, struct pt_regs *regs, long ret)
{
    struct cs_os_line *line = kept();
    if (line)
        STORE(line->syscall, 0);
    return 0;
}

char LICENSE[] SEC("license") = "GPL";
