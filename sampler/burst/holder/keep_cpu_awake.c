/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Keeps the CPU of a stopped thread out of idle. Otherwise it would fall asleep, which on a virtual machine
 * gives it back to the host. What runs there meanwhile takes the caches: a database ran the first 20 us
 * after a burst at a third of its speed. To come back takes some 40 us. So a thread of ours that gives way
 * to everybody (SCHED_IDLE) spins there until the stopped one is about to go on. It reads what warm_caches.c
 * asks for. It is gone before that one comes. Otherwise it would need the CPU once more, to go to sleep, and
 * the readings of the thread's clock would be off by that. A CPU looks for work for some us before it
 * sleeps.
 *
 * And keeps the runner off that CPU. To the kernel a CPU whose thread is stopped is a free one. Where
 * another program has the other CPU of two, it put the runner there in two bursts of three. The runner then
 * takes the thread's caches as it follows the trace and, as it watches, its CPU. */
#include "sampler/burst/holder/keep_cpu_awake.h"
#include "sampler/burst/runner/boundary.h"
#include "sampler/burst/runner/libc.h"
#include "sampler/burst/runner/sys.h"
#include "sampler/burst/runner/thread.h"
#include "sampler/burst/runner/timing_model.h"

#include <linux/futex.h>
#include <sched.h>
#include <sys/resource.h>
#include <time.h>

#define CPUS_MAX 4096
#define NOWHERE UINT32_MAX
static uint8_t stack[8192] __attribute__((aligned(4096)));
struct idle_keeper idle_keeper;
struct warm_pages *idle_keeper_pages = &boundary->warm;
static volatile int32_t wanted;
static uint32_t held_cpu = NOWHERE;

/* The list grows while we read it, and who writes it isn't trusted. */
static uint32_t pages_asked(void)
{
    uint32_t asked = __atomic_load_n(&idle_keeper_pages->asked, __ATOMIC_ACQUIRE);
    return asked < WARM_PAGES_MAX ? asked : WARM_PAGES_MAX;
}

/* Whoever turns here may have lost the CPU anywhere in between, and find another burst's pages. */
void idle_keeper_read_some(void)
{
    static uint8_t sink[PAGE]; /* all into the same page: the cache is for the others */
    uint32_t done = __atomic_load_n(&idle_keeper.answered, __ATOMIC_RELAXED);
    if (done >= pages_asked())
        return;
    uint64_t page = *(volatile uint64_t *)&idle_keeper_pages->page[done];
    SYS(__NR_pread64, CS_BURST_FD_MEMORY, sink, PAGE, page & ~(PAGE - 1)); /* perhaps it can't be read */
    __atomic_store_n(&idle_keeper.answered, done + 1, __ATOMIC_RELEASE);
}

static int keeper(void)
{
    struct sched_param none = {0};
    if (SYS(__NR_sched_setscheduler, 0, SCHED_IDLE, &none) < 0)
        return 0;
    for (;;) {
        while (!wanted)
            SYS(__NR_futex, &wanted, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
        while (wanted) { /* without `pause`, which hypervisors take for a reason to run somebody else */
            idle_keeper_read_some();
            for (unsigned i = 0; i < 64; i++)
                __asm__ volatile("");
        }
    }
}

/* For threads that are started from now on, too. */
static void keep_off(uint32_t cpu)
{
    static uint64_t allowed[CPUS_MAX / 64], mask[CPUS_MAX / 64];
    static long bytes;
    static uint32_t off = NOWHERE;
    if (!bytes)
        bytes = SYS(__NR_sched_getaffinity, 0, sizeof allowed, allowed);
    if (bytes <= 0 || cpu == off)
        return;
    memcpy(mask, allowed, sizeof mask);
    if (cpu != NOWHERE)
        mask[cpu / 64] &= ~(1ULL << cpu % 64);
    if (SYS(__NR_sched_setaffinity, 0, bytes, mask) == 0) /* an error: it is the only one */
        off = cpu;
}

static bool place_keeper(uint32_t cpu)
{
    static uint64_t mask[CPUS_MAX / 64];
    static bool started;
    if (!started)
        start_thread(keeper, stack + sizeof stack - 64, &idle_keeper.tid);
    started = true;
    if (!idle_keeper.tid)
        return false;
    memset(mask, 0, sizeof mask);
    mask[cpu / 64] = 1ULL << cpu % 64;
    return SYS(__NR_sched_setaffinity, idle_keeper.tid, sizeof mask, mask) == 0;
}

void idle_keeper_place(uint32_t cpu, bool keep)
{
    held_cpu = cpu < CPUS_MAX ? cpu : NOWHERE;
    idle_keeper.placed = keep && held_cpu != NOWHERE && place_keeper(cpu);
    keep_off(idle_keeper.placed && !idle_keeper.alone ? cpu : NOWHERE);
}

bool idle_keeper_elsewhere(void)
{
    unsigned own = 0;
    SYS(__NR_getcpu, &own, NULL, NULL);
    return own != held_cpu;
}

static struct {
    uint64_t ns, own_ns;
} before;

static long displaced(void)
{
    struct rusage usage = {0};
    SYS(__NR_getrusage, RUSAGE_THREAD, &usage);
    return usage.ru_nivcsw;
}

static bool others_want_ours(void)
{
    uint64_t own_ns = clock_of(CLOCK_THREAD_CPUTIME_ID) - before.own_ns;
    return displaced() > idle_keeper.displaced &&
           clock_of(CLOCK_MONOTONIC) - before.ns > own_ns + CS_MODEL_DISPLACED_NS;
}

/* Who wants our CPU should have had the stopped thread's. */
static void leave_alone(bool wanted_ours)
{
    static unsigned next = CS_MODEL_ALONE_MIN;
    if (wanted_ours) {
        idle_keeper.alone = next;
        next = next * 4 < CS_MODEL_ALONE_MAX ? next * 4 : CS_MODEL_ALONE_MAX;
    } else if (next > CS_MODEL_ALONE_MIN) {
        next /= 2;
    }
}

void idle_keeper_begin(void)
{
    idle_keeper.turning = idle_keeper.placed && !idle_keeper.alone;
    idle_keeper.alone -= idle_keeper.alone > 0;
    idle_keeper_pages->asked = 0;
    idle_keeper.answered = 0;
    if (!idle_keeper.turning)
        return;
    before.ns = clock_of(CLOCK_MONOTONIC);
    before.own_ns = clock_of(CLOCK_THREAD_CPUTIME_ID);
    idle_keeper.displaced = displaced();
    wanted = 1;
    SYS(__NR_futex, &wanted, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

void idle_keeper_end(void)
{
    wanted = 0;
    if (idle_keeper.turning)
        leave_alone(others_want_ours());
    idle_keeper.turning = false;
}

bool warming_begin(void)
{
    return idle_keeper.turning;
}

/* Nothing is read as long as the CPU is somebody else's. */
bool warming_end(uint64_t until)
{
    uint32_t all = idle_keeper.turning ? pages_asked() : 0, left = all;
    while (left && tsc() < until) {
        uint32_t answered = __atomic_load_n(&idle_keeper.answered, __ATOMIC_ACQUIRE);
        left = answered < all ? all - answered : 0;
        if (!answered)
            break;
        __asm__ volatile("pause");
    }
    return idle_keeper.turning && !left;
}
