/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Keeps the CPU of a held thread awake. It would fall asleep, which on a virtual machine gives it back to the
 * host: what runs there meanwhile takes the caches (a database ran the first 20 us after a burst at a third
 * of its speed), and to come back takes some 40 us. So a thread of ours that gives way to everybody
 * (SCHED_IDLE) turns there until the held one is about to go on, and reads what warm.c asks for. It is gone
 * before that one comes: it would want the CPU once more, to go to sleep, and what the thread's clock says of
 * it would be off by that. A CPU looks for work for some us before it sleeps.
 *
 * And keeps the runner off that CPU. To the kernel a CPU whose thread stands is a free one: where another
 * program has the other CPU of two it put the runner there in two bursts of three, which takes the thread's
 * caches as it follows the trace and, as it watches, its CPU. */
#include "sampler/burst/runner/runner.h"
#include "sampler/burst/runner/sys.h"

#include <linux/futex.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <time.h>

#define CPUS_MAX 4096
#define READ_AT_ONCE 16     /* pages, 10 us: as long as nobody else gets the CPU */
#define ALONE_LEAST 2       /* bursts after one in which others took our own CPU */
#define ALONE_MOST 64       /* where they do again and again */
#define DISPLACED_NS 500000 /* for longer than this: a moment now and then is the kernel's */
#define NOWHERE UINT32_MAX
static uint8_t stack[8192] __attribute__((aligned(4096)));
static volatile int32_t keeper_tid, wanted;
static bool placed, turning; /* turning: in this burst */
static unsigned alone;       /* bursts that the CPU is left alone for */
static uint32_t held_cpu = NOWHERE;

static struct iovec there[AWAKE_PAGES_MAX];
static uint32_t asked, answered; /* of those; shared with the keeper */
static volatile int32_t read_from;

/* Whoever turns here may have lost the CPU anywhere in between, and find another burst's pages. */
static void read_some(void)
{
    static uint8_t sink[PAGE]; /* all into the same page: the cache is for the others */
    struct iovec here[READ_AT_ONCE];
    uint32_t end = __atomic_load_n(&asked, __ATOMIC_ACQUIRE);
    uint32_t done = __atomic_load_n(&answered, __ATOMIC_RELAXED);
    if (done >= end)
        return;
    uint32_t n = end - done < READ_AT_ONCE ? end - done : READ_AT_ONCE;
    for (uint32_t i = 0; i < n; i++)
        here[i] = (struct iovec){sink, PAGE};
    long bytes = SYS(__NR_process_vm_readv, read_from, here, n, &there[done], n, 0);
    uint32_t read = bytes > 0 ? (uint32_t)((uint64_t)bytes / PAGE) : 0;
    __atomic_store_n(&answered, done + (read ? read : 1), __ATOMIC_RELEASE); /* one can't be read */
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
            read_some();
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
        start_thread(keeper, stack + sizeof stack - 64, &keeper_tid);
    started = true;
    if (!keeper_tid)
        return false;
    memset(mask, 0, sizeof mask);
    mask[cpu / 64] = 1ULL << cpu % 64;
    return SYS(__NR_sched_setaffinity, keeper_tid, sizeof mask, mask) == 0;
}

void awake_place(uint32_t cpu, bool keep)
{
    held_cpu = cpu < CPUS_MAX ? cpu : NOWHERE;
    placed = keep && held_cpu != NOWHERE && place_keeper(cpu);
    keep_off(placed && !alone ? cpu : NOWHERE);
}

bool awake_elsewhere(void)
{
    unsigned own = 0;
    SYS(__NR_getcpu, &own, NULL, NULL);
    return own != held_cpu;
}

static struct {
    uint64_t ns, own_ns;
    long displaced; /* times */
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
    return displaced() > before.displaced && clock_of(CLOCK_MONOTONIC) - before.ns > own_ns + DISPLACED_NS;
}

/* Who wants our CPU should have had the held thread's. */
static void leave_alone(bool wanted_ours)
{
    static unsigned next = ALONE_LEAST;
    if (wanted_ours) {
        alone = next;
        next = next * 4 < ALONE_MOST ? next * 4 : ALONE_MOST;
    } else if (next > ALONE_LEAST) {
        next /= 2;
    }
}

void awake_begin(void)
{
    turning = placed && !alone;
    alone -= alone > 0;
    asked = answered = 0;
    if (!turning)
        return;
    before.ns = clock_of(CLOCK_MONOTONIC);
    before.own_ns = clock_of(CLOCK_THREAD_CPUTIME_ID);
    before.displaced = displaced();
    wanted = 1;
    SYS(__NR_futex, &wanted, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

void awake_end(void)
{
    wanted = 0;
    if (turning)
        leave_alone(others_want_ours());
    turning = false;
}

bool awake_read_begin(int32_t tid)
{
    read_from = tid;
    return turning;
}

void awake_read(uint64_t page)
{
    there[asked] = (struct iovec){(void *)page, PAGE};
    __atomic_store_n(&asked, asked + 1, __ATOMIC_RELEASE);
}

uint32_t awake_unread(void)
{
    return asked - __atomic_load_n(&answered, __ATOMIC_ACQUIRE);
}
