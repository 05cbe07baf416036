/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The work lost at budgets of 0.2, 0.5, 1 and 3 %, measured from outside: programs that live through the
 * whole run, one on each CPU, count what they get done and the gaps in their own time, while a session on the
 * whole machine is switched on and off every quarter of a second. On a busy machine (they always work) and a
 * nearly idle one (10 ms of work in 100). Each "on" is compared with the "offs" around it.
 *
 *   by iterations: steps of work a second of their time, on against off; what is slower for whatever reason
 *   by samples: time in gaps in which a sample was taken (the session's count of them, in memory that the
 *     workers share, went up just then), plus the sampler's CPU time over all CPUs. No other interrupt gets
 * in, so the error is the counting error of some hundred samples; what is slower *afterwards* is not in it by
 * gaps: time in all gaps of 1 to 100 us (interrupts), on less off, plus the sampler's CPU time
 *
 * The value is the worst loss over its budget, by iterations where these resolve a tenth of the budget
 * (standard error), else by samples; by gaps where there is no shared count (ring driver).
 *
 * With --bursts: bursts as the daemon makes them go with the session. Then it is by switches: time in gaps in
 * which a worker, which never gives up its CPU by itself, was off it (held by a burst, or a runner or the
 * session took its CPU), on less off, plus gaps with a sample; nearly idle, the session's CPU time is added.
 * Whatever else runs takes the workers' CPUs too, in few long pieces (a scan of /proc every two seconds is 1
 * % already): so phases have random lengths, and the error is that of the pairs, not of the count of gaps.
 * "accounted" is what the bursts made were taken to cost.
 *     sampler-budget [--quick] [--bursts] */
#include "sampler/burst/burst.h"
#include "sampler/session/session.h"
#include "store/base/clock.h"

#include <dirent.h>
#include <linux/perf_event.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define CPUS_MAX 64
#define PHASES_MAX 400
#define STOLEN_NS 1000000ULL /* longer gaps are the host's, or the scheduler's */
#define HELD_NS 20000000ULL  /* with bursts, which hold for milliseconds, only these */
#define SWITCH_LEAST_NS 20000ULL
#define BURST_EVENTS_MAX 4096
#define GAP_MOST_NS 100000ULL
#define GAP_LEAST_NS 1000ULL
#define SET_LINES 2048 /* 128 KB: a working set that interrupts can cool */

struct tally {
    double ran_ns, lost_ns, steps;
    double sampled_ns, sampled_squares; /* gaps with a sample in them */
    double switched_ns;                 /* gaps in which it was off its CPU */
};
struct shared {              /* with the workers */
    volatile unsigned phase; /* 0 = not measured now */
    volatile unsigned work_ms, rest_ms;
    volatile bool bursts;
    struct tally tallies[CPUS_MAX][PHASES_MAX];
};
static struct shared *shared;

static uint64_t delivered(const struct cs_sampler *s)
{
    struct cs_driver_counts counts;
    s->events.driver->counts(s->events.state, &counts);
    return counts.delivered;
}

static long switches(void)
{
    struct rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_nvcsw + usage.ru_nivcsw;
}

