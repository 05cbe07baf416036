/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How fast a thread runs natively what its burst has followed. When it is let go it carries an event that
 * notes its registers every tenth of a millisecond of its time or so: nothing stops it, and nothing that it
 * can read tells. Where in the trace each moment was (match.c) makes pairs of time and instructions; from one
 * pair to the next is a stretch. The one from the release to the first moment is left out: caches are cold.
 *
 * Each moment is an interrupt, some 10 to 25 us of the thread's time on a virtual machine. What it takes is
 * measured once on a loop of our own and taken off. */
#include "sampler/burst/runner.h"
#include "sampler/burst/sys.h"

#include <asm/perf_regs.h>
#include <linux/perf_event.h>
#include <sys/mman.h>
#include <time.h>

#define RING_BYTES (2 * PAGE) /* beside the control page */
#define RING_AT (CS_BURST_BASE + CS_BURST_SPAN - 0x40000)
#define MOMENTS 4      /* of a burst */
#define MOMENTS_MAX 48 /* that the ring holds */
#define PERIOD_LEAST_NS 60000
#define PERIOD_SPAN_NS 60000
#define WAIT_MS 10 /* for a thread that went to sleep */
/* The places of a moment in the trace may differ by one part in so many of their number of
 * instructions. */
#define TOLERANCE 100

static const uint8_t perf_number[16] = {/* of our numbers of registers */
                                        PERF_REG_X86_AX,  PERF_REG_X86_CX,  PERF_REG_X86_DX,
                                        PERF_REG_X86_BX,  PERF_REG_X86_SP,  PERF_REG_X86_BP,
                                        PERF_REG_X86_SI,  PERF_REG_X86_DI,  PERF_REG_X86_R8,
                                        PERF_REG_X86_R9,  PERF_REG_X86_R10, PERF_REG_X86_R11,
                                        PERF_REG_X86_R12, PERF_REG_X86_R13, PERF_REG_X86_R14,
                                        PERF_REG_X86_R15};

struct sample {
    struct perf_event_header header;
    uint64_t ip, time, count, abi, reg[16];
};

static int event = -1;
static struct perf_event_mmap_page *ring;

static uint32_t cost_ns; /* of one moment */

static void open_event(uint32_t tid, uint32_t period_ns)
{
    struct perf_event_attr attr = {
        .type = PERF_TYPE_SOFTWARE,
        .size = sizeof attr,
        .config = PERF_COUNT_SW_CPU_CLOCK,
        .sample_period = period_ns,
        .sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TIME | PERF_SAMPLE_READ | PERF_SAMPLE_REGS_USER,
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
    open_event(tid, PERIOD_LEAST_NS + (uint32_t)(tsc() * 0x9e3779b97f4a7c15ULL >> 33) % PERIOD_SPAN_NS);
}

void pace_begin(void)
{
    if (event >= 0)
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

static void sleep_us(long us)
{
    struct timespec time = {0, us * 1000};
    SYS(__NR_nanosleep, &time, NULL);
}

/* The longest run of moments whose place is known, in order. Past the trace's end, or where the thread went
 * another way (other threads, signals, clocks), a moment has no place, and what comes later has one by chance
 * at most. */
static void stretches(struct cs_burst_outcome *outcome, const struct run *run, const struct moment *moments,
                      unsigned n)
{
    const struct moment *last = NULL;
    for (unsigned i = 0; i < n; i++) {
        const struct moment *moment = &moments[i];
        if (!moment->n) {
            outcome->pace_beyond += n - i;
            break;
        }
        if ((moment->last - moment->first) * TOLERANCE > moment->last ||
            (last && moment->first <= last->last)) {
            outcome->pace_ambiguous++;
            continue;
        }
        outcome->pace_matched++;
        uint64_t cost = last ? (uint64_t)(moment - last) * cost_ns : 0;
        if (last && moment->time_ns > last->time_ns + cost && outcome->n_paces < CS_BURST_PACES_MAX)
            outcome->pace[outcome->n_paces++] = (struct cs_burst_pace){
                .place = busiest_branch(run, last->last, moment->last),
                .after_ns = (uint32_t)last->time_ns,
                .ns = (uint32_t)(moment->time_ns - last->time_ns - cost),
                .instructions = moment->last - last->last,
            };
        last = moment;
    }
}

void pace_end(struct cs_burst_outcome *outcome, const struct run *run, const struct registers *registers)
{
    static struct moment moments[MOMENTS_MAX];
    if (!ring)
        return;
    for (unsigned i = 0; i < WAIT_MS * 4 && ring->data_head < MOMENTS * sizeof(struct sample); i++)
        sleep_us(250);
    SYS(__NR_ioctl, event, PERF_EVENT_IOC_DISABLE, 0);
    unsigned n = read_moments(moments);
    match(run, registers, moments, n);
    outcome->pace_samples = n;
    outcome->pace_cost_ns = cost_ns;
    stretches(outcome, run, moments, n);
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

static uint64_t clock_ns(void)
{
    struct timespec time;
    SYS(__NR_clock_gettime, CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static void insert(uint64_t *sorted, unsigned n, uint64_t value)
{
    for (; n > 0 && sorted[n - 1] > value; n--)
        sorted[n] = sorted[n - 1];
    sorted[n] = value;
}

/* Time from moment to moment of the loop, less what its turns take when nobody looks: the median. */
void pace_calibrate(void)
{
    enum { TURNS = 200000, TRIES = 16, LOOKS = 32, RCX = 1 };
    static struct moment moments[MOMENTS_MAX];
    static uint64_t costs[MOMENTS_MAX];
    unsigned n_costs = 0;
    for (unsigned i = 0; i < TRIES; i++) {
        uint64_t begin = clock_ns();
        turn(TURNS);
        insert(costs, i, clock_ns() - begin);
    }
    uint64_t usual = costs[TRIES / 2];
    open_event(0, (PERIOD_LEAST_NS + PERIOD_SPAN_NS / 2));
    if (!ring)
        return;
    SYS(__NR_ioctl, event, PERF_EVENT_IOC_REFRESH, LOOKS);
    for (unsigned i = 0; i < 8 && ring->data_head < LOOKS * sizeof(struct sample); i++)
        turn(8 * TURNS);
    unsigned n = read_moments(moments);
    pace_close();
    for (unsigned i = 1; i < n; i++) {
        const struct moment *a = &moments[i - 1], *b = &moments[i];
        uint64_t pc = (uint64_t)calibration_begin, bytes = (uint64_t)(calibration_end - calibration_begin);
        if (a->pc - pc >= bytes || b->pc - pc >= bytes || a->reg[RCX] <= b->reg[RCX])
            continue;
        uint64_t running = (a->reg[RCX] - b->reg[RCX]) * usual / TURNS, took = b->time_ns - a->time_ns;
        uint64_t cost = took > running ? took - running : 0;
        insert(costs, n_costs++, cost);
    }
    if (n_costs)
        cost_ns = (uint32_t)costs[n_costs / 2];
}
