/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The work lost at budgets of 0.2, 0.5, 1 and 3 %, measured from outside: programs that live through the
 * whole run, one on each CPU, count what they get done and the gaps in their own time, while a session on the
 * whole machine is switched on and off every quarter of a second. On a busy machine (they always work) and a
 * nearly idle one (10 ms of work in 100). Each "on" is compared with the "offs" around it.
 *
 *   by iterations: steps of work a second of their time, on against off; what is slower for whatever reason
 *   by gaps: time in gaps of 1 to 100 us (interrupts), on less off, plus the sampler's CPU time over all CPUs
 *
 * Gaps are the finer measure. The value is the worst loss over its budget, by iterations where these resolve
 * a tenth of the budget (standard error), else by gaps.      sampler-budget [--quick] */
#include "sampler/session.h"

#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define CPUS_MAX 64
#define PHASES_MAX 400
#define STOLEN_NS 1000000ULL /* longer gaps are the host's, or the scheduler's */
#define GAP_MOST_NS 100000ULL
#define GAP_LEAST_NS 1000ULL
#define SET_LINES 2048 /* 128 KB: a working set that interrupts can cool */

struct tally {
    double ran_ns, lost_ns, steps;
};
struct shared {              /* with the workers */
    volatile unsigned phase; /* 0 = not measured now */
    volatile unsigned work_ms, rest_ms;
    struct tally tallies[CPUS_MAX][PHASES_MAX];
};
static struct shared *shared;

static void work(unsigned cpu)
{
    static unsigned char set[SET_LINES * 64];
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    CPU_SET(cpu, &cpus);
    sched_setaffinity(0, sizeof cpus, &cpus);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    unsigned at = 0, phase = 0;
    struct tally t = {0};
    for (uint64_t last = cs_now_ns(), begin = last;;) {
        if (shared->phase != phase) {
            if (phase)
                shared->tallies[cpu][phase] = t;
            t = (struct tally){0};
            phase = shared->phase;
            last = cs_now_ns();
        }
        for (unsigned i = 0; i < 8; i++)
            ((volatile unsigned char *)set)[64 * (at = (at + 79) % SET_LINES)]++;
        uint64_t now = cs_now_ns(), gap = now - last;
        last = now;
        if (gap < STOLEN_NS) {
            t.steps++;
            t.ran_ns += (double)gap;
            if (gap >= GAP_LEAST_NS && gap < GAP_MOST_NS)
                t.lost_ns += (double)gap;
        }
        if (shared->rest_ms && now - begin >= shared->work_ms * 1000000ULL) {
            usleep(shared->rest_ms * 1000);
            begin = last = cs_now_ns();
        }
    }
}

/* ---- the session, switched on and off: while it is off its time stands still ---- */

static void turn(struct cs_sampler *s, bool on, uint64_t *since_ns)
{
    uint64_t now = cs_now_ns();
    for (size_t i = 0; i < s->n_open; i++)
        ioctl(s->open[i].fd, on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0);
    if (on) {
        uint64_t away = now - *since_ns;
        s->next_drain_ns += away;
        s->next_redraw_ns += away;
        s->next_budget_ns += away;
        s->next_calibration_ns += away;
        s->window_ns += away;
    }
    *since_ns = now;
}

static void poll_for(struct cs_sampler *s, unsigned ms)
{
    struct cs_error err;
    uint64_t now, end = cs_now_ns() + ms * 1000000ULL;
    while ((now = cs_now_ns()) < end)
        cs_sampler_poll(s, (int)((end - now) / 1000000) + 1, &err);
}

struct loss {
    double by_gaps, gaps_error, by_steps, steps_error, collector, rate_hz, cost_us, said;
    unsigned pairs;
};

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Mean without a tenth on either side, and its standard error. */
static double trimmed(double *values, unsigned n, double *error)
{
    unsigned cut = n / 10, kept = n - 2 * cut;
    double sum = 0, squares = 0;
    qsort(values, n, sizeof *values, ascending);
    for (unsigned i = cut; i < n - cut; i++)
        sum += values[i];
    double mean = sum / kept;
    for (unsigned i = cut; i < n - cut; i++)
        squares += (values[i] - mean) * (values[i] - mean);
    *error = 1.2 * sqrt(squares / kept / (kept - 1)); /* for what was cut off */
    return mean;
}

