/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a call chain costs a sample: page faults drive the overflow path (as sampler-handler does, which says why), at the
 * bottom of a chain of 20 functions without frame pointers. In turns: no event, our BPF driver without chains, the same with
 * chains, `perf record -g` (frame pointers: it finds what it finds), `perf record --call-graph dwarf`. What stands in the table
 * are differences to the bare event's burst of the same round, without the fifth on either side, with their standard errors;
 * and the bytes of a sample in perf's file.
 *
 *     chains-cost [--quick]      value: ns that a chain of depth 20 adds to a sample */
#include "bench/faults.h"
#include "store/base/clock.h"

#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>

#define PAGE 4096UL
#define BURST 1024U
#define ROUNDS_MAX 1200
#define DEPTH 20

enum { NONE, BARE, SAMPLE, CHAIN, PERF_FP, PERF_DWARF, VARIANTS };
static const char *const names[] = {"no event",   "bare event",     "bpf, no chain",
                                    "bpf, chain", "perf record -g", "perf record --call-graph dwarf"};

/* ---- the work: DEPTH calls, then one fault ---- */

static unsigned char *pages;
static volatile unsigned sum;

/* Each its own function with a frame of its own size, kept from being turned into a loop or a jump. */
#define FUNCTION(name, callee)                                                                               \
    static __attribute__((noinline, noclone)) unsigned name(unsigned page)                                   \
    {                                                                                                        \
        volatile unsigned local[sizeof #name] = {page};                                                      \
        return callee(page) + local[0];                                                                      \
    }
static __attribute__((noinline, noclone)) unsigned touch(unsigned page)
{
    return pages[page * PAGE];
}
FUNCTION(f19, touch)
FUNCTION(f18_, f19)
FUNCTION(f17, f18_)
FUNCTION(f16___, f17)
FUNCTION(f15, f16___)
FUNCTION(f14__, f15)
FUNCTION(f13, f14__)
FUNCTION(f12_____, f13)
FUNCTION(f11, f12_____)
FUNCTION(f10_, f11)
FUNCTION(f9, f10_)
FUNCTION(f8__, f9)
FUNCTION(f7, f8__)
FUNCTION(f6_________, f7)
FUNCTION(f5, f6_________)
FUNCTION(f4_, f5)
FUNCTION(f3, f4_)

/* touch, f19 … f3, burst, measure, main: 21; with libc's two and _start 24. The depth is told by the session itself. */
static __attribute__((noinline)) double burst(void)
{
    madvise(pages, BURST * PAGE, MADV_DONTNEED);
    sum += f3(0);
    madvise(pages, BURST * PAGE, MADV_DONTNEED);
    double begin = cs_thread_cpu_seconds();
    for (unsigned p = 0; p < BURST; p++)
        sum += f3(p);
    return (cs_thread_cpu_seconds() - begin) * 1e9 / BURST;
}

/* ---- those who look ---- */

static struct cs_sampler *open_session(bool chains)
{
    static const char *const events[] = {"page-faults"};
    struct cs_sampler_config config = {.events = events,
                                       .n_events = 1,
                                       .period = 1,
                                       .target = CS_TARGET_PID,
                                       .pid = getpid(),
                                       .driver = CS_SAMPLER_DRIVER_BPF,
                                       .chains = chains};
    struct cs_sampler *s = NULL;
    struct cs_error err;
    if (cs_sampler_open(&config, &s, &err) < 0) {
        fprintf(stderr, "chains-cost: %s\n", err.text);
        exit(1);
    }
    turn_on(s, false);
    return s;
}

/* ---- figures ---- */

static double difference(double of[ROUNDS_MAX], double from[ROUNDS_MAX], unsigned rounds, double *error)
{
    static double differences[ROUNDS_MAX];
    for (unsigned r = 0; r < rounds; r++)
        differences[r] = of[r] - from[r];
    return trimmed(differences, rounds, error);
}

int main(int argc, char **argv)
{
    static double costs[VARIANTS][ROUNDS_MAX];
    unsigned rounds = argc > 1 && strcmp(argv[1], "--quick") == 0 ? 120 : 600;
    struct cs_error err;
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(0, &set);
    sched_setaffinity(0, sizeof set, &set);
    pages = mmap(NULL, BURST * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED)
        return 1;
    madvise(pages, BURST * PAGE, MADV_NOHUGEPAGE);
    struct cs_sampler *session[VARIANTS] = {[SAMPLE] = open_session(false), [CHAIN] = open_session(true)};
    struct perf perf[VARIANTS] = {{.pid = 0}};
    int bare = open_bare();
    ioctl(bare, PERF_EVENT_IOC_DISABLE, 0);
    open_perf(&perf[PERF_FP], "fp");
    open_perf(&perf[PERF_DWARF], "dwarf");
    for (unsigned r = 0; r < 3; r++) { /* the tables are asked for and come */
        turn_on(session[CHAIN], true);
        burst();
        turn_on(session[CHAIN], false);
        cs_session_drain(session[CHAIN], CS_DRIVER_DRAIN_SOME, &err);
    }
    struct cs_sampler_statistics before, after;
    cs_sampler_statistics(session[CHAIN], &before);
    for (unsigned r = 0; r < rounds; r++)
        for (unsigned k = 0; k < VARIANTS; k++) {
            unsigned v = (k + r) % VARIANTS;
            if (v >= PERF_FP && (r % 4 || !tell_perf(&perf[v], "enable\n"))) /* its file is large */
                continue;
            if (v == BARE)
                ioctl(bare, PERF_EVENT_IOC_ENABLE, 0);
            turn_on(session[v], true);
            costs[v][v >= PERF_FP ? r / 4 : r] = burst();
            turn_on(session[v], false);
            if (v == BARE)
                ioctl(bare, PERF_EVENT_IOC_DISABLE, 0);
            if (v >= PERF_FP)
                tell_perf(&perf[v], "disable\n");
            if (session[v] && r % 8 == 7)
                cs_session_drain(session[v], CS_DRIVER_DRAIN_SOME, &err);
        }
    cs_sampler_statistics(session[CHAIN], &after);
    double samples = (double)(after.delivered - before.delivered),
           frames = (double)(after.chain_frames - before.chain_frames);
    double complete = (double)(after.chain_ends[0] - before.chain_ends[0]);
    unsigned perf_rounds = (rounds + 3) / 4;
    double error, value = difference(costs[CHAIN], costs[SAMPLE], rounds, &error);
    printf("{\"name\": \"chains-cost\", \"value\": %.1f, \"unit\": \"ns that a chain adds to a sample, %.1f "
           "frames\", \"target\": "
           "\"at most 1500 at 20 frames\", \"noise\": %.1f, \"detail\": {\"complete_percent\": %.2f, "
           "\"lost\": %llu",
           value, frames / samples, error, 100 * complete / samples, (unsigned long long)after.lost);
    for (unsigned v = SAMPLE; v < VARIANTS; v++) {
        unsigned n = v >= PERF_FP ? perf_rounds : rounds;
        static double bare_costs[ROUNDS_MAX];
        for (unsigned r = 0; r < n; r++)
            bare_costs[r] = costs[BARE][v >= PERF_FP ? 4 * r : r];
        double above = difference(costs[v], bare_costs, n, &error);
        printf(", \"%s\": {\"above_bare_ns\": [%.1f, %.1f]", names[v], above, error);
        if (v >= PERF_FP)
            printf(", \"bytes_a_sample\": %.0f", close_perf(&perf[v]) / (perf_rounds * (BURST + 1.0)));
        printf("}");
    }
    printf("}}\n");
    cs_sampler_close(session[SAMPLE]);
    cs_sampler_close(session[CHAIN]);
    return 0;
}
