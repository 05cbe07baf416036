/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How fast a thread runs natively what its burst has followed. When it is let go we read some words of its
 * memory again and again, from our CPU, while it runs (polled_words.c). When the trace changes those, and to
 * what (word_history.c), tells how far it had come at each time (trace_position.c): pairs of time and
 * instructions. From one pair to the next is an interval. One that begins with the thread (after_ns 0) is
 * slower: cold caches are in it. Who reads it takes that off.
 *
 * A loop that writes nothing has no such words, nor has one that writes what is there already. There the
 * thread carries a clock that notes its registers twice, 25 to 250 us later, and where in the trace these fit
 * (match_registers.c) is where it was. Two snapshots and not more: each is an interrupt, on a virtual machine
 * 25 to 60 us of the thread's time by what else the host does. */
#include "sampler/burst/runner/timing.h"
#include "sampler/burst/runner/keep_cpu_awake.h"
#include "sampler/burst/runner/libc.h"
#include "sampler/burst/runner/match_registers.h"
#include "sampler/burst/runner/pages.h"
#include "sampler/burst/runner/signal_entry.h"
#include "sampler/burst/runner/sys.h"
#include "sampler/burst/runner/thread.h"
#include "sampler/burst/runner/timing_model.h"
#include "sampler/burst/runner/timing_samples.h"
#include "sampler/burst/runner/trace_position.h"
#include "sampler/burst/runner/translate.h"
#include "sampler/burst/runner/warm_caches.h"

#include <asm/perf_regs.h>
#include <linux/perf_event.h>
#include <sys/mman.h>

#define RING_BYTES PAGE /* beside the control page */
#define RING_AT (CS_BURST_BASE + CS_BURST_SPAN - 0x40000)
#define REGISTERS 16
#define REGISTERS_LEAST 2
#define STACK_WORDS_MANY 600000 /* in a trace, of one snapshot's: 5 MB */
#define AGAIN_MAX_TICKS 120000000
#define WAIT_MS 10 /* for a thread that went to sleep */

static const uint8_t perf_number[16] = {/* of our numbers of registers */
                                        PERF_REG_X86_AX,  PERF_REG_X86_CX,  PERF_REG_X86_DX,
                                        PERF_REG_X86_BX,  PERF_REG_X86_SP,  PERF_REG_X86_BP,
                                        PERF_REG_X86_SI,  PERF_REG_X86_DI,  PERF_REG_X86_R8,
                                        PERF_REG_X86_R9,  PERF_REG_X86_R10, PERF_REG_X86_R11,
                                        PERF_REG_X86_R12, PERF_REG_X86_R13, PERF_REG_X86_R14,
                                        PERF_REG_X86_R15};

struct sample {
    struct perf_event_header header;
    uint64_t ip, time, count, abi, reg[16], stack_size, stack[STACK_WORDS], stack_bytes;
};

static int event = -1;
static struct perf_event_mmap_page *ring;

static struct snapshot_clock clock;
static struct polled_words polled;

