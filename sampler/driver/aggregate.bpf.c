// SPDX-License-Identifier: GPL-2.0-or-later
/* The interrupt handler: counts (PID, PC, EVENT) in its CPU's table; what is evicted goes to its CPU's log.
 * dcpi-1997 section 4.2. One CPU alone writes its part, so nothing here synchronises; budget: 10 ns above the
 * bare event (bench sampler-handler). One program for each event, so that its number is a constant. */
#include "sampler/driver/aggregate.h"
#include "sampler/chains/maps.bpf.h"
#include "sampler/perf/process_bytes.h"

#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>
#include <linux/ptrace.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

/* Variables have initial values that they be in this order for both builds (programs.c). */
const volatile __u32 n_buckets = 0; /* of a half, power of two */
const volatile __u8 filtered = 0;   /* only chosen processes count */
const volatile __u8 chains = 0;     /* the table's halves are calling-context trees */
const volatile __u8 by_thread = 0;  /* rows are by thread, of the generation of its process */
const volatile __u8 attributes = 0; /* rows are by what a thread says that it works on */

struct cs_aggregate_cpu cpus[CS_AGGREGATE_CPUS] = {};
__u64 clock_period[CS_AGGREGATE_EVENTS] = {}; /* of a clock whose period was changed; else 0 */
__u32 generation[CS_GENERATION_SLOTS] = {};

ARRAY(table, struct cs_hot_bucket, BPF_F_MMAPABLE);
ARRAY(evictions, struct cs_hot_entry, BPF_F_MMAPABLE);
ARRAY(begun, struct cs_aggregate_begun, BPF_F_MMAPABLE);
ARRAY(chosen, __u64, BPF_F_MMAPABLE); /* sampler/perf/process_filter.h's */

static __always_inline int is_chosen(__u32 pid)
{
    __u32 index = cs_process_word(pid);
    const __u64 *word = bpf_map_lookup_elem(&chosen, &index);
    return word && *word & cs_process_bit(pid);
}

/* Two fields of the kernel's own, and five more for chains; CO-RE finds where they are. */
struct mm_struct {
    unsigned long start_stack;
} __attribute__((preserve_access_index));
struct thread_struct {
#ifdef __TARGET_ARCH_arm64
    struct {
        unsigned long tp_value;
    } uw;
#else
    unsigned long fsbase;
#endif
} __attribute__((preserve_access_index));
struct task_struct {
    int pid, tgid;
    unsigned int flags, in_execve : 1;
    struct mm_struct *mm;
    struct thread_struct thread;
} __attribute__((preserve_access_index));

/* A line of the tree is a bucket of the table. */
#define CS_TREE_HALF __u32
static __always_inline void *tree_line(__u32 first, __u32 number)
{
    __u32 index = first + number;
    return bpf_map_lookup_elem(&table, &index);
}
#define CS_TREE_LINE tree_line
#include "sampler/chains/context_tree.h"

#include "sampler/chains/sample_chain.bpf.h"

#include "sampler/attributes/attribute_row.bpf.h"
#include "sampler/waits/waits.bpf.h"

static __always_inline int log_entry(struct cs_aggregate_cpu *state, __u32 cpu,
                                     const struct cs_hot_entry *out)
{
    if (state->log_head - state->log_tail >= CS_AGGREGATE_LOG) {
        state->lost += out->count;
        return 0;
    }
    __u32 index = cpu * CS_AGGREGATE_LOG + (state->log_head & (CS_AGGREGATE_LOG - 1));
    struct cs_hot_entry *entry = bpf_map_lookup_elem(&evictions, &index);
    if (entry) {
        *entry = *out;
        state->log_head++;
    }
    return 0;
}

static __always_inline int count(struct bpf_perf_event_data *ctx, __u32 event)
{
    __u64 pc = PT_REGS_IP(&ctx->regs);
    __u64 both = bpf_get_current_pid_tgid();
    __u32 pid = both >> 32;
    if (filtered && !is_chosen(pid))
        return 0;
    __u32 cpu = bpf_get_smp_processor_id() & (CS_AGGREGATE_CPUS - 1);
    struct cs_aggregate_cpu *state = &cpus[cpu];
    __u32 number = generation[pid & (CS_GENERATION_SLOTS - 1)] & CS_HOT_GENERATION_MASK;
    __u64 key = cs_hot_key(pc, pc >> 63, event, number);
    __u32 half = state->half, row = by_thread    ? (__u32)both
                                    : attributes ? attribute_row(pid, number, cpu, half)
                                                 : pid;
    struct cs_hot_entry out;

    state->delivered++;
    if (filtered) {
        state->events[event].samples++;
        __u64 period = clock_period[event];
        state->events[event].periods += period ? period : ctx->sample_period;
    }
    if (chains) {
        if (count_chain(ctx, event, pc, pid, row, number, cpu, half, n_buckets))
            return 0;
        out = (struct cs_hot_entry){key, row, 1};
        return log_entry(state, cpu, &out);
    }
    __u32 index = (cpu * 2 + (half & 1)) * n_buckets + (cs_hot_hash(key, row) & (n_buckets - 1));
    struct cs_hot_bucket *bucket = bpf_map_lookup_elem(&table, &index);
    if (!bucket || !cs_hot_add(bucket, &state->turn, key, row, &out))
        return 0;
    return log_entry(state, cpu, &out);
}

#define COUNT(n)                                                                                             \
    SEC("perf_event") int count_##n(struct bpf_perf_event_data *ctx)                                         \
    {                                                                                                        \
        return count(ctx, n);                                                                                \
    }
/* clang-format off */
COUNT(0) COUNT(1) COUNT(2) COUNT(3)
COUNT(4) COUNT(5) COUNT(6) COUNT(7)
COUNT(8) COUNT(9) COUNT(10) COUNT(11)
COUNT(12) COUNT(13) COUNT(14) COUNT(15)
    /* clang-format on */

    /* The PID is another program from here on: entries counted before keep their generation. */
    static __always_inline int begin(__u32 pid)
{
    __u32 slot = pid & (CS_GENERATION_SLOTS - 1);
    __u32 cpu = bpf_get_smp_processor_id() & (CS_AGGREGATE_CPUS - 1);
    struct cs_aggregate_cpu *state = &cpus[cpu];
    __sync_fetch_and_add(&generation[slot], 1);
    if (state->begun_head - state->begun_tail >= CS_AGGREGATE_BEGUN_LOG) {
        state->begun_lost++;
        return 0;
    }
    __u32 index = cpu * CS_AGGREGATE_BEGUN_LOG + (state->begun_head & (CS_AGGREGATE_BEGUN_LOG - 1));
    struct cs_aggregate_begun *b = bpf_map_lookup_elem(&begun, &index);
    if (b) {
        b->time_ns = bpf_ktime_get_ns();
        b->slot = slot;
        b->number = generation[slot] & CS_HOT_GENERATION_MASK;
        state->begun_head++;
    }
    return 0;
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(on_fork, struct task_struct *parent, struct task_struct *child)
{
    int tgid = child->tgid;
    if (child->pid != tgid)
        return 0;
    begin(tgid);
#ifndef CS_OLD_KERNEL
    int parents = parent->tgid;
    if (chains)
        inherit_list(parents, generation[parents & (CS_GENERATION_SLOTS - 1)] & CS_HOT_GENERATION_MASK, tgid,
                     generation[tgid & (CS_GENERATION_SLOTS - 1)] & CS_HOT_GENERATION_MASK);
#endif
    return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_exec, struct task_struct *p)
{
    return begin(bpf_get_current_pid_tgid() >> 32);
}

char _license[] SEC("license") = "GPL";
