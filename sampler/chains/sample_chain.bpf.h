/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A sample's whole chain, in the handler. It is unwound by unwind.bpf.h and counted down the tree (context_tree.h).
 * Where the kernel doesn't know the program's code yet, it is handed on with a copy of its stack. */
#pragma once

#include "sampler/chains/stack_copy.bpf.h"

#define TIMED 32 /* of so many samples one is timed */

/* In the midst of an exec: the program that called it is gone, the new one hasn't begun. */
static __always_inline __u32 without_program(struct chain_scratch *s, __u32 n_kernel)
{
    s->n = n_kernel;
    s->end = CS_UNWIND_END_COMPLETE;
    return n_kernel;
}

/* Fills the scratch's frames; returns how many are the kernel's. */
static __always_inline __u32 take_chain(struct bpf_perf_event_data *ctx, struct chain_walk *walk, __u64 pc,
                                        __u32 pid, __u32 generation, __u32 cpu)
{
    struct chain_scratch *s = walk->s;
    __u32 n_kernel = 0, in_exec = 0;
    __u64 mode;
    begin_chain(s, cpu);
    if (pc >> 63) {
        long bytes = bpf_get_stack(ctx, s->frames, CS_CHAIN_KERNEL_FRAMES * 8, 0);
        if (bytes >= 8)
            n_kernel = ((__u32)bytes / 8) & (2 * CS_CHAIN_KERNEL_FRAMES - 1);
        s->frames[0] = pc;
        if (!n_kernel)
            n_kernel = 1;
        s->n = n_kernel;
        struct task_struct *task = CURRENT_TASK();
        if (!pid || !OF(task, mm) || OF(task, flags) & (PF_KTHREAD | PF_IO_WORKER | PF_USER_WORKER)) {
            s->end =
                CS_UNWIND_END_COMPLETE; /* no user's code called this; or it has ended, and its stack is gone */
            return n_kernel;
        }
        in_exec = bpf_core_field_exists(task->in_execve) && READ_BITS(task, in_execve);
        struct pt_regs *regs = registers_of(s->window, task);
        TAKE_REGISTERS(s, regs);
        mode = MODE(regs);
    } else {
        TAKE_REGISTERS(s, &ctx->regs);
        mode = MODE(&ctx->regs);
        asm volatile("" : "+r"(mode)); /* else both loads become one, through a pointer that isn't `ctx` */
    }
    __u32 narrow = IS_NARROW(mode);
    s->first_pc = s->pc;
    s->list = list_of(pid, generation);
    if (in_exec && !s->list)
        return without_program(s, n_kernel);
    if (narrow || !s->list) {
        s->frames[s->n & (CS_CHAIN_FRAMES - 1)] = s->pc;
        s->n++;
        s->end = narrow ? CS_UNWIND_END_UNSUPPORTED : CS_CHAIN_END_NO_PROCESS;
        if (!narrow)
            want_process(walk->cpu, pid);
        return n_kernel;
    }
#ifndef CS_OLD_KERNEL
    bpf_loop(CS_CHAIN_USER_FRAMES, unwind_frame, walk, 0);
    if (in_exec && s->end != CS_UNWIND_END_COMPLETE)
        return without_program(s, n_kernel);
    if (s->runs)
        chain_join_interpreted(s, THREAD_SELF, n_kernel);
#endif
    return n_kernel;
}

/* ---- for later ---- */

/* Hands the sample on as it is. False: it has to be counted as it is. */
VERIFIED_ONCE int chain_copy_sample(struct chain_scratch *s, __u32 generation, __u32 event, __u32 n_kernel)
{
    __u32 at = s ? s->cpu : 0;
    struct cs_chain_cpu *cpu = bpf_map_lookup_elem(&chain_cpus, &at);
    struct cs_chain_copy *copy = bpf_map_lookup_elem(&chain_copy, &at);
    if (!s || !cpu || !copy || cpu->copy_room < sizeof *copy)
        return 0;
    __u64 both = bpf_get_current_pid_tgid();
    copy->time_ns = bpf_ktime_get_ns();
    copy->pc = s->first_pc;
    __builtin_memcpy(copy->reg, s->reg, sizeof copy->reg);
    __builtin_memcpy(copy->kernel, s->frames, sizeof copy->kernel);
    copy->pid = both >> 32;
    copy->row = s->row;
    copy->generation = generation;
    copy->event = event;
    copy->end = s->end;
    copy->n_kernel = n_kernel;
    __u64 held = bpf_ringbuf_query(&chain_copies, BPF_RB_AVAIL_DATA),
          room = bpf_ringbuf_query(&chain_copies, BPF_RB_RING_SIZE);
    __u32 n = has_user_part(s) ? copy_stack(copy, s->reg[SP_NUMBER], copy_most(held, room)) : 0;
    copy->n_stack = n;
    if (n > CS_CHAIN_COPY_STACK)
        return 0;
    if (bpf_ringbuf_output(&chain_copies, copy, COPY_HEAD + n, BPF_RB_NO_WAKEUP))
        return 0;
    cpu->copy_room -= COPY_HEAD + n;
    if (cpu->copy_room < CS_CHAIN_COPY_ROOM / 2 || held * 2 > room)
        want(0, CS_CHAIN_NO_IMAGE);
    return 1;
}