static struct tally of_phase(unsigned n_cpus, unsigned phase)
{
    struct tally sum = {0};
    for (unsigned c = 0; c < n_cpus; c++) {
        const struct tally *t = &shared->tallies[c][phase];
        sum = (struct tally){sum.ran_ns + t->ran_ns, sum.lost_ns + t->lost_ns, sum.steps + t->steps};
    }
    return sum;
}

static void compare(unsigned n_cpus, unsigned pairs, struct loss *out)
{
    static double gaps[PHASES_MAX], steps[PHASES_MAX];
    unsigned n = 0;
    for (unsigned i = 0; i < pairs; i++) { /* off is 1, 3, 5, ..., on is 2, 4, 6, ... */
        struct tally before = of_phase(n_cpus, 2 * i + 1), on = of_phase(n_cpus, 2 * i + 2),
                     after = of_phase(n_cpus, 2 * i + 3);
        struct tally off = {before.ran_ns + after.ran_ns, before.lost_ns + after.lost_ns,
                            before.steps + after.steps};
        if (on.ran_ns <= 0 || before.ran_ns <= 0 || after.ran_ns <= 0)
            continue;
        gaps[n] = on.lost_ns / on.ran_ns - off.lost_ns / off.ran_ns;
        steps[n++] = 1 - on.steps / on.ran_ns * off.ran_ns / off.steps;
    }
    out->pairs = n;
    if (n < 5)
        return;
    out->by_gaps = trimmed(gaps, n, &out->gaps_error) + out->collector;
    out->by_steps = trimmed(steps, n, &out->steps_error);
}

static int measure(double budget, bool idle, double seconds, bool quick, struct loss *out)
{
    struct cs_sampler_config config = {.target = CS_TARGET_ALL, .budget = budget};
    struct cs_sampler *s = NULL;
    struct cs_error err;
    struct cs_sampler_statistics now;
    unsigned long random = 1;
    unsigned phase = 1;
    double collector = 0, on_seconds = 0;
    uint64_t since = 0;
    memset(shared->tallies, 0, sizeof shared->tallies);
    if (cs_sampler_open(&config, &s, &err) < 0) {
        fprintf(stderr, "sampler-budget: %s\n", err.text);
        return -1;
    }
    poll_for(s, quick ? 1200 : 3000);
    /* Short phases, because the host's speed drifts; of several samples, or of two pieces of work. */
    double phase_s = idle ? 0.2 : fmin(fmax(8 / s->rate_hz, 0.04), 0.25);
    useconds_t phase_us = (useconds_t)(phase_s * 1e6);
    unsigned pairs = (unsigned)fmin(seconds / (2 * phase_s + 0.03), PHASES_MAX / 2 - 2);
    turn(s, false, &since);
    for (unsigned i = 0; i <= pairs; i++) {
        shared->phase = phase++;
        usleep(phase_us);
        shared->phase = 0;
        if (i == pairs)
            break;
        turn(s, true, &since);
        poll_for(s,
                 10 + (unsigned)((random = random * 69069 + 1) >> 16 & 15)); /* not in step with anything */
        double cpu = cs_thread_cpu_seconds();
        uint64_t begin = cs_now_ns();
        shared->phase = phase++;
        poll_for(s, phase_us / 1000);
        shared->phase = 0;
        collector += cs_thread_cpu_seconds() - cpu;
        on_seconds += (double)(cs_now_ns() - begin) * 1e-9;
        turn(s, false, &since);
        usleep(10000);
    }
    usleep(idle ? 150000 : 20000); /* the last tallies */
    cs_sampler_statistics(s, &now);
    *out = (struct loss){.collector = collector / on_seconds / s->n_cpus,
                         .rate_hz = now.rate_hz,
                         .cost_us = now.sample_cost_us,
                         .said = now.loss};
    compare(s->n_cpus, pairs, out);
    cs_sampler_stop(s, &err);
    cs_sampler_close(s);
    return 0;
}

