/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The observer's premise: what it reads of the core less what it did itself is what the other thread did. Against the
 * emulated processor's own counts (magic rdpmc, tests/vm/x86/cs_pmu.h), read before and after each sample. Between them
 * the target's instructions are known exactly if it did nothing meanwhile, else within bounds.
 *
 * sibling [SAMPLES [PERIOD]]: the shares of kept intervals that are exact, and the length of an interval. */
#include "tests/vm/truth.h"

#include "dte/dte.h"
#include "observer/source/clock.h"
#include "observer/source/events.h"
#include "tests/vm/spin.h"

#include <sched.h>
#include <signal.h>
#include <sys/wait.h>

int failures;

#if defined(__x86_64__)
#define TRUTH 0x43530000u /* + kind + 256 × mode: user, kernel, both threads of the core */
#define UNDISTURBED 64    /* instructions between two readings */
#define LEAST_SAMPLES 100

struct sighting {
    struct cs_dte_reading reading;
    uint64_t seen, before, after; /* the target's instructions: as read, and as they are around it */
};

static void go_to(unsigned cpu)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    if (sched_setaffinity(0, sizeof set, &set) != 0)
        exit(77);
}

static uint64_t own(void)
{
    return cs_rdpmc(TRUTH) + cs_rdpmc(TRUTH + 256);
}

/* The core's instructions less this thread's, but for a constant: read again where an interrupt came between. */
static uint64_t others(void)
{
    uint64_t first, core, second;
    do {
        first = own();
        core = cs_rdpmc(TRUTH + 512);
        second = own();
    } while (second - first > UNDISTURBED);
    return core - first;
}

/* Uneven work with system calls in it. */
static void work(void)
{
    go_to(1);
    for (uint64_t i = 1;; i = i * 6364136223846793005u + 1442695040888963407u) {
        spin(50 + (i >> 33) % 3000);
        if (i >> 60 == 0)
            (void)syscall(SYS_getppid);
    }
}

static void sight(const struct cs_pmc *pmc, struct sighting *s)
{
    bool complete = true;
    s->before = others();
    s->reading.start = cs_clock_ordered();
    cs_clock_ordered();
    s->seen = cs_pmc_read(pmc, &complete);
    s->reading.end = cs_clock_ordered();
    s->after = others();
    s->reading.complete = complete;
}

/* In an interval the target did at least and at most so many. */
static bool is_within(const struct sighting *a, const struct sighting *b, bool *narrow)
{
    uint64_t seen = b->seen - a->seen, least = b->before - a->after, most = b->after - a->before;
    *narrow = a->before == a->after && b->before == b->after;
    return seen >= least && seen <= most;
}

/* What the two ways of reading have between them is the same each time: it cancels. */
static void judge(const struct sighting *all, unsigned n)
{
    struct cs_dte_rule rule = cs_dte_paper_rule();
    unsigned kept = 0, exact_ones = 0, narrow_ones = 0;
    double cycles = 0, instructions = 0;
    rule.gap_cycles = 200000;
    for (unsigned i = 1; i < n; i++) {
        bool narrow;
        if (cs_dte_judge(&rule, &all[i - 1].reading, &all[i].reading) != CS_DTE_KEPT)
            continue;
        kept++;
        if (is_within(&all[i - 1], &all[i], &narrow))
            exact_ones++;
        else
            printf("interval %u: %" PRIu64 " read, %" PRIu64 " to %" PRIu64 " done; readings took %" PRIu64
                   " and %" PRIu64 " cycles of %" PRIu64 "\n",
                   i, all[i].seen - all[i - 1].seen, all[i].before - all[i - 1].after,
                   all[i].after - all[i - 1].before, all[i - 1].reading.end - all[i - 1].reading.start,
                   all[i].reading.end - all[i].reading.start,
                   all[i].reading.start - all[i - 1].reading.start);
        narrow_ones += narrow;
        cycles += (double)(all[i].reading.start - all[i - 1].reading.start);
        instructions += (double)(all[i].seen - all[i - 1].seen);
    }
    printf("SIBLING kept %u exact %u judged-to-the-instruction %u of %u, %.0f cycles and %.1f instructions "
           "each\n",
           kept, exact_ones, narrow_ones, n - 1, kept ? cycles / kept : 0, kept ? instructions / kept : 0);
    report("sibling-keeps-intervals", LEAST_SAMPLES / 2, n, kept);
    report("sibling-kept-intervals-are-exact", kept, kept, exact_ones);
    report("sibling-most-are-judged-to-the-instruction", kept / 2.0, kept, narrow_ones);
}

int main(int argc, char **argv)
{
    unsigned n = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 2000;
    uint64_t period = argc > 2 ? strtoull(argv[2], NULL, 10) : 5000;
    const char *why = "";
    if (!has_pmu())
        return 77;
    if (!cs_events_any_thread(&why) || !exact()) {
        printf("skipped: %s\n",
               exact() ? why : "the exact counts of both threads are the emulated machine's");
        return 77;
    }
    struct cs_observe_event event = {.name = "instructions:t", .any_thread = true};
    struct cs_events *events;
    struct cs_error err;
    struct cs_pmc hardware[CS_COUNTERS_MAX];
    struct sighting *all = malloc(n * sizeof *all);
    event.attr.type = PERF_TYPE_HARDWARE;
    event.attr.config = PERF_COUNT_HW_INSTRUCTIONS;
    pid_t target = all ? fork() : -1;
    if (target == 0)
        work();
    go_to(0);
    if (target < 0 || cs_events_open(&event, 1, true, false, &events, &err) < 0 ||
        cs_events_open_own(events, hardware, &err) < 0) {
        printf("ASSERT sibling-opens 0 1 FAIL %s\n", target < 0 ? "no memory" : err.text);
        return 1;
    }
    memset(all, 0, n * sizeof *all); /* no page faults later */
    usleep(2000);
    for (unsigned i = 0; i < n; i++) {
        sight(&hardware[0], &all[i]);
        while (cs_clock() - all[i].reading.start < period)
            cs_pause();
    }
    kill(target, SIGKILL);
    waitpid(target, NULL, 0);
    judge(all, n);
    cs_events_close(events);
    free(all);
    return failures != 0;
}
#else
int main(void)
{
    puts("skipped: the counters of both threads of a core are Intel's");
    return 77;
}
#endif
