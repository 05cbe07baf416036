/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The observer's loop with hardware counters as its source. One CPU can't hold a target and its observer, so
 * the loop's shipped pieces are given work of known rate in two ways. One is cs_take and cs_sink_add around
 * a known loop. The other is a whole variant of the loop observing itself while a rival takes the CPU away.
 */
#include "analysis/machine/time_base.h"
#include "observer/loop/body.h"
#include "tests/vm/truth.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

int failures;

static struct open_pmc cycles, instructions;

static struct cs_loop *prepare(struct cs_sink **sink, const struct cs_dte_rule *rule)
{
    static struct cs_loop loop;
    struct cs_error err;
    memset(&loop, 0, sizeof loop);
    if (cs_sink_open(0, 2, NULL, 0, rule, sink, &err) < 0) {
        printf("  %s\n", err.text);
        exit(1);
    }
    loop.sink = *sink;
    loop.hardware[0] = cycles.pmc;
    loop.hardware[1] = instructions.pmc;
    return &loop;
}

/* Rates are events a clock tick: their ratio is instructions a cycle, whatever the clock. */
static double instructions_a_cycle(const struct cs_sink *s)
{
    return (double)s->whole_run.events[1] / (double)s->whole_run.events[0];
}

static void expect_ratio(const char *name, double got)
{
    if (exact())
        expect(name, 1e6 / CYCLES_AN_INSTRUCTION, 1e6 * got, 1000 / CYCLES_AN_INSTRUCTION);
    else
        report(name, 50000, 8e6, 1e6 * got);
}

static void known_work_has_its_rate(void)
{
    struct cs_sink *sink;
    struct cs_dte_rule rule = cs_dte_paper_rule();
    rule.gap_cycles = CS_DTE_CYCLES_MAX;
    struct cs_loop *loop = prepare(&sink, &rule);
    struct cs_near near = {.sink = sink, .rule = rule};
    struct cs_sample from = {0}, to = {0};
    uint64_t bins = 0;
    const unsigned turns = 20000, rounds = 2000;
    cs_take(loop, &near, 0, 0, 2, false, false, NULL, NULL, &from);
    cs_sink_first(sink, 0, &from);
    for (unsigned i = 0; i < rounds; i++) {
        spin(turns);
        cs_take(loop, &near, 0, 0, 2, false, false, NULL, NULL, &to);
        cs_sink_add(sink, 0, 0, 2, false, &from, &to);
        from = to;
    }
    cs_sink_total(sink);
    for (unsigned i = 0; i < CS_DTE_RATE_BINS; i++)
        bins += sink->rates[1][i] > rounds / 100;
    expect_ratio("known-work-instructions-a-million-cycles", instructions_a_cycle(sink));
    double each = (double)sink->whole_run.events[1] / (double)sink->whole_run.kept;
    /* A reading executes some 240 of its own on x86-64, 400 on RISC-V. */
    expect_instructions("known-work-instructions-an-interval", 2.0 * turns, each, 500);
    report("known-work-intervals-kept", 0.9 * rounds, rounds, (double)sink->tally.intervals[CS_DTE_KEPT]);
    if (exact())
        report("known-work-rate-bins-in-use", 1, 4, (double)bins);
    expect("known-work-verdicts-add-up", rounds, (double)cs_dte_tally_intervals(&sink->tally), 0);
    cs_sink_close(sink);
}

static void *stop_later(void *arg)
{
    struct cs_loop *loop = arg;
    nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL);
    __atomic_store_n(&loop->stop, 1, __ATOMIC_RELAXED);
    return NULL;
}

/* The variant that `observe` runs with two counters, throttled so that a tick of a coarse clock matters
 * little. */
