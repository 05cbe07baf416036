/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How fast a thread runs natively what its burst has followed. When it is let go we read some words of its
 * memory again and again, from our CPU, while it runs (watch.c). When the trace changes those, and to what
 * (history.c), tells how far it had come at each time (progress.c): pairs of time and instructions. From one
 * pair to the next is a stretch. One that begins with the thread (after_ns 0) is slower: cold caches are in
 * it. Who reads it takes that off.
 *
 * A loop that writes nothing has no such words, nor has one that writes what is there already. There the
 * thread carries a clock that notes its registers twice, 25 to 250 us later, and where in the trace these fit
 * (match.c) is where it was. Two moments and not more: each is an interrupt, on a virtual machine 25 to 60 us
 * of the thread's time by what else the host does. */
#include "sampler/burst/runner/runner.h"
#include "sampler/burst/runner/sys.h"

#include <asm/perf_regs.h>
#include <linux/perf_event.h>
#include <sys/mman.h>

#define RING_BYTES PAGE /* beside the control page */
#define RING_AT (CS_BURST_BASE + CS_BURST_SPAN - 0x40000)
#define REGISTERS 16
#define REGISTERS_LEAST 2
#define STACK_WORDS_MANY 600000 /* in a trace, of one moment's: 5 MB */
#define AGAIN_MAX_TICKS 120000000
#define WAIT_MS 10      /* for a thread that went to sleep */
#define WAITED_NS 50000 /* for a CPU: more than to wake up */
#define PLACE_INSTRUCTIONS 16000
#define GOOD 80       /* thousandths that a stretch may be off by: not worth to run the burst once more */
#define TOLERABLE 400 /* at most: nearly all are off by less than a third of what they may be */

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

static struct pace_clock clock;

void pace_open(uint32_t tid)
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
        pace_close();
}

uint64_t pace_trace_room(uint64_t trace_bytes)
{
    return pace_room(&clock, trace_bytes);
}

static void arm(const struct run *run)
{
    if (event < 0)
        return;
    pace_plan(&clock, busiest_branch(run, 0, PLACE_INSTRUCTIONS), (uint64_t)(run->end - run->start),
              (uint32_t)(tsc() * 0x9e3779b97f4a7c15ULL >> 32));
    uint64_t period = clock.period_ns;
    if (SYS(__NR_ioctl, event, PERF_EVENT_IOC_PERIOD, &period) == 0)
        SYS(__NR_ioctl, event, PERF_EVENT_IOC_REFRESH, clock.n_moments);
}

void pace_close(void)
{
    if (ring)
        SYS(__NR_munmap, ring, PAGE + RING_BYTES);
    if (event >= 0)
        SYS(__NR_close, event);
    ring = NULL;
    event = -1;
}

static bool read_moment(const struct sample *sample, struct moment *moment)
{
    if (sample->header.type != PERF_RECORD_SAMPLE || sample->header.size != sizeof *sample ||
        sample->abi != PERF_SAMPLE_REGS_ABI_64)
        return false;
    *moment = (struct moment){
        .pc = sample->ip, .time_ns = sample->count, .n_words = (uint32_t)(sample->stack_bytes / 8)};
    memcpy(moment->word, sample->stack, sizeof moment->word);
    for (unsigned i = 0; i < REGISTERS; i++) { /* the kernel writes them in the order of its numbers */
        unsigned before = 0;
        for (unsigned k = 0; k < REGISTERS; k++)
            before += perf_number[k] < perf_number[i];
        moment->reg[i] = sample->reg[before];
    }
    return true;
}

/* How many came. */
static unsigned read_moments(struct moment *moments)
{
    const struct sample *sample = (const struct sample *)((const uint8_t *)ring + PAGE);
    uint64_t head = __atomic_load_n(&ring->data_head, __ATOMIC_ACQUIRE);
    unsigned n = 0;
    while (n < PACE_MOMENTS && head >= (n + 1) * sizeof *sample && read_moment(&sample[n], &moments[n]))
        n++;
    return n;
}

/* So many registers, those first that have changed since the burst's beginning: what never changes doesn't
 * tell one turn of a loop from another. */
static uint16_t telling_registers(const struct registers *start, const struct moment *moment, uint64_t most)
{
    const uint64_t first[REGISTERS] = {start->rax, start->rcx, start->rdx, start->rbx, start->rsp, start->rbp,
                                       start->rsi, start->rdi, start->r8,  start->r9,  start->r10, start->r11,
                                       start->r12, start->r13, start->r14, start->r15};
    uint16_t which = 0;
    for (unsigned same = 0; same < 2; same++)
        for (unsigned reg = 0; reg < REGISTERS && most > 0; reg++)
            if ((moment->reg[reg] == first[reg]) == same) {
                which |= (uint16_t)(1U << reg);
                most--;
            }
    return which;
}

/* The burst once more, from its beginning, with what the registers hold at the moments' instructions, and as
 * many words of the stack as there is room for, noted in the trace: what memory operands need tells too
 * little of where in a loop a thread was. Of a loop of few instructions, which the trace is full of, there is
 * room for some of the registers alone. False: it could not be done. */
