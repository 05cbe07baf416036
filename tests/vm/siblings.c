/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside the emulated x86-64 machine: two hardware threads of a core.
 *   siblings observe   an observer next to its target, with AnyThread: core - own = target, in every interval whose two
 *                      readings nothing interrupted
 *   siblings hold N    another user of the counters: takes N of each CPU until it is killed (Intel) */
#include "tests/vm/truth.h"

#include <sched.h>
#include <signal.h>
#include <sys/wait.h>

int failures;

#ifndef __x86_64__
int main(void)
{
    printf("skipped: only for x86-64\n");
    return 77;
}
#else
#include "tests/vm/x86/truth.h"

#include <x86intrin.h>

enum { READINGS = 20000, INSTRUCTIONS_OF_CORE = 0x2000c0, INSTRUCTIONS_OF_CPU = 0xc0, CYCLES_OF_CPU = 0x3c };

static void move_to(unsigned cpu)
{
    cpu_set_t there;
    CPU_ZERO(&there);
    CPU_SET(cpu, &there);
    sched_setaffinity(0, sizeof there, &there);
}

static int open_of_cpu(uint64_t config, int cpu, bool pinned)
{
    struct perf_event_attr attr = {
        .type = PERF_TYPE_RAW, .size = sizeof attr, .config = config, .pinned = pinned};
    return (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

static struct cs_pmc map_event(int fd)
{
    void *page = mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_READ, MAP_SHARED, fd, 0);
    struct cs_pmc pmc = {.page = page, .width = 48};
    if (page == MAP_FAILED) {
        printf("ASSERT map-event-of-a-cpu 0 %d FAIL %s\n", errno, strerror(errno));
        exit(1);
    }
    return pmc;
}

struct sibling_reading {
    uint64_t core, own, true_core, true_own, cycles;
    bool whole;
};

static struct sibling_reading take(const struct cs_pmc *core, const struct cs_pmc *own)
{
    struct sibling_reading r = {.whole = true};
    uint64_t begin = __rdtsc();
    r.core = cs_pmc_read(core, &r.whole);
    r.own = cs_pmc_read(own, &r.whole);
    r.true_core = cs_truth_of_core(CS_INSTRUCTIONS);
    r.true_own = cs_truth_of_cpu(CS_INSTRUCTIONS);
    r.cycles = __rdtsc() - begin;
    return r;
}

/* The shortest reading is one that nothing came between: with the target busy, a turn of it would be seen as hundreds of cycles. */
static int observe(void)
{
    static struct sibling_reading readings[READINGS];
    pid_t target = fork();
    if (target == 0) {
        move_to(0);
        for (;;)
            spin(1000);
    }
    move_to(1);
    int core_fd = open_of_cpu(INSTRUCTIONS_OF_CORE, 1, false),
        own_fd = open_of_cpu(INSTRUCTIONS_OF_CPU, 1, false);
    expect("any-thread-opens", 0, core_fd < 0 || own_fd < 0 ? errno : 0, 0);
    struct cs_pmc core = map_event(core_fd), own = map_event(own_fd);
    for (unsigned i = 0; i < READINGS; i++)
        readings[i] = take(&core, &own);
    kill(target, SIGKILL);
    waitpid(target, NULL, 0);

    uint64_t shortest = UINT64_MAX;
    for (unsigned i = 0; i < READINGS; i++)
        if (readings[i].whole && readings[i].cycles < shortest)
            shortest = readings[i].cycles;
    unsigned kept = 0, exactly = 0, moved = 0, others_wrong = 0;
    uint64_t by_counters = 0, by_truth = 0;
    for (unsigned i = 1; i < READINGS; i++) {
        const struct sibling_reading *a = &readings[i - 1], *b = &readings[i];
        uint64_t target_counted = b->core - a->core - (b->own - a->own),
                 target_true = b->true_core - a->true_core - (b->true_own - a->true_own);
        if (!a->whole || !b->whole)
            continue;
        if (a->cycles != shortest || b->cycles != shortest) {
            others_wrong += target_counted != target_true;
            continue;
        }
        kept++;
        exactly += target_counted == target_true;
        moved += target_true > 0;
        by_counters += target_counted;
        by_truth += target_true;
    }
    printf("  a reading takes %" PRIu64 " cycles; of the intervals with an interrupted one %u were wrong\n",
           shortest, others_wrong);
    /* How many depends on where turns (of 200 instructions) end in readings: a quarter of them as compiled today. */
    report("sibling-intervals-kept", 0.05 * READINGS, READINGS, kept);
    report("sibling-intervals-in-which-the-target-ran", 0.05 * kept, kept, moved);
    expect("sibling-kept-intervals-that-are-exact", kept, exactly, 0);
    expect("sibling-target-in-all", (double)by_truth, (double)by_counters, 0);
    report("sibling-filter-was-needed", 1, READINGS, others_wrong);
    return failures != 0;
}

static int hold(int n)
{
    for (int cpu = 0; cpu < sysconf(_SC_NPROCESSORS_ONLN); cpu++)
        for (int i = 0; i < n; i++)
            if (open_of_cpu(i % 2 ? CYCLES_OF_CPU : INSTRUCTIONS_OF_CPU, cpu, true) < 0)
                return 1;
    for (;;)
        pause();
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "hold") == 0)
        return hold(atoi(argv[2]));
    return observe();
}
#endif