void timing_open(uint32_t tid)
{
    struct perf_event_attr attr = {
        .type = PERF_TYPE_SOFTWARE,
        .size = sizeof attr,
        .config = PERF_COUNT_SW_CPU_CLOCK,
        .sample_period = 1000000, /* arm() sets it */
        .sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TIME | PERF_SAMPLE_READ | PERF_SAMPLE_REGS_USER |
                       PERF_SAMPLE_STACK_USER,
        .sample_stack_user = 8 * STACK_WORDS,
        .disabled = 1,
        .exclude_kernel = 1,
        .exclude_hv = 1,
        .remove_on_exec = 1,
    };
    for (unsigned i = 0; i < 16; i++)
        attr.sample_regs_user |= 1ULL << perf_number[i];
    event = (int)SYS(__NR_perf_event_open, &attr, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (event < 0)
        return;
    long at =
        SYS(__NR_mmap, RING_AT, PAGE + RING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, event, 0);
    ring = at == (long)RING_AT ? (struct perf_event_mmap_page *)at : NULL;
    if (!ring)
        timing_close();
}

uint64_t timing_trace_room(uint64_t trace_bytes)
{
    return snapshot_room(&clock, trace_bytes);
}

static void arm(const struct run *run)
{
    if (event < 0)
        return;
    snapshot_schedule(&clock, busiest_branch(run, 0, CS_MODEL_HOT_BRANCH_INSTRUCTIONS),
                      (uint64_t)(run->end - run->start), (uint32_t)(tsc() * 0x9e3779b97f4a7c15ULL >> 32));
    uint64_t period = clock.period_ns;
    if (SYS(__NR_ioctl, event, PERF_EVENT_IOC_PERIOD, &period) == 0)
        SYS(__NR_ioctl, event, PERF_EVENT_IOC_REFRESH, clock.n_snapshots);
}

void timing_close(void)
{
    if (ring)
        SYS(__NR_munmap, ring, PAGE + RING_BYTES);
    if (event >= 0)
        SYS(__NR_close, event);
    ring = NULL;
    event = -1;
}

static bool read_snapshot(const struct sample *sample, struct snapshot *snapshot)
{
    if (sample->header.type != PERF_RECORD_SAMPLE || sample->header.size != sizeof *sample ||
        sample->abi != PERF_SAMPLE_REGS_ABI_64)
        return false;
    *snapshot = (struct snapshot){
        .pc = sample->ip, .time_ns = sample->count, .n_words = (uint32_t)(sample->stack_bytes / 8)};
    memcpy(snapshot->word, sample->stack, sizeof snapshot->word);
    for (unsigned i = 0; i < REGISTERS; i++) { /* the kernel writes them in the order of its numbers */
        unsigned before = 0;
        for (unsigned k = 0; k < REGISTERS; k++)
            before += perf_number[k] < perf_number[i];
        snapshot->reg[i] = sample->reg[before];
    }
    return true;
}

/* How many came. */
static unsigned read_snapshots(struct snapshot *snapshots)
{
    const struct sample *sample = (const struct sample *)((const uint8_t *)ring + PAGE);
    uint64_t head = __atomic_load_n(&ring->data_head, __ATOMIC_ACQUIRE);
    unsigned n = 0;
    while (n < SNAPSHOTS_MAX && head >= (n + 1) * sizeof *sample && read_snapshot(&sample[n], &snapshots[n]))
        n++;
    return n;
}

/* So many registers, those first that have changed since the burst's beginning: what never changes doesn't
 * tell one turn of a loop from another. */
static uint16_t telling_registers(const struct registers *start, const struct snapshot *snapshot,
                                  uint64_t most)
{
    const uint64_t first[REGISTERS] = {start->rax, start->rcx, start->rdx, start->rbx, start->rsp, start->rbp,
                                       start->rsi, start->rdi, start->r8,  start->r9,  start->r10, start->r11,
                                       start->r12, start->r13, start->r14, start->r15};
    uint16_t which = 0;
    for (unsigned same = 0; same < 2; same++)
        for (unsigned reg = 0; reg < REGISTERS && most > 0; reg++)
            if ((snapshot->reg[reg] == first[reg]) == same) {
                which |= (uint16_t)(1U << reg);
                most--;
            }
    return which;
}

/* The burst once more, from its beginning, with what the registers hold at the snapshots' instructions, and
 * as many words of the stack as there is room for, noted in the trace: what memory operands need tells too
 * little of where in a loop a thread was. Of a loop of few instructions, which the trace is full of, there is
 * room for some of the registers alone. False: it could not be done. */
static bool again(const struct run *run, const struct registers *registers, const void *vectors,
                  uint64_t vectors_bytes, struct snapshot *snapshots, unsigned n, uint64_t length,
                  struct run *second)
{
    static struct probe probes[SNAPSHOTS_MAX];
    uint64_t room = (uint64_t)(run->end - run->start) + 4096, visits = 0;
    unsigned n_probes = n > 1 && snapshots[0].pc == snapshots[1].pc ? 1 : n;
    for (unsigned i = 0; i < n_probes && snapshots[0].n; i++)
        visits += snapshots[i].visits;
    uint64_t most = visits ? (TRACE_BYTES - room) / 8 / visits : 0; /* words a visit */
    if (most < REGISTERS_LEAST)
        return false;
    uint64_t several = most < REGISTERS ? most : REGISTERS, words = STACK_WORDS_MANY / visits;
    words = words < most - several ? words : most - several;
    words = words < STACK_WORDS ? words : STACK_WORDS;
    room += 8 * visits * (several + words);
    for (unsigned i = 0; i < n_probes; i++)
        probes[i] = (struct probe){.pc = snapshots[i].pc,
                                   .registers = telling_registers(registers, &snapshots[i], several),
                                   .words = (uint32_t)words};
    pages_rewind();
    translations_probe(match_blocks, match_n_blocks, probes, n_probes);
    run_burst(registers, vectors, vectors_bytes, room, tsc() + AGAIN_MAX_TICKS, second);
    uint64_t found = match_noted(second, snapshots, n);
    translations_unprobe();
    return found >= length - length / 64;
}

static bool polling;

static void wait_for_snapshots(void)
{
    if (!ring)
        return;
    for (unsigned i = 0; i < WAIT_MS * 4 && ring->data_head < clock.n_snapshots * sizeof(struct sample); i++)
        sleep_us(250);
    SYS(__NR_ioctl, event, PERF_EVENT_IOC_DISABLE, 0);
}

void timing_begin(const struct run *run, const struct registers *registers, uint32_t tid, uint64_t ticks_a_us)
{
    cache_warming_begin(run, registers, tid, ticks_a_us);
    clock.hot_branch = 0;
    polling = idle_keeper_elsewhere() && polled_words_choose(&polled, run, registers, ticks_a_us);
    if (!polling)
        arm(run);
    polled.warm = cache_warming_end();
}

void timing_watch(uint32_t tid)
{
    if (!polling) {
        wait_for_snapshots();
        return;
    }
    uint64_t waited = waited_ns(tid);
    polled_words_poll(&polled, (pid_t)tid);
    if (waited_ns(tid) > waited + CS_MODEL_WAITED_NS) /* another thread ran meanwhile */
        polled.n_polls = 0;
}

static void add_interval(struct cs_burst_outcome *outcome, const struct run *run,
                         const struct position_interval *interval, uint64_t after_ns)
{
    if (interval->off < CS_MODEL_INTERVAL_TOLERABLE)
        outcome->interval[outcome->n_intervals++] =
            (struct cs_burst_timed_interval){.hot_branch = busiest_branch(run, interval->from, interval->to),
                                             .after_ns = (uint32_t)after_ns & ~1U,
                                             .ns = (uint32_t)(interval->to_ns - interval->from_ns),
                                             .instructions = interval->to - interval->from};
}

/* Where it was by the words of its memory. */
static void end_polling(struct cs_burst_outcome *outcome, const struct run *run,
                        const struct registers *registers, const void *vectors, uint64_t vectors_bytes)
{
    struct position_interval early, late;
    struct run second = *run; /* replaces the first */
    uint64_t length = history_begin(&polled, run, registers);
    struct trace_positions known = trace_positions(&polled, histories, length);
    position_intervals(&polled, &known, &early, &late);
    if (late.off > CS_MODEL_INTERVAL_GOOD &&
        history_again(&polled, run, length, registers, vectors, vectors_bytes, &second)) {
        known = trace_positions(&polled, histories, length);
        position_intervals(&polled, &known, &early, &late);
    }
    add_interval(outcome, &second, &early, 0);
    add_interval(outcome, &second, &late, late.from_ns);
    outcome->timing_tried = 1;
    outcome->timing_found = outcome->n_intervals > 0;
    outcome->timing_beyond = !known.within;
    outcome->timing_ambiguous = known.within && !outcome->n_intervals;
    snapshot_learn(&clock, outcome, (uint64_t)(run->end - run->start), length, 0);
}

void timing_end(struct cs_burst_outcome *outcome, const struct run *run, const struct registers *registers,
                const void *vectors, uint64_t vectors_bytes)
{
    static struct run second;
    static struct snapshot snapshots[SNAPSHOTS_MAX];
    if (polling) {
        end_polling(outcome, run, registers, vectors, vectors_bytes);
        return;
    }
    unsigned n = ring ? read_snapshots(snapshots) : 0;
    if (!n)
        return;
    uint64_t length = match_noted(run, snapshots, n);
    bool done = again(run, registers, vectors, vectors_bytes, snapshots, n, length, &second);
    if (!done)
        match(run, registers, snapshots, n);
    snapshot_interval(outcome, done ? &second : run, snapshots, n, &clock);
    outcome->timing_cost_ns = timing_cost_ns(&clock, snapshots, n);
    snapshot_learn(&clock, outcome, (uint64_t)(run->end - run->start), length,
                   snapshot_own_ns(&clock, snapshots));
}

static bool warm;

void timing_rest(void)
{
    pages_rest();
    trace_rest();
    history_rest();
    warm = false;
}

void timing_prepare(void)
{
    if (!warm) {
        pages_prepare();
        trace_prepare();
        warm = true;
    }
}
