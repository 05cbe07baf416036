// SPDX-License-Identifier: GPL-2.0-or-later
/* Whether what runs now belongs to the chosen processes: a byte a process, which a process that starts another hands
 * on. A process of nobody chosen clears the byte that its number had before. */
#include "sampler/perf/process_bytes.h"

#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

__u32 chosen_at_exec; /* a process whose byte is set when it runs another program */

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __type(key, __u32);
    __type(value, __u64);
    __uint(max_entries, CS_PROCESS_WORDS);
} chosen SEC(".maps");

static __always_inline __u64 *word_of(__u32 pid)
{
    __u32 index = cs_process_word(pid);
    return bpf_map_lookup_elem(&chosen, &index);
}

static __always_inline int set(__u32 pid, int on)
{
    __u64 *word = word_of(pid);
    if (word)
        *cs_process_byte(word, pid) = on ? 0xff : 0;
    return 0;
}

static __always_inline int has(__u32 pid)
{
    const __u64 *word = word_of(pid);
    return word && (*word & cs_process_bit(pid)) != 0;
}

/* Two fields of the kernel's own; CO-RE finds where they are. */
struct task_struct {
    int pid, tgid;
} __attribute__((preserve_access_index));

SEC("tp_btf/sched_process_fork")
int BPF_PROG(on_fork, struct task_struct *parent, struct task_struct *child)
{
    int tgid = child->tgid;
    return child->pid == tgid ? set(tgid, has(parent->tgid)) : 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_exec, struct task_struct *p)
{
    __u32 pid = bpf_get_current_pid_tgid() >> 32;
    if (pid != chosen_at_exec)
        return 0;
    chosen_at_exec = 0;
    return set(pid, 1);
}

/* For an event whose samples go to a ring: 0 keeps this one out. */
SEC("perf_event")
int pass(struct bpf_perf_event_data *ctx)
{
    (void)ctx;
    return has(bpf_get_current_pid_tgid() >> 32);
}

char _license[] SEC("license") = "GPL";
