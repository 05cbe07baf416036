/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the kernel's programs of waits share: settings, tables, the kernel's structures, and a thread's row. Only
 * waits.bpf.h includes it. */
#pragma once

#include "sampler/chains/stack_copy.bpf.h"
#include "sampler/waits/wait_records.h"

/* CPU numbers: the scratch behind them is ours, once for who comes back, once for wakers. */
const volatile __u32 wait_cpus = 0;
const volatile __u8 wait_state_given = 0; /* a switch says what state the thread leaves in: Linux 5.18 */
const volatile __u8 wait_reason_of[CS_WAIT_CALLS] = {}; /* by number of system call */
const volatile __u8 wait_look_of[CS_WAIT_CALLS] = {};   /* enum cs_wait_look, the same */
const volatile struct cs_wait_way wait_ways[CS_WAIT_WAYS] = {};
__u32 wait_interval_ns = 0;           /* T; the reader's */
__u64 wait_began_ns = 0;              /* 0: not yet */
__u64 wait_lost = 0, wait_no_row = 0; /* records that found the ring full; times that a thread found no row */
struct cs_wait_free wait_free = {};

struct {
#ifdef CS_OLD_KERNEL
    __uint(type,
           BPF_MAP_TYPE_LRU_HASH); /* by number of thread; that of one that has ended falls out some day */
    __uint(max_entries, 2 * CS_WAIT_THREADS);
    __type(key, __u32);
#else
    __uint(type, BPF_MAP_TYPE_TASK_STORAGE);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, int);
#endif
    __type(value, __u32); /* 1 + number of the row */
} wait_rows SEC(".maps");

/* Numbers of free rows, for a kernel that exchanges nothing in memory; else wait_free has them. */
struct {
    __uint(type, BPF_MAP_TYPE_QUEUE);
    __uint(max_entries, CS_WAIT_THREADS);
    __uint(key_size, 0);
    __uint(value_size, 4);
} wait_free_rows SEC(".maps");

/* By number of thread: 1 + number of the row that was found last. A guess, which the row confirms. */
ARRAY(wait_guesses, __u16, 0);
ARRAY(wait_threads, struct cs_wait_thread, BPF_F_MMAPABLE);
ARRAY(wait_scratch, struct cs_wait_copied,
      0); /* of who is back; behind them those of wakers, who may interrupt */

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct cs_wait_cpu);
} wait_cpu SEC(".maps");

RING(wait_records, 4096);

#define TASK_RUNNING 0
#define TASK_UNINTERRUPTIBLE 2
#define TASK_STOPPED_OR_TRACED 12
#define TASK_DEAD_STATE 0x80

/* The kernel's own structures: CO-RE finds where the fields are, and whether they are. */
struct rq {
    __u64 clock;
} __attribute__((preserve_access_index));
struct cfs_rq {
    struct rq *rq;
} __attribute__((preserve_access_index));
struct sched_entity {
    struct cfs_rq *cfs_rq;
    __u64 sum_exec_runtime;
} __attribute__((preserve_access_index));
struct qstr {
    const unsigned char *name;
} __attribute__((preserve_access_index));
struct dentry {
    struct qstr d_name;
} __attribute__((preserve_access_index));
struct super_block {
    __u32 s_dev;
} __attribute__((preserve_access_index));
struct inode {
    unsigned short i_mode;
    struct super_block *i_sb;
    unsigned long i_ino;
} __attribute__((preserve_access_index));
struct path {
    struct dentry *dentry;
} __attribute__((preserve_access_index));
struct file {
    struct inode *f_inode;
    void *private_data;
    struct path f_path;
} __attribute__((preserve_access_index));
struct fdtable {
    unsigned int max_fds;
    struct file **fd;
} __attribute__((preserve_access_index));
struct files_struct {
    struct fdtable *fdt;
} __attribute__((preserve_access_index));
struct in6_addr {
    unsigned char bytes[16];
};
struct sock_common {
    unsigned short skc_family;
    volatile unsigned char skc_state;
    __u32 skc_daddr;
    __u16 skc_dport, skc_num;
    struct in6_addr skc_v6_daddr;
} __attribute__((preserve_access_index));
struct sock {
    struct sock_common __sk_common;
    __u8 sk_userlocks : 4;
    __u16 sk_type;
} __attribute__((preserve_access_index));
struct ipv6_pinfo {
    int mcast_oif;
} __attribute__((preserve_access_index));
struct inet_sock {
    struct ipv6_pinfo *pinet6;
    int mc_index;
} __attribute__((preserve_access_index));
struct inet_connection_sock {
    struct {
        __u32 lrcvtime;
    } icsk_ack;
} __attribute__((preserve_access_index));
struct tcp_sock {
    __u32 lsndtime;
} __attribute__((preserve_access_index));
struct sockaddr_un {
    unsigned short sun_family;
    char sun_path[108];
} __attribute__((preserve_access_index));
struct unix_address {
    struct sockaddr_un name[0];
} __attribute__((preserve_access_index));
struct unix_sock {
    struct unix_address *addr;
    struct sock *peer;
} __attribute__((preserve_access_index));
struct socket {
    struct sock *sk;
} __attribute__((preserve_access_index));
struct seq_file;
struct bpf_iter_meta {
    struct seq_file *seq;
} __attribute__((preserve_access_index));
struct bpf_iter__task {
    struct bpf_iter_meta *meta;
    struct task_struct *task;
} __attribute__((preserve_access_index));
struct task_struct___waits {
    int pid, tgid;
    unsigned int flags;
    __u64 start_time;
    struct sched_entity se;
    struct files_struct *files;
    void *stack;
    char comm[16];
} __attribute__((preserve_access_index));
/* Linux 5.13 and before, and from 5.14 on: where a switch doesn't say it (wait_state_given). */
struct task_struct___older {
    long state;
} __attribute__((preserve_access_index));
struct task_struct___newer {
    unsigned int __state;
} __attribute__((preserve_access_index));
struct task_struct___throttled {
    char throttled;
} __attribute__((preserve_access_index));