static void a_disturbed_loop_keeps_true_rates(void)
{
    const struct cs_shape shape = {.hardware = 2, .throttled = true, .sink = CS_SINK_AGGREGATE};
    struct cs_sink *sink;
    struct cs_dte_rule rule = cs_dte_paper_rule();
    rule.gap_cycles = (uint64_t)(cs_clock_hz() * 1e-3);
    struct cs_loop *loop = prepare(&sink, &rule);
    loop->period_cycles = (uint64_t)(cs_clock_hz() * 40e-6);
    loop->random = 1;
    pthread_t stopper;
    pid_t rival = fork();
    if (rival == 0)
        for (;;)
            spin(1000000);
    pthread_create(&stopper, NULL, stop_later, loop);
    cs_loop_variant (&shape)(loop);
    pthread_join(stopper, NULL);
    kill(rival, SIGKILL);
    waitpid(rival, NULL, 0);
    cs_sink_total(sink);
    const struct cs_dte_tally *t = &sink->tally;
    expect_ratio("disturbed-loop-instructions-a-million-cycles", instructions_a_cycle(sink));
    report("disturbed-loop-intervals-kept", 100, 1e9, (double)t->intervals[CS_DTE_KEPT]);
    report("disturbed-loop-gaps-found", 1, 1e9, (double)t->intervals[CS_DTE_GAP]);
    expect("disturbed-loop-verdicts-add-up", (double)sink->samples - 1, (double)cs_dte_tally_intervals(t), 1);
    printf("  verdicts:");
    for (unsigned v = 0; v < CS_DTE_VERDICTS; v++)
        if (t->intervals[v])
            printf(" %" PRIu64 " %s", t->intervals[v], cs_dte_name(v));
    printf("\n");
    cs_sink_close(sink);
}

/* A counter that is off the hardware for a while: its intervals are unread, and none of them gets a rate. */
static void a_counter_taken_away_is_unread(void)
{
    struct cs_sink *sink;
    struct cs_dte_rule rule = cs_dte_paper_rule();
    rule.gap_cycles = CS_DTE_CYCLES_MAX;
    struct cs_loop *loop = prepare(&sink, &rule);
    struct cs_near near = {.sink = sink, .rule = rule};
    struct cs_sample from = {0}, to = {0};
    cs_take(loop, &near, 0, 0, 2, false, false, NULL, NULL, &from);
    cs_sink_first(sink, 0, &from);
    for (unsigned i = 0; i < 30; i++) {
        if (i == 10)
            ioctl(instructions.fd, PERF_EVENT_IOC_DISABLE, 0);
        if (i == 20)
            ioctl(instructions.fd, PERF_EVENT_IOC_ENABLE, 0);
        spin(20000);
        cs_take(loop, &near, 0, 0, 2, false, false, NULL, NULL, &to);
        cs_sink_add(sink, 0, 0, 2, false, &from, &to);
        from = to;
    }
    cs_sink_total(sink);
    expect("taken-away-intervals-unread", 11, (double)sink->tally.intervals[CS_DTE_UNREAD], 0);
    expect_ratio("taken-away-instructions-a-million-cycles", instructions_a_cycle(sink));
    cs_sink_close(sink);
}

/* The core's clock: a nanosecond a cycle, whatever a chain of additions says. */
static void the_cycle_counter_tells_the_clock(void)
{
    struct cs_time_base clock;
    struct cs_error err;
    expect("clock-is-calibrated", 0, cs_time_base_measure(&clock, &err), 0);
    expect("clock-by-the-cycle-counter", 1, clock.counted, 0);
    if (exact())
        expect("clock-mhz", 1000, clock.core_hz / 1e6, 5);
    else
        report("clock-mhz", 200, 10000, clock.core_hz / 1e6);
}

int main(void)
{
    if (!has_pmu())
        return 77;
    cycles = open_pmc(CYCLES, for_user_reading);
    instructions = open_pmc(INSTRUCTIONS, for_user_reading);
    the_cycle_counter_tells_the_clock();
    known_work_has_its_rate();
    a_counter_taken_away_is_unread();
    a_disturbed_loop_keeps_true_rates();
    close_pmc(&cycles);
    close_pmc(&instructions);
    return failures != 0;
}
