/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The programs are compiled twice: for Linux 5.17 and later, and with CS_OLD_KERNEL for 5.8 to 5.16. An old kernel's
 * verifier knows no pointer to a task but a tracepoint's. It has no functions that take pointers, no exchange in
 * memory, and no bpf_loop. There the kernel doesn't unwind, but hands on a copy of every sample's stack. Included by
 * unwind.bpf.h. */
#pragma once

#define KERNEL_STACK 16384 /* THREAD_SIZE */

struct task_struct___stack {
    void *stack;
} __attribute__((preserve_access_index));

#ifdef CS_OLD_KERNEL
#define VERIFIED_ONCE static __always_inline
#define CURRENT_TASK() ((struct task_struct *)bpf_get_current_task())
#define OF(pointer, ...) BPF_CORE_READ(pointer, __VA_ARGS__)
#define READ_BITS(pointer, field) BPF_CORE_READ_BITFIELD_PROBED(pointer, field)
/* What the user's registers lie in, at the very top of the task's kernel stack. */
#define USER_REGISTERS(task, type)                                                                           \
    ((type *)((char *)BPF_CORE_READ((struct task_struct___stack *)(task), stack) + KERNEL_STACK -            \
              bpf_core_type_size(struct pt_regs___size)))
struct pt_regs___size {
    int unused;
};
#else
#define VERIFIED_ONCE __attribute__((noinline))
#define CURRENT_TASK() bpf_get_current_task_btf()
#define OF(pointer, field) ((pointer)->field)
#define READ_BITS(pointer, field) BPF_CORE_READ_BITFIELD(pointer, field)
#define USER_REGISTERS(task, type) ((type *)bpf_task_pt_regs(task))
#endif
