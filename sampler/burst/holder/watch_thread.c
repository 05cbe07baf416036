/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Looks at the thread that was let go, in one of two ways that the replayer chose. One is words of its
 * memory, read again and again (poll_words.c). The other is a clock of the thread's that notes its registers
 * twice, 25 to 250 us later. What that tells is timed_burst.c's. */
#include "sampler/burst/holder/watch_thread.h"
#include "sampler/burst/holder/keep_cpu_awake.h"
#include "sampler/burst/holder/poll_words.h"
#include "sampler/burst/runner/libc.h"
#include "sampler/burst/runner/sys.h"
#include "sampler/burst/runner/thread.h"
#include "sampler/burst/runner/timing_model.h"

#include <asm/perf_regs.h>
#include <linux/perf_event.h>
#include <sys/mman.h>

#define RING_BYTES PAGE /* beside the control page */
#define RING_AT (CS_BURST_BASE + CS_BURST_SPAN - 0x40000)
#define REGISTERS 16
#define WAIT_MS 10 /* for a thread that went to sleep */
#define PERIOD_LEAST_NS 10000
#define PERIOD_MOST_NS 2000000

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

static struct polled_words polled;
static bool polling;
static unsigned n_snapshots;

void watch_open(uint32_t tid)
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
        watch_close();
}

static void arm(uint64_t period_ns)
{
    if (event < 0)
        return;
    uint64_t period = period_ns < PERIOD_LEAST_NS  ? PERIOD_LEAST_NS
                      : period_ns > PERIOD_MOST_NS ? PERIOD_MOST_NS
                                                   : period_ns;
    if (SYS(__NR_ioctl, event, PERF_EVENT_IOC_PERIOD, &period) == 0)
        SYS(__NR_ioctl, event, PERF_EVENT_IOC_REFRESH, n_snapshots);
}

void watch_close(void)
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
static unsigned read_snapshots(void)
{
    const struct sample *sample = (const struct sample *)((const uint8_t *)ring + PAGE);
    uint64_t head = __atomic_load_n(&ring->data_head, __ATOMIC_ACQUIRE);
    unsigned n = 0;
    while (n < SNAPSHOTS_MAX && head >= (n + 1) * sizeof *sample &&
           read_snapshot(&sample[n], &boundary->snapshots[n]))
        n++;
    return n;
}

static void wait_for_snapshots(void)
{
    if (!ring || !n_snapshots)
        return;
    for (unsigned i = 0; i < WAIT_MS * 4 && ring->data_head < n_snapshots * sizeof(struct sample); i++)
        sleep_us(250);
    SYS(__NR_ioctl, event, PERF_EVENT_IOC_DISABLE, 0);
}

void watch_begin(const struct replay_told *told, uint64_t ticks_a_us)
{
    uint64_t now = tsc(), wait = CS_MODEL_WARMING_WAIT_NS / 1000 * ticks_a_us;
    uint64_t since = told->warming_since < now ? told->warming_since : now;
    memcpy(&polled, &boundary->polled, sizeof polled);
    polling = told->poll && polled.n_words && polled.n_words <= POLLED_WORDS_MAX;
    polled.ticks_a_us = ticks_a_us;
    polled.n_polls = 0;
    n_snapshots = polling ? 0 : told->n_snapshots;
    if (n_snapshots)
        arm(told->period_ns);
    polled.warm = warming_end(since + wait);
}

void watch_thread(uint32_t tid)
{
    boundary->ask.polled = polling;
    boundary->ask.n_snapshots = 0;
    if (!polling) {
        wait_for_snapshots();
        boundary->ask.n_snapshots = ring ? read_snapshots() : 0;
        return;
    }
    uint64_t waited = waited_ns(tid);
    poll_words(&polled);
    if (waited_ns(tid) > waited + CS_MODEL_WAITED_NS) /* another thread ran meanwhile */
        polled.n_polls = 0;
    memcpy(&boundary->polled, &polled, sizeof polled);
}