/* ---- down the tree ---- */

#ifndef CS_OLD_KERNEL

struct tree_walk {
    struct chain_scratch *s;
    __u32 *room;
    __u32 line; /* the half's first */
    __u32 at, n, n_kernel, event;
    __u32 known; /* so far it goes as the last chain did */
};

__noinline __u32 chain_tree_child(__u32 line, __u64 key, __u32 parent, __u32 *room)
{
    return room ? cs_tree_child(line, n_buckets, key, parent, room) : CS_TREE_NONE;
}

static long tree_frame(__u32 i, void *context)
{
    struct tree_walk *walk = context;
    __u32 left = walk->n - 1 - i; /* 0: the leaf */
    __u64 addr = walk->s->n_joined ? walk->s->joined[i & (CS_CHAIN_FRAMES - 1)]
                                   : walk->s->frames[left & (CS_CHAIN_FRAMES - 1)];
    if (left && left < walk->n_kernel)
        addr--; /* of a return: within the call */
    __u64 key = left ? cs_tree_frame(addr) : cs_tree_leaf(addr, walk->event);
    __u32 depth = i & (CS_CHAIN_FRAMES - 1);
    if (walk->known && i < walk->s->n_known && walk->s->known_key[depth] == key) {
        walk->at = walk->s->known_cell[depth];
        return 0;
    }
    walk->known = 0;
    walk->at = chain_tree_child(walk->line, key, walk->at, walk->room);
    walk->s->known_key[depth] = key;
    walk->s->known_cell[depth] = walk->at;
    return walk->at == CS_TREE_NONE;
}

#endif

/* Of the samples that are timed: what a chain costs, copied or unwound. */
static __always_inline void end_timing(struct cs_chain_cpu *state, __u64 begin)
{
    if (begin) {
        state->timed_ns += bpf_ktime_get_ns() - begin;
        state->timed++;
    }
}

/* Counts a sample with its chain below a root of `row`, a process or a thread. False: the tree is full, so the sample isn't counted. */
static __always_inline int count_chain(struct bpf_perf_event_data *ctx, __u32 event, __u64 pc, __u32 pid,
                                       __u32 row, __u32 generation, __u32 cpu, __u32 half, __u32 lines)
{
    struct chain_walk walk = {bpf_map_lookup_elem(&chain_scratch, &cpu),
                              bpf_map_lookup_elem(&chain_cpus, &cpu)};
    struct chain_scratch *s = walk.s;
    struct cs_chain_cpu *state = walk.cpu;
    if (!s || !state)
        return 0;
    half &= 1;
    __u64 begin = state->samples++ % TIMED ? 0 : bpf_ktime_get_ns();
    s->row = row;
    __u32 n_kernel = take_chain(ctx, &walk, pc, pid, generation, cpu);
    if (is_early(s) && chain_copy_sample(s, generation, event, n_kernel)) {
        end_timing(state, begin);
        return 1;
    }
#ifdef CS_OLD_KERNEL
    state->ends[CS_CHAIN_END_TREE_FULL]++;
    return 0;
#else
    struct tree_walk down = {.s = s,
                             .room = &state->room[half],
                             .line = (cpu * 2 + half) * lines,
                             .n = s->n_joined ? s->n_joined : s->n,
                             .n_kernel = n_kernel,
                             .event = event};
    __u64 root = cs_tree_root(row, generation, s->end);
    if (s->known_root == root && s->known_half == half && s->known_turn == state->turn) {
        down.known = 1;
        down.at = s->known_at;
    } else {
        down.at = chain_tree_child(down.line, root, CS_TREE_NONE, down.room);
        s->known_at = down.at;
    }
    if (down.at != CS_TREE_NONE)
        bpf_loop(down.n, tree_frame, &down, 0);
    s->known_root = down.at != CS_TREE_NONE ? root : 0;
    s->known_half = half;
    s->known_turn = state->turn;
    s->n_known = down.n;
    end_timing(state, begin);
    if (state->room[half] < lines &&
        state->filling != half + 1) { /* a quarter is left, of all but what may be filled */
        state->filling = half + 1;
        want(0, CS_CHAIN_NO_IMAGE);
    }
    if (down.at == CS_TREE_NONE) {
        state->ends[CS_CHAIN_END_TREE_FULL]++;
        return 0;
    }
    state->ends[s->end & 15]++;
    state->frames += s->n - n_kernel;
    __u32 number = down.line + down.at / CS_TREE_WAYS;
    struct cs_tree_line *line = bpf_map_lookup_elem(&table, &number);
    if (!line)
        return 0;
    line->way[down.at & (CS_TREE_WAYS - 1)].count++;
    return 1;
#endif
}
