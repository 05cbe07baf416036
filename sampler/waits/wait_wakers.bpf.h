/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whose doing a wake-up is: the thread's that runs there, or an interrupt's that came while it ran. Only waits.bpf.h includes
 * it.
 *
 * An interrupt runs on a stack of its own, or on the thread's where that was empty: then the thread is in no call. One on
 * whose way out a call of this thread's sent something (to the loopback) is the thread's doing all the same. Then the
 * chain leads through the function that lets such interrupts run. That of a timer leads through those of timers. */
#pragma once

#include "sampler/waits/wait_rows.bpf.h"

#define WAKER_FRAMES 64
#define SOFTIRQ_THREAD 0x71726974666f736bULL /* "ksoftirq" */

static __always_inline int lies_in(__u64 addr, __u32 way)
{
    return addr - wait_ways[way].start < wait_ways[way].size;
}

VERIFIED_ONCE int wait_sends(struct cs_wait_record *r, __u32 n)
{
    if (!r || !wait_ways[CS_WAIT_WAY_OF_CALL].size)
        return 1; /* not known: as if */
    for (__u32 i = 0; i < WAKER_FRAMES && i < n; i++) {
        __u64 addr = r->frames[i];
        if (lies_in(addr, CS_WAIT_WAY_OF_TIMER) || lies_in(addr, CS_WAIT_WAY_OF_OLD_TIMER))
            return 0;
        if (lies_in(addr, CS_WAIT_WAY_OF_CALL))
            return 1;
    }
    return 0;
}

/* `ctx` lies on the stack that is in use. */
static __always_inline __u8 waker_kind(void *ctx, struct cs_wait_record *r, struct task_struct *current_task,
                                       __u8 waits_for)
{
    struct task_struct___waits *waker = (void *)current_task;
    if (!OF(waker, pid))
        return CS_WAKER_INTERRUPT;
    *(void *volatile *)&r->frames[0] = ctx; /* through memory, that it be a number */
    int own = *(volatile __u64 *)&r->frames[0] - (__u64)BPF_CORE_READ(waker, stack) < KERNEL_STACK;
    if (OF(waker, flags) & (PF_KTHREAD | PF_IO_WORKER | PF_USER_WORKER)) {
        __u64 comm = 0;
        bpf_probe_read_kernel(&comm, sizeof comm, waker->comm);
        return own && comm != SOFTIRQ_THREAD ? CS_WAKER_THREAD : CS_WAKER_INTERRUPT;
    }
    struct pt_regs___call *regs = USER_REGISTERS(current_task, struct pt_regs___call);
    __s32 call = CALL_OF(regs);
    if (call < 0)
        return CS_WAKER_INTERRUPT;
    if (own)
        return CS_WAKER_THREAD;
    __u8 reason = call < CS_WAIT_CALLS ? wait_reason_of[call & (CS_WAIT_CALLS - 1)] : CS_WAIT_OTHER;
    int sends = reason == CS_WAIT_SOCKET || reason == CS_WAIT_DESCRIPTOR;
    int receives =
        waits_for == CS_WAIT_SOCKET || waits_for == CS_WAIT_DESCRIPTOR || waits_for == CS_WAIT_POLL;
    if (!sends || !receives)
        return CS_WAKER_INTERRUPT;
    long bytes = bpf_get_stack(ctx, r->frames, WAKER_FRAMES * 8, 0);
    return wait_sends(r, bytes > 0 ? (__u32)bytes / 8 : 0) ? CS_WAKER_THREAD : CS_WAKER_INTERRUPT;
}