#ifdef __TARGET_ARCH_arm64
struct pt_regs___call {
    __u64 regs[31], orig_x0;
    __s32 syscallno;
} __attribute__((preserve_access_index));
#define CALL_OF(regs) OF(regs, syscallno)
#define CALL_ARGS(out, r)                                                                                    \
    ((out)[0] = OF(r, orig_x0), (out)[1] = OF(r, regs[1]), (out)[2] = OF(r, regs[2]),                        \
     (out)[3] = OF(r, regs[3]))
#elif defined(__TARGET_ARCH_riscv)
struct pt_regs___call {
    unsigned long a1, a2, a3, a7, orig_a0;
} __attribute__((preserve_access_index));
#define CALL_OF(regs) ((__s32)OF(regs, a7))
#define CALL_ARGS(out, r)                                                                                    \
    ((out)[0] = OF(r, orig_a0), (out)[1] = OF(r, a1), (out)[2] = OF(r, a2), (out)[3] = OF(r, a3))
#else
struct pt_regs___call {
    unsigned long r10, dx, si, di, orig_ax;
} __attribute__((preserve_access_index));
#define CALL_OF(regs) ((__s32)OF(regs, orig_ax))
#define CALL_ARGS(out, r)                                                                                    \
    ((out)[0] = OF(r, di), (out)[1] = OF(r, si), (out)[2] = OF(r, dx), (out)[3] = OF(r, r10))
#endif

/* ---- a thread's row ---- */

static __always_inline __u32 take_row(void)
{
#ifdef CS_OLD_KERNEL
    __u32 number = 0;
    if (bpf_map_pop_elem(&wait_free_rows, &number) == 0) {
        __sync_fetch_and_add(&wait_free.taken, 1);
        return number + 1;
    }
#else
    for (int i = 0; i < 4; i++) {
        __u64 taken = wait_free.taken;
        if (taken == wait_free.given)
            break;
        __u32 number = wait_free.number[taken & (CS_WAIT_THREADS - 1)];
        if (__sync_val_compare_and_swap(&wait_free.taken, taken, taken + 1) == taken)
            return number + 1;
    }
#endif
    __sync_fetch_and_add(&wait_no_row, 1);
    return 0;
}

/* 1 + the number of its row, 0: it has none. By the task itself: exact, and some 50 ns. */
static __always_inline __u32 number_of(struct task_struct *task, __u32 tid, int make, int *fresh)
{
#ifdef CS_OLD_KERNEL
    __u32 *number = bpf_map_lookup_elem(&wait_rows, &tid), at = number ? *number - 1 : 0;
    struct cs_wait_thread *row = number ? bpf_map_lookup_elem(&wait_threads, &at) : 0;
    *fresh = !row || row->task != (__u64)task || row->tid != tid || row->end_ns;
    if (!*fresh)
        return at + 1;
    __u32 taken = make ? take_row() : 0;
    if (taken)
        bpf_map_update_elem(&wait_rows, &tid, &taken, BPF_ANY);
    return taken;
#else
    __u32 *number = bpf_task_storage_get(&wait_rows, task, 0, make ? BPF_LOCAL_STORAGE_GET_F_CREATE : 0);
    *fresh = number && !*number;
    if (!number)
        return 0;
    if (*fresh && make)
        *number = take_row();
    return *number;
#endif
}

static __attribute__((noinline)) struct cs_wait_thread *search_row(struct task_struct *task, int make)
{
    __u32 tid = OF(task, pid), guess = tid & (CS_WAIT_GUESSES - 1);
    int fresh;
    __u32 at = number_of(task, tid, make, &fresh) - 1U;
    struct cs_wait_thread *row = bpf_map_lookup_elem(&wait_threads, &at);
    __u16 *guessed = bpf_map_lookup_elem(&wait_guesses, &guess);
    if (!row || !guessed)
        return 0;
    if (fresh) {
        __builtin_memset(row, 0, sizeof *row);
        row->tid = tid;
        row->pid = OF(task, tgid);
        row->task = (__u64)task;
    }
    *guessed = (__u16)(at + 1);
    return row;
}

static __always_inline struct cs_wait_thread *row_of(struct task_struct *task, int make)
{
    __u32 tid = OF(task, pid), guess = tid & (CS_WAIT_GUESSES - 1);
    const __u16 *guessed = bpf_map_lookup_elem(&wait_guesses, &guess);
    if (guessed) {
        __u32 at = *guessed - 1U;
        struct cs_wait_thread *row = bpf_map_lookup_elem(&wait_threads, &at);
        if (row && row->task == (__u64)task && row->tid == tid && !row->end_ns)
            return row;
    }
    return search_row(task, make);
}

static __always_inline int is_followed(struct task_struct *task)
{
    __u32 pid = OF(task, tgid);
    return wait_began_ns && pid && !(OF(task, flags) & PF_KTHREAD) && (!filtered || is_chosen(pid));
}