static bool again(const struct run *run, const struct registers *registers, const void *vectors,
                  uint64_t vectors_bytes, struct moment *moments, unsigned n, uint64_t length,
                  struct run *second)
{
    static struct probe probes[PACE_MOMENTS];
    uint64_t room = (uint64_t)(run->end - run->start) + 4096, visits = 0;
    unsigned n_probes = n > 1 && moments[0].pc == moments[1].pc ? 1 : n;
    for (unsigned i = 0; i < n_probes && moments[0].n; i++)
        visits += moments[i].visits;
    uint64_t most = visits ? (TRACE_BYTES - room) / 8 / visits : 0; /* words a visit */
    if (most < REGISTERS_LEAST)
        return false;
    uint64_t several = most < REGISTERS ? most : REGISTERS, words = STACK_WORDS_MANY / visits;
    words = words < most - several ? words : most - several;
    words = words < STACK_WORDS ? words : STACK_WORDS;
    room += 8 * visits * (several + words);
    for (unsigned i = 0; i < n_probes; i++)
        probes[i] = (struct probe){.pc = moments[i].pc,
                                   .registers = telling_registers(registers, &moments[i], several),
                                   .words = (uint32_t)words};
    pages_rewind();
    translations_probe(match_blocks, match_n_blocks, probes, n_probes);
    run_burst(registers, vectors, vectors_bytes, room, tsc() + AGAIN_MAX_TICKS, second);
    uint64_t found = match_noted(second, moments, n);
    translations_unprobe();
    return found >= length - length / 64;
}

static bool watching;

static void wait_for_moments(void)
{
    if (!ring)
        return;
    for (unsigned i = 0; i < WAIT_MS * 4 && ring->data_head < clock.n_moments * sizeof(struct sample); i++)
        sleep_us(250);
    SYS(__NR_ioctl, event, PERF_EVENT_IOC_DISABLE, 0);
}

void pace_begin(const struct run *run, const struct registers *registers, uint32_t tid, uint64_t ticks_a_us)
{
    warm_begin(run, registers, tid, ticks_a_us);
    clock.place = 0;
    watching = awake_elsewhere() && watch_choose(run, registers, ticks_a_us);
    if (!watching)
        arm(run);
    watched.warm = warm_end();
}

void pace_watch(uint32_t tid)
{
    if (!watching) {
        wait_for_moments();
        return;
    }
    uint64_t waited = waited_ns(tid);
    watch_poll((pid_t)tid);
    if (waited_ns(tid) > waited + WAITED_NS) /* another thread ran meanwhile */
        watched.n_polls = 0;
}

static void add_stretch(struct cs_burst_outcome *outcome, const struct run *run,
                        const struct progress_stretch *stretch, uint64_t after_ns)
{
    if (stretch->off < TOLERABLE)
        outcome->pace[outcome->n_paces++] =
            (struct cs_burst_pace){.place = busiest_branch(run, stretch->from, stretch->to),
                                   .after_ns = (uint32_t)after_ns,
                                   .ns = (uint32_t)(stretch->to_ns - stretch->from_ns),
                                   .instructions = stretch->to - stretch->from};
}

/* Where it was by the words of its memory. */
static void end_watch(struct cs_burst_outcome *outcome, const struct run *run,
                      const struct registers *registers, const void *vectors, uint64_t vectors_bytes)
{
    struct progress_stretch early, late;
    struct run second = *run; /* replaces the first */
    uint64_t length = history_begin(run, registers);
    struct progress known = progress(&watched, histories, length);
    progress_stretches(&watched, &known, &early, &late);
    if (late.off > GOOD && history_again(run, length, registers, vectors, vectors_bytes, &second)) {
        known = progress(&watched, histories, length);
        progress_stretches(&watched, &known, &early, &late);
    }
    add_stretch(outcome, &second, &early, 0);
    add_stretch(outcome, &second, &late, late.from_ns);
    outcome->pace_samples = 1;
    outcome->pace_matched = outcome->n_paces > 0;
    outcome->pace_beyond = !known.within;
    outcome->pace_ambiguous = known.within && !outcome->n_paces;
    pace_learn(&clock, outcome, (uint64_t)(run->end - run->start), length, 0);
}

void pace_end(struct cs_burst_outcome *outcome, const struct run *run, const struct registers *registers,
              const void *vectors, uint64_t vectors_bytes)
{
    static struct run second;
    static struct moment moments[PACE_MOMENTS];
    if (watching) {
        end_watch(outcome, run, registers, vectors, vectors_bytes);
        return;
    }
    unsigned n = ring ? read_moments(moments) : 0;
    if (!n)
        return;
    uint64_t length = match_noted(run, moments, n);
    bool done = again(run, registers, vectors, vectors_bytes, moments, n, length, &second);
    if (!done)
        match(run, registers, moments, n);
    pace_stretch(outcome, done ? &second : run, moments, n, &clock);
    outcome->pace_cost_ns = pace_cost_ns(&clock, moments, n);
    pace_learn(&clock, outcome, (uint64_t)(run->end - run->start), length, pace_own_ns(&clock, moments));
}

void pace_warm(void)
{
    static bool warm;
    if (!warm) {
        pages_warm();
        trace_warm();
        warm = true;
    }
}
