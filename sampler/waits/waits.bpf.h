/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's part: what a thread does off the CPU. Only aggregate.bpf.c includes it, and its tables are used for
 * unwinding.
 *
 * At a switch one thread leaves and another comes (sched_switch: all totals). A thread is woken (sched_waking, in the
 * waker's context). Then it is back (sched_exit_tp or a probe, in its own context). Its stack is as it was when it
 * left, so a chain is taken only for waits that turned out to be worth it. A switch hardly ever has more to do there
 * than to find that it isn't. A thread has the CPU from the choice of the thread on, as the kernel counts. Each call of
 * a helper costs 20 to 70 ns here, all the arithmetic of a switch no more than one of them. So the clock is the
 * scheduler's, the draw our own, the row guessed by the thread's number (docs/lab/waits.md). */
#pragma once

#include "sampler/chains/stack_copy.bpf.h"
#include "sampler/waits/wait_descriptors.bpf.h"
#include "sampler/waits/wait_wakers.bpf.h"

/* ---- a switch ---- */

static __always_inline __u8 reason_of(struct task_struct *task, int preempted, __u32 state)
{
    if (preempted || state == TASK_RUNNING) {
        struct task_struct___throttled *t = (void *)task;
        if (bpf_core_field_exists(t->throttled) && BPF_CORE_READ(t, throttled))
            return CS_WAIT_THROTTLED;
        return CS_WAIT_RUN_QUEUE;
    }
    if (state & TASK_STOPPED_OR_TRACED)
        return CS_WAIT_STOPPED;
    struct pt_regs___call *regs = USER_REGISTERS(task, struct pt_regs___call);
    __s32 call = CALL_OF(regs);
    if (call < 0)
        return CS_WAIT_FAULT;
    return call < CS_WAIT_CALLS ? wait_reason_of[call & (CS_WAIT_CALLS - 1)] : CS_WAIT_OTHER;
}

#ifdef CS_OLD_KERNEL
#define RUN_QUEUE_CLOCK(task) BPF_CORE_READ(task, se.cfs_rq, rq, clock)
#else
#define RUN_QUEUE_CLOCK(task) ((task)->se.cfs_rq->rq->clock)
#endif
#define CLOCK_HOLDS 1000000 /* ns */
#define CLOCK_LEAPS (1LL << 30)

/* Both clocks, a moment apart at best, and long where the hypervisor took the CPU in between. So what the other was behind
 * grows by no more than a clock that is being set right may differ: 1 in 1,000. */
static __attribute__((noinline)) void compare_clocks(struct cs_wait_cpu *cpu, __u64 clock)
{
    __u64 behind = bpf_ktime_get_ns() - clock;
    __u64 most = cpu->behind_ns + ((clock - cpu->clock_ns) >> 10);
    __s64 beyond = (__s64)(behind - most);
    cpu->behind_ns = cpu->clock_ns && beyond > 0 && beyond < CLOCK_LEAPS ? most : behind;
    cpu->clock_ns = clock;
}

/* Of the switch from `prev`. The scheduler has just read the run queue's clock, and charges threads by it. */
static __always_inline __u64 time_of_switch(struct cs_wait_cpu *cpu, struct task_struct *prev)
{
    struct task_struct___waits *task = (void *)prev;
    __u64 clock = 0;
    if (bpf_core_field_exists(task->se.cfs_rq) && bpf_core_field_exists(struct cfs_rq, rq) &&
        bpf_core_field_exists(struct rq, clock))
        clock = RUN_QUEUE_CLOCK(task);
    if (!clock)
        return bpf_ktime_get_ns();
    if (clock - cpu->clock_ns >= CLOCK_HOLDS)
        compare_clocks(cpu, clock);
    return clock + cpu->behind_ns;
}

/* Its first row, and it was never seen to come: it has run since it was there, or since all this began. */
static __always_inline void begin_running(struct cs_wait_thread *row, struct task_struct___waits *task,
                                          __u64 now, __u64 exec)
{
    __u64 started = OF(task, start_time);
    if (started >= wait_began_ns) {
        row->start_ns = started;
        row->on_ns = row->exec_ns = exec;
        row->exec_at_start_ns = 0;
        if (now - started > exec)
            row->ns[CS_WAIT_RUN_QUEUE] = now - started - exec;
    } else {
        __u64 ran = now > wait_began_ns ? now - wait_began_ns : 0;
        row->on_ns = row->exec_ns = ran < exec ? ran : exec;
        row->exec_at_start_ns = exec - row->on_ns;
        row->start_ns = now - row->on_ns;
    }
}

/* 32 bits. Knuth's MMIX multiplier; the clock, in the constant's place, is the seed, too. */
static __always_inline __u64 draw(struct cs_wait_cpu *cpu, __u64 now)
{
    cpu->random = cpu->random * 6364136223846793005ULL + now;
    return cpu->random >> 32;
}

/* Whoever waits for this CPU meanwhile will ask who had it. */
static __always_inline void note_turn(struct cs_wait_cpu *cpu, const struct cs_wait_thread *row, __u64 now)
{
    struct cs_wait_turn *turn = &cpu->at[cpu->n++ & (CS_WAIT_TURNS - 1)];
    turn->from_ns = row->since_ns;
    turn->to_ns = now;
    turn->tid = row->tid;
    __builtin_memcpy(turn->comm, row->comm, sizeof turn->comm);
}

/* It had the CPU for `on` ns by our clock; `exec` is all that the kernel ever charged it. That begins with the choice of the
 * thread, a microsecond before it is told: what is charged beyond our clock was taken for the end of its waits for the CPU. */
static __always_inline void add_turn(struct cs_wait_thread *row, __u64 on, __u64 exec)
{
    __u64 queued = row->ns[CS_WAIT_RUN_QUEUE];
    row->on_ns += on;
    row->exec_ns = exec;
    if (exec <= row->on_ns)
        return;
    __u64 early = exec - row->on_ns < queued ? exec - row->on_ns : queued;
    row->ns[CS_WAIT_RUN_QUEUE] = queued - early;
    row->on_ns += early;
}

/* It was away when all this began, or has its first time on a CPU. */
static __always_inline __u64 begin_away(struct cs_wait_thread *row, struct task_struct *task, __u64 now)
{
    struct task_struct___waits *t = (void *)task;
    __u64 started = OF(t, start_time);
    int is_new = started >= wait_began_ns;
    row->start_ns = is_new ? started : wait_began_ns;
    if (now < row->start_ns)
        now = row->start_ns;
    row->exec_at_start_ns = OF(t, se.sum_exec_runtime);
    row->reason = is_new ? CS_WAIT_RUN_QUEUE : reason_of(task, 0, TASK_UNINTERRUPTIBLE);
    __u64 woken = row->wake_ns > row->start_ns && row->wake_ns < now ? row->wake_ns : now;
    row->ns[row->reason & 15] = woken - row->start_ns;
    row->ns[CS_WAIT_RUN_QUEUE] += now - woken;
    bpf_probe_read_kernel(row->comm, sizeof row->comm, t->comm);
    return now;
}

/* When it had left, if this wait is kept; else 0. Nothing where its leaving wasn't seen: kernels don't tell of every thread's. */
static __always_inline __u64 come(struct cs_wait_thread *row, struct task_struct *task, __u64 now)
{
    __u64 since = row->since_ns, kept = 0;
    if (now < since)
        now = since;
    if (!since) {
        now = begin_away(row, task, now);
    } else if (!row->out) {
        return 0;
    } else {
        __u64 away = now - since;
        __u64 waited = row->wake_ns - since;
        if (row->reason == CS_WAIT_RUN_QUEUE || !row->wake_ns || waited > away)
            waited = away;
        row->ns[row->reason & 15] += waited;
        row->ns[CS_WAIT_RUN_QUEUE] += away - waited;
        row->times[row->reason & 15]++;
        if (row->kept || away >= row->draw_ns)
            kept = since;
    }
    row->since_ns = now;
    row->out = 0;
    return kept;
}

/* The switch to it wasn't told, nor did it tell: it ran for as long as the kernel charged it. */
static __attribute__((noinline)) void come_untold(struct cs_wait_thread *row, struct task_struct *task,
                                                  __u64 now, __u64 ran)
{
    __u64 most = now - row->since_ns;
    come(row, task, now - (ran < most ? ran : most));
}

static __always_inline void leave(struct cs_wait_cpu *cpu, struct cs_wait_thread *row,
                                  struct task_struct *prev, int preempted, __u32 state, __u64 now)
{
    struct task_struct___waits *task = (void *)prev;
    __u64 exec = OF(task, se.sum_exec_runtime);
    if (now < row->since_ns) /* clocks of two CPUs */
        now = row->since_ns;
    if (!row->since_ns) {
        begin_running(row, task, now, exec);
        bpf_probe_read_kernel(row->comm, sizeof row->comm, task->comm);
    } else {
        if (row->out)
            come_untold(row, prev, now, exec - row->exec_at_start_ns - row->exec_ns);
        add_turn(row, now - row->since_ns, exec - row->exec_at_start_ns);
        if (now - row->since_ns >= CS_WAIT_TURN)
            note_turn(cpu, row, now);
    }
    row->since_ns = now;
    if (state & TASK_DEAD_STATE) {
        bpf_probe_read_kernel(row->comm, sizeof row->comm, task->comm);
        row->out = 0;
        row->end_ns = now;
        return;
    }
    row->reason = reason_of(prev, preempted, state);
    row->interval_ns = wait_interval_ns;
    row->draw_ns = (draw(cpu, now) * wait_interval_ns) >> 32;
    row->wake_ns = 0;
    row->waker_kind = CS_WAKER_UNKNOWN;
    row->kept = 0;
    row->out = 1;
}

static __always_inline __u32 own_state(struct task_struct *of)
{
    struct task_struct___newer *task = (void *)of;
    if (bpf_core_field_exists(task->__state))
        return OF(task, __state);
    return (__u32)OF((struct task_struct___older *)of, state);
}

/* The state that it leaves in. Through volatile, that the argument be read only where it is. */
static __always_inline __u32 state_of(unsigned long long *ctx, struct task_struct *prev)
{
    return wait_state_given ? (__u32)((volatile unsigned long long *)ctx)[3] : own_state(prev);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(wait_switch, _Bool preempt, struct task_struct *prev, struct task_struct *next)
{
    __u32 zero = 0;
    struct cs_wait_cpu *cpu = bpf_map_lookup_elem(&wait_cpu, &zero);
    int leaves = is_followed(prev), comes = is_followed(next);
    struct cs_wait_thread *row;
    if (!cpu)
        return 0;
    cpu->came = (__u64)next;
    cpu->stack = (__u64)OF((struct task_struct___waits *)next, stack);
    cpu->kept_ns = 0;
    if (!leaves && !comes)
        return 0;
    __u64 now = time_of_switch(cpu, prev);
    if (leaves && (row = row_of(prev, 1)))
        leave(cpu, row, prev, preempt, state_of(ctx, prev), now);
    if (comes && (row = row_of(next, 1)))
        cpu->kept_ns = come(row, next, now);
    return 0;
}

/* ---- a record ---- */

/* The program itself, and what the kernel runs it by; of who is back also tell_back. Or the function that is probed. */
#define OWN_FRAMES 2
#define OWN_FRAMES_BACK 3
#define OWN_FRAMES_PROBED 1

/* Room is left for records without a copy. False: there is none. */
VERIFIED_ONCE int wait_copy_stack(struct cs_wait_copied *r, struct chain_scratch *s)
{
    __u64 held = bpf_ringbuf_query(&wait_records, BPF_RB_AVAIL_DATA);
    if (!r || !s || held * 2 > CS_WAIT_RING)
        return 0;
    __builtin_memset(&r->copy, 0, COPY_HEAD);
    r->copy.time_ns = r->record.in_ns;
    r->copy.pc = s->first_pc;
    __builtin_memcpy(r->copy.reg, s->reg, sizeof r->copy.reg);
    r->copy.end = s->end;
    r->copy.n_stack = copy_stack(&r->copy, s->reg[SP_NUMBER], copy_most(held * 2, CS_WAIT_RING));
    r->record.copied = 1;
    return 1;
}

/* The chain of what runs here, into the record; `ctx` is a tracepoint's. */
static __always_inline void take_wait_chain(void *ctx, struct cs_wait_copied *copied,
                                            struct task_struct *task, __u32 pid, __u32 scratch, __u32 own)
{
    struct cs_wait_record *r = &copied->record;
    __u32 cpu = (bpf_get_smp_processor_id() & (CS_AGGREGATE_CPUS - 1)) + scratch;
    struct chain_walk walk = {bpf_map_lookup_elem(&chain_scratch, &cpu),
                              bpf_map_lookup_elem(&chain_cpus, &cpu)};
    struct chain_scratch *s = walk.s;
    if (!s || !walk.cpu)
        return;
    begin_chain(s, cpu);
    long bytes = bpf_get_stack(ctx, s->frames, CS_CHAIN_KERNEL_FRAMES * 8, own);
    if (bytes >= 8)
        s->n = ((__u32)bytes / 8) & (2 * CS_CHAIN_KERNEL_FRAMES - 1);
    r->n_kernel = s->n;
    if (OF(task, flags) & (PF_KTHREAD | PF_IO_WORKER | PF_USER_WORKER)) {
        s->end = CS_UNWIND_END_COMPLETE;
    } else {
        struct pt_regs *regs = registers_of(s->window, task);
        TAKE_REGISTERS(s, regs);
        s->first_pc = s->pc;
        __u32 narrow = IS_NARROW(MODE(regs));
        s->list = list_of(pid, generation[pid & (CS_GENERATION_SLOTS - 1)] & CS_HOT_GENERATION_MASK);
        if (narrow || !s->list) {
            s->frames[s->n & (CS_CHAIN_FRAMES - 1)] = s->pc;
            s->n++;
            s->end = narrow ? CS_UNWIND_END_UNSUPPORTED : CS_CHAIN_END_NO_PROCESS;
            if (!narrow)
                want_process(walk.cpu, pid);
        }
#ifndef CS_OLD_KERNEL
        else {
            bpf_loop(CS_CHAIN_USER_FRAMES, unwind_frame, &walk, 0);
            if (s->runs)
                chain_join_interpreted(s, THREAD_SELF, r->n_kernel);
        }
#endif
    }
    r->joined = s->n_joined != 0;
    r->n = (r->joined ? s->n_joined : s->n) & (CS_WAIT_FRAMES - 1);
    r->chain_end = s->end;
    bpf_probe_read_kernel(r->frames, (r->n & (CS_WAIT_FRAMES - 1)) * 8, r->joined ? s->joined : s->frames);
    if (is_early(s) && has_user_part(s))
        wait_copy_stack(copied, s);
}

#define COPIED_HEAD (__builtin_offsetof(struct cs_wait_copied, copy) + COPY_HEAD)

static __always_inline void send_record(struct cs_wait_copied *copied)
{
    struct cs_wait_record *r = &copied->record;
    __u32 n_stack = copied->copy.n_stack;
    if (r->copied && n_stack <= CS_CHAIN_COPY_STACK &&
        bpf_ringbuf_output(&wait_records, copied, COPIED_HEAD + n_stack, BPF_RB_NO_WAKEUP) == 0)
        return;
    r->copied = 0;
    if (bpf_ringbuf_output(&wait_records, r, CS_WAIT_HEAD + (r->n & (CS_WAIT_FRAMES - 1)) * 8,
                           BPF_RB_NO_WAKEUP) < 0)
        __sync_fetch_and_add(&wait_lost, 1);
}

/* ---- being woken ---- */

SEC("tp_btf/sched_waking")
int BPF_PROG(wait_woken, struct task_struct *woken)
{
    if (!is_followed(woken))
        return 0;
    struct cs_wait_thread *row = row_of(woken, 0);
    if (row && (!row->out || row->wake_ns))
        return 0;
    __u64 now = bpf_ktime_get_ns();
    if (!row) { /* away since before all this: what it waited for ends here, and no record is kept of that */
        row = row_of(woken, 1);
        if (row)
            row->wake_ns = now;
        return 0;
    }
    row->wake_ns = now;
    if ((__s64)(now - row->since_ns) < (__s64)row->draw_ns)
        return 0;
    __u64 both = bpf_get_current_pid_tgid();
    struct task_struct *waker = CURRENT_TASK();
    __u32 cpu = (bpf_get_smp_processor_id() & (CS_AGGREGATE_CPUS - 1)) + wait_cpus;
    struct cs_wait_copied *copied = bpf_map_lookup_elem(&wait_scratch, &cpu);
    if (!copied)
        return 0;
    struct cs_wait_record *r = &copied->record;
    __u8 kind = waker_kind(ctx, r, waker, row->reason);
    row->kept = 1;
    row->waker_kind = kind;
    row->waker_tid = kind == CS_WAKER_THREAD ? (__u32)both : 0;
    row->waker_pid = kind == CS_WAKER_THREAD ? both >> 32 : 0;
    if (kind != CS_WAKER_THREAD)
        return 0;
    __builtin_memset(r, 0, CS_WAIT_HEAD);
    r->kind = CS_WAIT_WOKEN;
    r->tid = row->tid;
    r->pid = both >> 32;
    r->waker_tid = (__u32)both;
    r->waker_pid = both >> 32;
    r->wake_ns = r->in_ns = now;
    r->out_ns = row->since_ns;
    bpf_get_current_comm(r->comm, sizeof r->comm);
    if (is_followed(waker)) {
        struct cs_wait_thread *ran = row_of(waker, 0);
        if (ran && ran->since_ns) {
            r->start_ns = ran->start_ns;
            r->on_ns = ran->on_ns + (ran->out ? 0 : now - ran->since_ns);
        }
        take_wait_chain(ctx, copied, waker, both >> 32, 2 * wait_cpus,
                        OWN_FRAMES); /* an interrupt may wake while a chain is taken */
    }
    send_record(copied);
    return 0;
}

/* ---- being back ---- */

static __always_inline __u64 overlap(const struct cs_wait_turn *turn, __u64 from)
{
    return turn->to_ns > from ? turn->to_ns - (turn->from_ns > from ? turn->from_ns : from) : 0;
}

/* Who had this CPU since `from`: whose turn was longest, with its other turns. Not static: so the verifier looks at it once,
 * not with each way to unwind that follows. What the loops find lies in memory, whose contents the verifier doesn't tell apart (in registers: 470,000 instructions, 1.6 s before each recording). */
VERIFIED_ONCE int wait_tell_turn(struct cs_wait_record *r, __u64 from)
{
    __u32 zero = 0;
    const struct cs_wait_cpu *cpu = bpf_map_lookup_elem(&wait_cpu, &zero);
    if (!r || !cpu)
        return 0;
    for (__u32 i = 0; i < CS_WAIT_TURNS; i++) {
        __u64 ns = overlap(&cpu->at[i], from);
        if (ns > r->turn_ns && cpu->at[i].tid != r->tid) {
            r->turn_ns = ns;
            r->turn_comm[0] = i; /* for now */
        }
    }
    if (!r->turn_ns)
        return 0;
    const struct cs_wait_turn *of = &cpu->at[r->turn_comm[0] & (CS_WAIT_TURNS - 1)];
    r->turn_ns = 0;
    r->turn_comm[0] = of->comm[0];
    r->turn_comm[1] = of->comm[1];
    for (__u32 i = 0; i < CS_WAIT_TURNS; i++) {
        const struct cs_wait_turn *turn = &cpu->at[i];
        if (turn->comm[0] == r->turn_comm[0] && turn->comm[1] == r->turn_comm[1] && turn->tid != r->tid)
            r->turn_ns += overlap(turn, from);
    }
    return 0;
}

static __always_inline void look_at_descriptors(struct cs_wait_record *r, int is_current)
{
    __u8 how = r->call >= 0 && r->call < CS_WAIT_CALLS ? wait_look_of[r->call & (CS_WAIT_CALLS - 1)]
                                                       : CS_WAIT_LOOK_NOT;
    if (how == CS_WAIT_LOOK_FIRST)
        wait_look_at(r, file_of(r, (__u32)r->args[0]));
    else if (how == CS_WAIT_LOOK_POLL && is_current) /* else its memory isn't at hand */
        wait_look_at_poll(r);
    else if (how == CS_WAIT_LOOK_SELECT && is_current)
        wait_look_at_select(r);
    else if (how == CS_WAIT_LOOK_EPOLL)
        wait_look_at_epoll(r);
    wait_describe(r);
}

static __always_inline void keep_wait(void *ctx, struct cs_wait_thread *row, struct task_struct *current_task,
                                      __u64 out, __u32 own)
{
    __u64 now = row->since_ns;
    __u32 cpu = bpf_get_smp_processor_id() & (CS_AGGREGATE_CPUS - 1);
    struct cs_wait_copied *copied = bpf_map_lookup_elem(&wait_scratch, &cpu);
    struct task_struct___waits *task = (void *)current_task;
    if (!copied)
        return;
    struct cs_wait_record *r = &copied->record;
    __builtin_memset(r, 0, CS_WAIT_HEAD);
    r->kind = CS_WAIT_ENDED;
    r->tid = row->tid;
    r->pid = row->pid;
    r->interval_ns = row->interval_ns;
    r->out_ns = out;
    r->wake_ns = row->wake_ns;
    r->in_ns = now;
    r->start_ns = row->start_ns;
    r->on_ns = row->on_ns;
    r->waker_tid = row->waker_tid;
    r->waker_pid = row->waker_pid;
    r->waker_kind = row->waker_kind;
    r->reason = row->reason;
    r->call = -1;
    bpf_probe_read_kernel(r->comm, sizeof r->comm, task->comm);
    bpf_probe_read_kernel(row->comm, sizeof row->comm, task->comm);
    if (!(OF(task, flags) & (PF_IO_WORKER | PF_USER_WORKER))) {
        struct pt_regs___call *regs = USER_REGISTERS(current_task, struct pt_regs___call);
        r->call = CALL_OF(regs);
        CALL_ARGS(r->args, regs);
        r->task = (__u64)task;
        look_at_descriptors(r, 1);
    }
    __u64 queued = row->reason == CS_WAIT_RUN_QUEUE || !row->wake_ns ? out : row->wake_ns;
    if (now - queued >= CS_WAIT_TURN)
        wait_tell_turn(r, queued);
    take_wait_chain(ctx, copied, current_task, row->pid, wait_cpus, own);
    send_record(copied);
}

/* Apart: what keeps a wait needs much of the stack, and hardly a switch needs it. */
static __attribute__((noinline)) int tell_back(void *ctx, struct cs_wait_cpu *cpu, __u32 own)
{
    struct task_struct *task = CURRENT_TASK();
    int told = cpu->came == (__u64)task;
    struct cs_wait_thread *row;
    __u64 out = cpu->kept_ns;
    if (!told && !is_followed(task))
        return 0;
    row = row_of(task, !told);
    if (!told && row)
        out = come(row, task, bpf_ktime_get_ns());
    cpu->kept_ns = 0;
    if (row && out)
        keep_wait(ctx, row, task, out, own);
    return 0;
}

/* The switch to this thread was told where its stack is the one that was noted then: to ask who runs would be a call. */
static __always_inline int is_back(void *ctx, __u32 own)
{
    __u32 zero = 0;
    struct cs_wait_cpu *cpu = bpf_map_lookup_elem(&wait_cpu, &zero);
    if (!cpu)
        return 0;
    *(void *volatile *)&cpu->at_stack = ctx;
    if (*(volatile __u64 *)&cpu->at_stack - cpu->stack < KERNEL_STACK && !cpu->kept_ns)
        return 0;
    return tell_back(ctx, cpu, own);
}

/* Linux 6.16. */
SEC("tp_btf/sched_exit_tp")
int BPF_PROG(wait_is_back, _Bool is_switch)
{
    return is_switch ? is_back(ctx, OWN_FRAMES_BACK) : 0; /* else it went on at once */
}

/* Before: at the function that every thread runs first when it is back (driver/wait_maps.c has its name). */
SEC("kprobe")
int wait_is_back_probed(struct pt_regs *ctx)
{
    return is_back(ctx, OWN_FRAMES_PROBED);
}

/* ---- those that wait all the time ---- */

struct standing_registers { /* as TAKE_REGISTERS wants them */
    __u64 pc, sp, fp, bx, reg[32];
    __u32 fp_lost;
};

/* A thread that is away now, asked for from outside when a recording ends: its wait has no end that would tell of it. */
SEC("iter/task")
int wait_stands(struct bpf_iter__task *ctx)
{
    struct task_struct *task = ctx->task;
    __u32 at = 2 * wait_cpus;
    if (!task || !is_followed(task) ||
        OF(task, flags) & PF_EXITING) /* that one has ended: its row has told all */
        return 0;
    struct cs_wait_copied *copied = bpf_map_lookup_elem(&wait_scratch, &at);
    if (!copied)
        return 0;
    struct cs_wait_record *r = &copied->record;
    struct task_struct___waits *t = (void *)task;
    __builtin_memset(r, 0, CS_WAIT_HEAD);
    r->kind = CS_WAIT_STANDS;
    r->tid = OF(t, pid);
    r->pid = OF(t, tgid);
    r->task = (__u64)task;
    r->start_ns = OF(t, start_time);
    r->on_ns = OF(t, se.sum_exec_runtime);
    r->reason = reason_of(task, 0, own_state(task));
    r->call = -1;
    bpf_probe_read_kernel(r->comm, sizeof r->comm, t->comm);
    struct pt_regs *regs = registers_of(copied->copy.stack, task);
    struct standing_registers s = {};
    TAKE_REGISTERS(&s, regs);
    copied->copy.pc = s.pc;
    __builtin_memcpy(copied->copy.reg, s.reg, sizeof copied->copy.reg);
    if (!(OF(t, flags) & (PF_IO_WORKER | PF_USER_WORKER)) && !IS_NARROW(MODE(regs))) {
        struct pt_regs___call *call = USER_REGISTERS(task, struct pt_regs___call);
        r->call = CALL_OF(call);
        CALL_ARGS(r->args, call);
        look_at_descriptors(r, 0);
        r->copied = 1;
    }
    bpf_seq_write(ctx->meta->seq, r, CS_WAIT_HEAD);
    bpf_seq_write(ctx->meta->seq, &copied->copy, COPY_HEAD);
    return 0;
}