int main(int argc, char **argv)
{
    static const struct {
        double budget, seconds[2];
    } cells[] = {{0.002, {14, 34}}, {0.005, {8, 14}}, {0.01, {6, 8}}, {0.03, {5, 5}}};
    bool quick = argc > 1 && strcmp(argv[1], "--quick") == 0;
    struct loss losses[2][4];
    pid_t workers[CPUS_MAX];
    long n_cpus = sysconf(_SC_NPROCESSORS_ONLN);
    if (n_cpus > CPUS_MAX)
        n_cpus = CPUS_MAX;
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return 1;
    for (unsigned c = 0; c < n_cpus; c++)
        if ((workers[c] = fork()) == 0)
            work(c);
    int rc = 0;
    for (unsigned idle = 0; rc == 0 && idle < 2; idle++) {
        shared->work_ms = 20;
        shared->rest_ms = idle ? 80 : 0;
        for (unsigned c = 0; rc == 0 && c < 4; c++)
            rc = quick && (c == 0 || c == 2)
                     ? 0
                     : measure(cells[c].budget, idle, quick ? 2.4 : cells[c].seconds[idle], quick,
                               &losses[idle][c]);
    }
    for (unsigned c = 0; c < n_cpus; c++) {
        kill(workers[c], SIGKILL);
        waitpid(workers[c], NULL, 0);
    }
    if (rc < 0)
        return 1;
    double worst = 0, noise = 0;
    char detail[8192];
    char unresolved[512] = "";
    size_t used = 0, unresolved_used = 0;
    for (unsigned idle = 0; idle < 2; idle++)
        for (unsigned c = 0; c < 4; c++) {
            const struct loss *l = &losses[idle][c];
            if (quick && (c == 0 || c == 2))
                continue;
            bool resolved = l->steps_error < cells[c].budget / 10;
            double loss = resolved ? l->by_steps : l->by_gaps,
                   error = resolved ? l->steps_error : l->gaps_error;
            bool seen = resolved || l->gaps_error < cells[c].budget / 4;
            if (!seen) {
                unresolved_used += (size_t)snprintf(
                    unresolved + unresolved_used, sizeof unresolved - unresolved_used, "%s\"%s, %.1f %%\"",
                    unresolved_used ? ", " : "", idle ? "nearly idle" : "busy", 100 * cells[c].budget);
            } else if (loss / cells[c].budget > worst) {
                worst = loss / cells[c].budget;
                noise = error / cells[c].budget;
            }
            used += (size_t)snprintf(
                detail + used, sizeof detail - used,
                "%s\"%s, %.1f %%\": {\"loss_percent\": %.3f, \"by\": \"%s\", \"by_gaps\": [%.3f, %.3f], "
                "\"by_iterations\": [%.3f, %.3f], \"collector\": %.3f, \"said\": %.3f, \"rate_hz\": %.0f, "
                "\"cost_us\": %.1f, \"pairs\": %u}",
                used ? ", " : "", idle ? "nearly idle" : "busy", 100 * cells[c].budget, 100 * loss,
                resolved ? "iterations"
                : seen   ? "gaps"
                         : "nothing",
                100 * l->by_gaps, 100 * l->gaps_error, 100 * l->by_steps, 100 * l->steps_error,
                100 * l->collector, 100 * l->said, l->rate_hz, l->cost_us, l->pairs);
        }
    printf("{\"name\": \"sampler-budget\", \"value\": %.2f, \"unit\": \"worst loss over its budget\", "
           "\"target\": \"at most 1\", \"noise\": %.2f, \"detail\": {%s, \"not resolved\": [%s]}}\n",
           worst, noise, detail, unresolved);
    return 0;
}