/* In a process forked from the session's, so that it sees the BPF driver's counts. */
static void work(const struct cs_sampler *s, unsigned cpu)
{
    static unsigned char set[SET_LINES * 64];
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    CPU_SET(cpu, &cpus);
    sched_setaffinity(0, sizeof cpus, &cpus);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    unsigned at = 0, phase = 0;
    struct tally t = {0};
    uint64_t stolen_ns = shared->bursts ? HELD_NS : STOLEN_NS, samples = delivered(s);
    long switched = switches();
    bool counted_before = false;
    for (uint64_t last = cs_monotonic_ns(), begin = last;;) {
        if (shared->phase != phase) {
            if (phase)
                shared->tallies[cpu][phase] = t;
            t = (struct tally){0};
            phase = shared->phase;
            last = cs_monotonic_ns();
        }
        for (unsigned i = 0; i < 8; i++)
            ((volatile unsigned char *)set)[64 * (at = (at + 79) % SET_LINES)]++;
        uint64_t now = cs_monotonic_ns(), gap = now - last, samples_now = delivered(s);
        /* An interrupt between the two readings shows in the count now and as a gap the next time round. */
        bool counted = samples_now != samples, sampled = counted || counted_before;
        counted_before = counted;
        last = now;
        samples = samples_now;
        if (gap < stolen_ns) {
            t.steps++;
            t.ran_ns += (double)gap;
            if (gap >= GAP_LEAST_NS && gap < GAP_MOST_NS)
                t.lost_ns += (double)gap;
            bool off_cpu = false;
            if (shared->bursts && gap >= SWITCH_LEAST_NS) {
                long switched_now = switches();
                off_cpu = switched_now != switched;
                switched = switched_now;
            }
            if (off_cpu) {
                t.switched_ns += (double)gap;
            } else if (gap >= GAP_LEAST_NS && sampled) { /* another CPU's sample leaves no gap here */
                t.sampled_ns += (double)gap;
                t.sampled_squares += (double)gap * (double)gap;
            }
        }
        if (shared->rest_ms && now - begin >= shared->work_ms * 1000000ULL) {
            usleep(shared->rest_ms * 1000);
            begin = last = cs_monotonic_ns();
            switched = switches();
        }
    }
}

/* ---- the session, switched on and off: while it is off its time stands still ---- */

static void turn(struct cs_sampler *s, bool on, uint64_t *since_ns)
{
    uint64_t now = cs_monotonic_ns();
    (void)cs_session_events_enable(&s->events, 0, s->events.n_open, on);
    if (on) {
        uint64_t away = now - *since_ns;
        s->next_drain_ns += away;
        s->rate.next_redraw_ns += away;
        s->rate.next_budget_ns += away;
        s->rate.next_calibration_ns += away;
        s->rate.window.begin_ns += away;
    }
    *since_ns = now;
}

static void poll_for(struct cs_sampler *s, unsigned ms)
{
    struct cs_error err;
    uint64_t now, end = cs_monotonic_ns() + ms * 1000000ULL;
    while ((now = cs_monotonic_ns()) < end)
        cs_sampler_poll(s, (int)((end - now) / 1000000) + 1, &err);
}

