/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How fast a thread runs natively what its burst has followed. When it is let go some words of its memory are
 * read again and again, from another CPU, while it runs. When the trace changes those, and to what
 * (word_history.c), shows how far it had come at each time (trace_position.c). The result is pairs of time and
 * instructions. From one pair to the next is an interval. One that begins with the thread (after_ns 0) is
 * slower: cold caches are in it. A reader of it subtracts that.
 *
 * A loop that writes nothing has no such words, nor has one that writes what is there already. There the
 * thread carries a clock that notes its registers twice, 25 to 250 us later. The place in the trace that fits
 * these (match_registers.c) is where it was. Two snapshots and not more: each is an interrupt. On a virtual
 * machine it takes 25 to 60 us of the thread's time, depending on what else the host does. */
#include "sampler/burst/replayer/trace/timed_burst.h"
#include "sampler/burst/replayer/trace/match_registers.h"
#include "sampler/burst/replayer/trace/polled_words.h"
#include "sampler/burst/replayer/trace/timing_samples.h"
#include "sampler/burst/replayer/trace/trace_position.h"
#include "sampler/burst/replayer/trace/warm_caches.h"
#include "sampler/burst/replayer/trace/word_history.h"
#include "sampler/burst/replayer/translator/pages.h"
#include "sampler/burst/replayer/translator/signal_entry.h"
#include "sampler/burst/replayer/translator/translate.h"
#include "sampler/burst/runner/sys.h"
#include "sampler/burst/runner/timing_model.h"

#define REGISTERS 16
#define REGISTERS_MIN 2
#define STACK_WORDS_MANY 600000 /* in a trace, of one snapshot's: 5 MB */
#define AGAIN_MAX_TICKS 120000000

static struct snapshot_clock clock;

uint64_t timed_trace_room(uint64_t trace_bytes)
{
    return snapshot_room(&clock, trace_bytes);
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
    uint64_t capacity = (uint64_t)(run->end - run->start) + 4096, visits = 0;
    unsigned n_probes = n > 1 && snapshots[0].pc == snapshots[1].pc ? 1 : n;
    for (unsigned i = 0; i < n_probes && snapshots[0].n; i++)
        visits += snapshots[i].visits;
    uint64_t most = visits ? (TRACE_BYTES - capacity) / 8 / visits : 0; /* words a visit */
    if (most < REGISTERS_MIN)
        return false;
    uint64_t several = most < REGISTERS ? most : REGISTERS, words = STACK_WORDS_MANY / visits;
    words = words < most - several ? words : most - several;
    words = words < STACK_WORDS ? words : STACK_WORDS;
    capacity += 8 * visits * (several + words);
    for (unsigned i = 0; i < n_probes; i++)
        probes[i] = (struct probe){.pc = snapshots[i].pc,
                                   .registers = telling_registers(registers, &snapshots[i], several),
                                   .words = (uint32_t)words};
    pages_rewind();
    translations_probe(match_blocks, match_n_blocks, probes, n_probes);
    run_burst(registers, vectors, vectors_bytes, capacity, tsc() + AGAIN_MAX_TICKS, second);
    uint64_t found = match_noted(second, snapshots, n);
    translations_unprobe();
    return found >= length - length / 64;
}

void timed_burst_ran(const struct run *run, const struct registers *registers)
{
    struct replay_told *told = &boundary->told;
    uint64_t ticks_a_us = boundary->ask.ticks_a_us;
    told->warming_since =
        boundary->ask.warming ? cache_warming_list(&boundary->warm, run, registers, ticks_a_us) : 0;
    clock.hot_branch = 0;
    told->poll =
        boundary->ask.elsewhere && polled_words_choose(&boundary->polled, run, registers, ticks_a_us);
    if (told->poll)
        return;
    snapshot_schedule(&clock, busiest_branch(run, 0, CS_MODEL_HOT_BRANCH_INSTRUCTIONS),
                      (uint64_t)(run->end - run->start), (uint32_t)(tsc() * 0x9e3779b97f4a7c15ULL >> 32));
    told->period_ns = clock.period_ns;
    told->n_snapshots = clock.n_snapshots;
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
    uint64_t length = history_begin(&boundary->polled, run, registers);
    struct trace_positions known = trace_positions(&boundary->polled, histories, length);
    position_intervals(&boundary->polled, &known, &early, &late);
    if (late.off > CS_MODEL_INTERVAL_GOOD &&
        history_again(&boundary->polled, run, length, registers, vectors, vectors_bytes, &second)) {
        known = trace_positions(&boundary->polled, histories, length);
        position_intervals(&boundary->polled, &known, &early, &late);
    }
    add_interval(outcome, &second, &early, 0);
    add_interval(outcome, &second, &late, late.from_ns);
    outcome->timing_tried = 1;
    outcome->timing_found = outcome->n_intervals > 0;
    outcome->timing_beyond = !known.within;
    outcome->timing_ambiguous = known.within && !outcome->n_intervals;
    snapshot_learn(&clock, outcome, (uint64_t)(run->end - run->start), length, 0);
}

void timed_burst_end(struct cs_burst_outcome *outcome, const struct run *run,
                     const struct registers *registers, const void *vectors, uint64_t vectors_bytes)
{
    static struct run second;
    struct snapshot *snapshots = boundary->snapshots;
    if (boundary->ask.polled) {
        end_polling(outcome, run, registers, vectors, vectors_bytes);
        return;
    }
    unsigned n = boundary->ask.n_snapshots;
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

void timed_burst_rest(void)
{
    pages_rest();
    trace_rest();
    history_rest();
    warm = false;
}

void timed_burst_prepare(void)
{
    if (!warm) {
        pages_prepare();
        trace_prepare();
        warm = true;
    }
}
