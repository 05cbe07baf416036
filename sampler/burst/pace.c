/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How fast a thread runs natively what its burst has followed. When it is let go we read some words of its
 * memory again and again, from our CPU, while it runs (watch.c). When the trace changes those, and to what
 * (history.c), tells how far it had come at each time (progress.c): pairs of time and instructions. From one
 * pair to the next is a stretch. One that begins with the thread (after_ns 0) is slower: cold caches are in
 * it. Who reads it takes that off.
 *
 * A loop that writes nothing has no such words. There the thread carries an event that notes its registers
 * three times, every 35 to 90 us of its time, and where in the trace these fit (match.c) is where it was.
 * Each of these moments is an interrupt, some 10 to 25 us of the thread's time on a virtual machine. What it
 * takes is measured on a loop of our own, now and then, and taken off. */
#include "sampler/burst/runner.h"
#include "sampler/burst/sys.h"

#include <asm/perf_regs.h>
#include <linux/perf_event.h>
#include <sys/mman.h>

#define RING_BYTES (4 * PAGE) /* beside the control page */
#define RING_AT (CS_BURST_BASE + CS_BURST_SPAN - 0x40000)
#define MOMENTS 3      /* of a burst */
#define MOMENTS_MAX 20 /* that the ring holds */
#define CALIBRATION_NS 50000
#define REGISTERS 16
#define REGISTERS_LEAST 2
#define STACK_WORDS_MANY 600000 /* in a trace, of one moment's: 5 MB */
#define AGAIN_MAX_TICKS 120000000
#define WAIT_MS 10      /* for a thread that went to sleep */
#define WAITED_NS 50000 /* for a CPU: more than to wake up */
#define GOOD 80         /* thousandths that a stretch may be off by: not worth to run the burst once more */
#define TOLERABLE 400   /* at most: nearly all are off by less than a third of what they may be */

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