struct loss {
    double by_gaps, gaps_error, by_steps, steps_error, by_samples, samples_error, by_switches, switches_error,
        collector, rate_hz, cost_us, said, bursts, burst_us, ran_s;
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

/* Mean and standard error of all. */
static double mean(const double *values, unsigned n, double *error)
{
    double sum = 0, squares = 0;
    for (unsigned i = 0; i < n; i++)
        sum += values[i];
    for (unsigned i = 0; i < n; i++)
        squares += (values[i] - sum / n) * (values[i] - sum / n);
    *error = sqrt(squares / n / (n - 1));
    return sum / n;
}

static struct tally of_phase(unsigned n_cpus, unsigned phase)
{
    struct tally sum = {0};
    for (unsigned c = 0; c < n_cpus; c++) {
        const struct tally *t = &shared->tallies[c][phase];
        sum.ran_ns += t->ran_ns;
        sum.lost_ns += t->lost_ns;
        sum.steps += t->steps;
        sum.sampled_ns += t->sampled_ns;
        sum.sampled_squares += t->sampled_squares;
        sum.switched_ns += t->switched_ns;
    }
    return sum;
}

static void add(struct tally *sum, const struct tally *t)
{
    sum->ran_ns += t->ran_ns;
    sum->sampled_ns += t->sampled_ns;
    sum->sampled_squares += t->sampled_squares;
}

static void compare(unsigned n_cpus, unsigned pairs, bool idle, struct loss *out)
{
    static double gaps[PHASES_MAX], steps[PHASES_MAX], switched[PHASES_MAX];
    unsigned n = 0;
    struct tally all = {0};
    for (unsigned i = 0; i < pairs; i++) { /* off is 1, 3, 5, ..., on is 2, 4, 6, ... */
        struct tally before = of_phase(n_cpus, 2 * i + 1), on = of_phase(n_cpus, 2 * i + 2),
                     after = of_phase(n_cpus, 2 * i + 3);
        struct tally off = {.ran_ns = before.ran_ns + after.ran_ns,
                            .lost_ns = before.lost_ns + after.lost_ns,
                            .steps = before.steps + after.steps,
                            .switched_ns = before.switched_ns + after.switched_ns};
        if (on.ran_ns <= 0 || before.ran_ns <= 0 || after.ran_ns <= 0)
            continue;
        add(&all, &on);
        gaps[n] = on.lost_ns / on.ran_ns - off.lost_ns / off.ran_ns;
        switched[n] = (on.switched_ns + on.sampled_ns) / on.ran_ns - off.switched_ns / off.ran_ns;
        steps[n++] = 1 - on.steps / on.ran_ns * off.ran_ns / off.steps;
    }
    out->pairs = n;
    if (n < 5)
        return;
    out->by_gaps = trimmed(gaps, n, &out->gaps_error) + out->collector;
    out->by_samples = all.sampled_ns > 0 ? all.sampled_ns / all.ran_ns + out->collector : 0;
    out->samples_error = sqrt(all.sampled_squares) / all.ran_ns;
    out->by_switches = mean(switched, n, &out->switches_error) + (idle ? out->collector : 0);
    out->ran_s = all.ran_ns * 1e-9;
    out->by_steps = trimmed(steps, n, &out->steps_error);
}

/* Numbers of all open perf events of this process, ascending; how many. */
static unsigned events_now(int fds[BURST_EVENTS_MAX])
{
    unsigned n = 0;
    DIR *all = opendir("/proc/self/fd");
    for (struct dirent *one; all && (one = readdir(all)) != NULL;) {
        char path[300], to[64] = "";
        snprintf(path, sizeof path, "/proc/self/fd/%s", one->d_name);
        if (readlink(path, to, sizeof to - 1) > 0 && strcmp(to, "anon_inode:[perf_event]") == 0 &&
            n < BURST_EVENTS_MAX)
            fds[n++] = atoi(one->d_name);
    }
    if (all)
        closedir(all);
    return n;
}

/* Bursts, and the events that time them: those that are new. */
struct bursts {
    struct cs_burst *burst;
    int fds[BURST_EVENTS_MAX];
    unsigned n;
};

static int open_bursts(struct cs_sampler *s, struct bursts *b)
{
    static int before[BURST_EVENTS_MAX], after[BURST_EVENTS_MAX];
    struct cs_burst_config config = {.sampler = s, .target = CS_TARGET_ALL};
    struct cs_error err;
    unsigned n_before = events_now(before);
    if (cs_burst_open(&config, &b->burst, &err) < 0) {
        fprintf(stderr, "sampler-budget: %s\n", err.text);
        return -1;
    }
    unsigned n_after = events_now(after);
    for (unsigned i = 0; i < n_after; i++) {
        unsigned k = 0;
        while (k < n_before && before[k] != after[i])
            k++;
        if (k == n_before)
            b->fds[b->n++] = after[i];
    }
    return 0;
}

static void turn_bursts(const struct bursts *b, bool on)
{
    for (unsigned i = 0; i < b->n; i++)
        ioctl(b->fds[i], on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0);
}

struct workers {
    pid_t pids[CPUS_MAX];
    unsigned n;
};

static void start_workers(const struct cs_sampler *s, struct workers *w)
{
    w->n = s->events.cpus.n_online < CPUS_MAX ? s->events.cpus.n_online : CPUS_MAX;
    for (unsigned c = 0; c < w->n; c++)
        if ((w->pids[c] = fork()) == 0)
            work(s, c);
}

static void stop_workers(const struct workers *w)
{
    for (unsigned c = 0; c < w->n; c++) {
        kill(w->pids[c], SIGKILL);
        waitpid(w->pids[c], NULL, 0);
    }
}

/* In step with nothing that comes at regular times. */
static useconds_t phase_of(useconds_t about_us, unsigned long *random)
{
    *random = *random * 69069 + 1;
    return about_us / 2 + (useconds_t)(*random >> 8) % about_us;
}

static int measure(double budget, bool idle, double seconds, bool quick, bool with_bursts, struct loss *out)
{
    struct cs_sampler_config config = {.target = CS_TARGET_ALL, .budget = budget};
    struct cs_sampler *s = NULL;
    struct cs_error err;
    struct cs_sampler_statistics now;
    static struct bursts bursts;
    struct cs_burst_statistics early = {0}, made = {0};
    struct workers workers;
    unsigned long random = 1;
    unsigned phase = 1;
    double collector = 0, on_seconds = 0;
    uint64_t since = 0;
    memset(shared->tallies, 0, sizeof shared->tallies);
    bursts = (struct bursts){0};
    if (cs_sampler_open(&config, &s, &err) < 0) {
        fprintf(stderr, "sampler-budget: %s\n", err.text);
        return -1;
    }
    start_workers(s, &workers);
    if (with_bursts && open_bursts(s, &bursts) < 0)
        return -1;
    poll_for(s, with_bursts ? 5000 : quick ? 1200 : 3000);
    /* Short phases, because the host's speed drifts; of several samples or bursts, or of two pieces of work.
     */
    double phase_s = idle ? 0.2 : fmin(fmax(8 / s->rate.rate_hz, 0.04), 0.25);
    if (with_bursts)
        phase_s = 0.5;
    useconds_t phase_us = (useconds_t)(phase_s * 1e6);
    const unsigned most = PHASES_MAX / 2 - 2;
    unsigned pairs = (unsigned)fmin(seconds / (2 * phase_s + 0.03), most);
    turn(s, false, &since);
    turn_bursts(&bursts, false);
    if (bursts.burst)
        cs_burst_statistics(bursts.burst, &early);
    for (unsigned i = 0; i <= pairs; i++) {
        usleep(with_bursts ? 20000 : 0); /* the last one is still under way */
        shared->phase = phase++;
        usleep(with_bursts ? phase_of(phase_us, &random) : phase_us);
        shared->phase = 0;
        if (i == pairs)
            break;
        turn(s, true, &since);
        turn_bursts(&bursts, true);
        poll_for(s,
                 10 + (unsigned)((random = random * 69069 + 1) >> 16 & 15)); /* not in step with anything */
        double cpu = cs_thread_cpu_seconds();
        uint64_t begin = cs_monotonic_ns();
        shared->phase = phase++;
        poll_for(s, (with_bursts ? phase_of(phase_us, &random) : phase_us) / 1000);
        shared->phase = 0;
        collector += cs_thread_cpu_seconds() - cpu;
        on_seconds += (double)(cs_monotonic_ns() - begin) * 1e-9;
        turn(s, false, &since);
        turn_bursts(&bursts, false);
        usleep(10000);
    }
    usleep(idle ? 150000 : 20000); /* the last tallies */
    cs_sampler_statistics(s, &now);
    if (bursts.burst)
        cs_burst_statistics(bursts.burst, &made);
    *out = (struct loss){.collector = collector / on_seconds / s->events.cpus.n_online,
                         .rate_hz = now.rate_hz,
                         .cost_us = now.sample_cost_us,
                         .said = now.loss,
                         .bursts = (double)(made.bursts - early.bursts),
                         .burst_us = made.cost_us};
    compare(s->events.cpus.n_online, pairs, idle, out);
    stop_workers(&workers);
    cs_burst_close(bursts.burst);
    cs_sampler_stop(s, &err);
    cs_sampler_close(s);
    return 0;
}

/* Of a cell: by what it is told, its loss and its error. False: nothing resolves it. */
static bool judge(const struct loss *l, double budget, bool bursts, const char **by, double *loss,
                  double *error)
{
    if (bursts)
        *by = "switches", *loss = l->by_switches, *error = l->switches_error;
    else if (l->steps_error < budget / 10)
        *by = "iterations", *loss = l->by_steps, *error = l->steps_error;
    else if (l->by_samples > 0)
        *by = "samples", *loss = l->by_samples, *error = l->samples_error;
    else
        *by = "gaps", *loss = l->by_gaps, *error = l->gaps_error;
    return *error < budget / 4;
}

int main(int argc, char **argv)
{
    static const struct cell {
        double budget, seconds[2];
    } sampling[] = {{0.002, {14, 20}}, {0.005, {8, 14}}, {0.01, {6, 8}}, {0.03, {5, 5}}},
      bursting[] = {{0.01, {28, 0}}, {0.03, {28, 24}}};
    bool quick = false, bursts = false;
    for (int i = 1; i < argc; i++) {
        quick |= strcmp(argv[i], "--quick") == 0;
        bursts |= strcmp(argv[i], "--bursts") == 0;
    }
    const struct cell *cells = bursts ? bursting : sampling;
    unsigned n_cells = bursts ? 2 : 4;
    double worst = 0, noise = 0;
    char detail[8192] = "", unresolved[512] = "";
    size_t used = 0, unresolved_used = 0;
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return 1;
    shared->bursts = bursts;
    shared->work_ms = 20;
    for (unsigned idle = 0; idle < 2; idle++)
        for (unsigned c = 0; c < n_cells; c++) {
            double budget = cells[c].budget, seconds = cells[c].seconds[idle], loss, error;
            struct loss l;
            const char *by;
            bool skipped = bursts ? c == 0 || idle : c == 0 || c == 2; /* in the quick form */
            if (seconds <= 0 || (quick && skipped))
                continue;
            shared->rest_ms = idle ? 80 : 0;
            if (measure(budget, idle, quick ? bursts ? 9 : 2.4 : seconds, quick, bursts, &l) < 0)
                return 1;
            if (!judge(&l, budget, bursts, &by, &loss, &error)) {
                by = "nothing";
                unresolved_used += (size_t)snprintf(
                    unresolved + unresolved_used, sizeof unresolved - unresolved_used, "%s\"%s, %.1f %%\"",
                    unresolved_used ? ", " : "", idle ? "nearly idle" : "busy", 100 * budget);
            } else if (loss / budget > worst) {
                worst = loss / budget;
                noise = error / budget;
            }
            used += (size_t)snprintf(
                detail + used, sizeof detail - used,
                "%s\"%s, %.1f %%\": {\"loss_percent\": %.3f, \"by\": \"%s\", \"by_samples\": [%.3f, %.3f], "
                "\"by_switches\": [%.3f, %.3f], \"by_gaps\": [%.3f, %.3f], \"by_iterations\": [%.3f, %.3f], "
                "\"collector\": %.3f, \"said\": "
                "%.3f, "
                "\"rate_hz\": %.0f, \"cost_us\": %.1f, \"bursts\": %.0f, \"burst_cost_us\": %.0f, "
                "\"accounted\": "
                "%.3f, \"pairs\": "
                "%u}",
                used ? ", " : "", idle ? "nearly idle" : "busy", 100 * budget, 100 * loss, by,
                100 * l.by_samples, 100 * l.samples_error, 100 * l.by_switches, 100 * l.switches_error,
                100 * l.by_gaps, 100 * l.gaps_error, 100 * l.by_steps, 100 * l.steps_error, 100 * l.collector,
                100 * l.said, l.rate_hz, l.cost_us, l.bursts, l.burst_us,
                l.ran_s > 0 ? 100 * l.burst_us * 1e-6 * l.bursts / l.ran_s : 0, l.pairs);
        }
    printf("{\"name\": \"%s\", \"value\": %.2f, \"unit\": \"worst loss over its budget\", "
           "\"target\": \"at most 1\", \"noise\": %.2f, \"detail\": {%s%s\"not resolved\": [%s]}}\n",
           bursts ? "burst-budget" : "sampler-budget", worst, noise, detail, used ? ", " : "", unresolved);
    return 0;
}