static void open_event(uint32_t tid, uint32_t period)
{
    clock.period_ns = period;
    struct perf_event_attr attr = {
        .type = PERF_TYPE_SOFTWARE,
        .size = sizeof attr,
        .config = PERF_COUNT_SW_CPU_CLOCK,
        .sample_period = period,
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

void pace_open(uint32_t tid)
{
    open_event(tid, CALIBRATION_NS);
}

uint64_t pace_trace_room(uint64_t trace_bytes)
{
    return pace_room(&clock, trace_bytes);
}

static void arm(const struct run *run)
{
    if (event < 0)
        return;
    uint64_t period =
        pace_period(&clock, (uint64_t)(run->end - run->start), MOMENTS, tsc() * 0x9e3779b97f4a7c15ULL >> 32);
    if (SYS(__NR_ioctl, event, PERF_EVENT_IOC_PERIOD, &period) == 0)
        clock.period_ns = (uint32_t)period;
    SYS(__NR_ioctl, event, PERF_EVENT_IOC_REFRESH, MOMENTS);
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

static void copy_out(uint64_t from, void *to, uint64_t bytes)
{
    const uint8_t *start = (const uint8_t *)ring + PAGE;
    for (uint64_t i = 0; i < bytes; i++)
        ((uint8_t *)to)[i] = start[(from + i) % RING_BYTES];
}

static unsigned read_moments(struct moment moments[MOMENTS_MAX])
{
    uint64_t head = __atomic_load_n(&ring->data_head, __ATOMIC_ACQUIRE);
    unsigned n = 0;
    for (uint64_t at = 0;
         at + sizeof(struct perf_event_header) <= head && head <= RING_BYTES && n < MOMENTS_MAX;) {
        struct sample sample;
        copy_out(at, &sample.header, sizeof sample.header);
        if (!sample.header.size)
            break;
        if (sample.header.type == PERF_RECORD_SAMPLE && sample.header.size == sizeof sample) {
            copy_out(at, &sample, sizeof sample);
            if (sample.abi == PERF_SAMPLE_REGS_ABI_64) {
                struct moment *moment = &moments[n++];
                moment->pc = sample.ip;
                moment->time_ns = sample.count;
                moment->n_words = (uint32_t)(sample.stack_bytes / 8);
                memcpy(moment->word, sample.stack, sizeof moment->word);
                for (unsigned i = 0; i < 16; i++) { /* the kernel writes them in the order of its numbers */
                    unsigned before = 0;
                    for (unsigned k = 0; k < 16; k++)
                        before += perf_number[k] < perf_number[i];
                    moment->reg[i] = sample.reg[before];
                }
            }
        }
        at += sample.header.size;
    }
    return n;
}

/* So many registers, those first that held something else at each of the moments and at the burst's
 * beginning: what never changes doesn't tell one turn of a loop from another. */
static uint16_t telling_registers(const struct registers *start, const struct moment *moments, unsigned n,
                                  uint64_t most)
{
    const uint64_t first[REGISTERS] = {start->rax, start->rcx, start->rdx, start->rbx, start->rsp, start->rbp,
                                       start->rsi, start->rdi, start->r8,  start->r9,  start->r10, start->r11,
                                       start->r12, start->r13, start->r14, start->r15};
    uint16_t which = 0;
    for (unsigned values = n + 1; values > 0; values--)
        for (unsigned reg = 0; reg < REGISTERS && most > 0; reg++) {
            unsigned distinct = 1;
            for (unsigned i = 0; i < n; i++) {
                bool met = moments[i].reg[reg] == first[reg];
                for (unsigned k = 0; k < i; k++)
                    met |= moments[i].reg[reg] == moments[k].reg[reg];
                distinct += !met;
            }
            if (distinct != values)
                continue;
            which |= (uint16_t)(1U << reg);
            most--;
        }
    return which;
}

/* The burst once more, from its beginning, with what the registers hold at the moments' instructions, and
 * as many words of the stack as there is room for, noted in the trace: what memory operands need tells too
 * little of where in a loop a thread was. Of a loop of few instructions, which the trace is full of, there is
 * room for some of the registers alone. False: it could not be done. */
static bool again(const struct run *run, const struct registers *registers, const void *vectors,
                  uint64_t vectors_bytes, struct moment *moments, unsigned n, uint64_t length,
                  struct run *second)
{
    static struct probe probes[MOMENTS_MAX];
    unsigned n_probes = 0;
    uint64_t room = (uint64_t)(run->end - run->start) + 4096;
    for (unsigned i = 0; i < n && moments[i].n; i++) {
        bool there = false;
        for (unsigned k = 0; k < n_probes; k++)
            there |= probes[k].pc == moments[i].pc;
        if (there)
            continue;
        uint64_t most = (TRACE_BYTES - room) / (n - i) / 8 / moments[i].visits; /* words a visit */
        uint64_t words = STACK_WORDS_MANY / moments[i].visits;
        if (most < REGISTERS_LEAST)
            return false;
        uint64_t several = most < REGISTERS ? most : REGISTERS;
        words = words < most - several ? words : most - several;
        words = words < STACK_WORDS ? words : STACK_WORDS;
        room += 8 * moments[i].visits * (several + words);
        probes[n_probes++] = (struct probe){.pc = moments[i].pc,
                                            .registers = telling_registers(registers, moments, n, several),
                                            .words = (uint32_t)words};
    }
    if (!n_probes)
        return false;
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
    for (unsigned i = 0; i < WAIT_MS * 4 && ring->data_head < MOMENTS * sizeof(struct sample); i++)
        sleep_us(250);
    SYS(__NR_ioctl, event, PERF_EVENT_IOC_DISABLE, 0);
}

void pace_begin(const struct run *run, const struct registers *registers, uint64_t ticks_a_us)
{
    watching = watch_choose(run, registers, ticks_a_us);
    if (!watching)
        arm(run);
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
    static struct moment moments[MOMENTS_MAX];
    if (watching) {
        end_watch(outcome, run, registers, vectors, vectors_bytes);
        return;
    }
    if (!ring)
        return;
    unsigned n = read_moments(moments);
    uint64_t length = match_noted(run, moments, n);
    outcome->pace_samples = n;
    outcome->pace_cost_ns = clock.cost_ns;
    bool done = again(run, registers, vectors, vectors_bytes, moments, n, length, &second);
    if (!done)
        match(run, registers, moments, n);
    stretches(outcome, done ? &second : run, moments, n, &clock);
    if (n)
        pace_learn(&clock, outcome, (uint64_t)(run->end - run->start), length, moments[0].time_ns);
}

/* So many turns of a loop that counts them down in rcx. */
extern const uint8_t calibration_begin[], calibration_end[];
__attribute__((noinline)) static void turn(uint64_t turns)
{
    __asm__ volatile("calibration_begin:\n"
                     "1: dec %%rcx\n"
                     "  jnz 1b\n"
                     "calibration_end:\n"
                     : "+c"(turns)
                     :
                     : "cc");
}

static void insert(uint64_t *sorted, unsigned n, uint64_t value)
{
    for (; n > 0 && sorted[n - 1] > value; n--)
        sorted[n] = sorted[n - 1];
    sorted[n] = value;
}

/* Turns of the loop from moment to moment, the median, when there is one every period. */
static uint64_t turns_between(uint32_t period, uint64_t *ns)
{
    enum { LOOKS = 10, TURNS_A_NS = 3, RCX = 1 };
    static struct moment moments[MOMENTS_MAX];
    static uint64_t turns[MOMENTS_MAX], times[MOMENTS_MAX];
    uint64_t pc = (uint64_t)calibration_begin, bytes = (uint64_t)(calibration_end - calibration_begin);
    unsigned n_turns = 0;
    open_event(0, period);
    if (!ring)
        return 0;
    SYS(__NR_ioctl, event, PERF_EVENT_IOC_ENABLE, 0);
    turn(TURNS_A_NS * LOOKS * (uint64_t)period);
    SYS(__NR_ioctl, event, PERF_EVENT_IOC_DISABLE, 0);
    unsigned n = read_moments(moments);
    pace_close();
    for (unsigned i = 1; i < n; i++) {
        const struct moment *a = &moments[i - 1], *b = &moments[i];
        if (a->pc - pc >= bytes || b->pc - pc >= bytes || a->reg[RCX] <= b->reg[RCX])
            continue;
        insert(times, n_turns, b->time_ns - a->time_ns);
        insert(turns, n_turns++, a->reg[RCX] - b->reg[RCX]);
    }
    *ns = n_turns ? times[n_turns / 2] : 0;
    return n_turns > 4 ? turns[n_turns / 2] : 0;
}

/* Two periods tell what a turn takes, and with it what a moment does. 0: they don't, something came between.
 */
static uint64_t one_cost(void)
{
    uint64_t short_ns = 0, long_ns = 0;
    uint64_t few = turns_between(CALIBRATION_NS, &short_ns);
    uint64_t many = turns_between(3 * CALIBRATION_NS, &long_ns);
    if (!few || many <= few || long_ns <= short_ns)
        return 0;
    uint64_t turning_ns = few * (long_ns - short_ns) / (many - few);
    return turning_ns < short_ns ? short_ns - turning_ns : 0;
}

void pace_calibrate(void)
{
    enum { FIRST = 5, EACH = 16, KEPT = 15 };
    static uint64_t lately[KEPT];
    static unsigned calls, n_costs;
    if (!calls) {
        pages_warm();
        trace_warm();
    }
    for (unsigned i = calls ? FIRST - 1U : 0; i < FIRST && calls % EACH == 0; i++) {
        uint64_t cost = one_cost(), sorted[KEPT];
        if (!cost)
            continue;
        lately[n_costs++ % KEPT] = cost;
        unsigned n = n_costs < KEPT ? n_costs : KEPT;
        for (unsigned k = 0; k < n; k++)
            insert(sorted, k, lately[k]);
        clock.cost_ns = (uint32_t)sorted[n / 2];
    }
    calls++;
}
