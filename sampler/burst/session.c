/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The session: a thread that waits for moments and has bursts made, a runner for each process that was met
 * twice (one that lives for milliseconds isn't worth a runner), the budget, and the counts. */
#include "sampler/burst/burst.h"
#include "sampler/burst/runner_image.h"
#include "sampler/burst_moments.h"
#include "sampler/burst_pacing.h"
#include "sampler/burst/rows.h"
#include "sampler/burst/runner_process.h"
#include "sampler/perf/timer_rings.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#define INSTRUCTIONS 16000
#define BUDGET 0.005
#define RUNNERS_MAX 32
#define LEAD_NS_LEAST 20000
#define LEAD_NS_SPAN 60000
#define TIMEOUT_MS 20
#define HELD_MAX_US 4000
#define HELD_FIRST_US 2000
/* What a burst of a process should hold on average: where pages are touched at random a burst of 16,000 takes
 * 5 ms here. One that is cut off because it took long leaves out just the code that is slow; a shorter one
 * for the whole process doesn't. */
#define HELD_WANTED_US 2500.0
#define INSTRUCTIONS_LEAST 4000
#define FOLLOWED_MEMORY 64 /* bursts */
#define FIRST_BURSTS 8     /* meet code that is new to the runner: shorter, too */
#define FIRST_INSTRUCTIONS 4000
/* Paced bursts run on over what the thread does in the next 0.1 to 0.3 ms, in which it is watched. Longer
 * ones time later stretches, too, but fewer bursts, shorter ones more bursts and less of each: on ten
 * programs no better. */
#define PACE_INSTRUCTIONS 500000
#define PACE_HELD_MAX_US 3000
#define NEW_PROCESS_NS 100000000ULL
#define DENIED_NS 60000000000ULL
/* What a burst costs beside the time that we see the thread held: stop and go, timers, caches cold
 * afterwards (`bench/run burst-rate`, `burst-loss`). Where all that runs is the target, CPU time of runners
 * and of our thread counts, too: on a busy machine it is taken from somebody, and the CPU of the thread that
 * is held meanwhile stands idle for too short a time to be of use. A command pays for the runner's work on
 * another CPU, which isn't charged, by what they share. */
#define BESIDE_US 300.0
#define BESIDE_ALL_US 220.0
#define FIRST_COST_US 800.0
#define FIRST_COST_ALL_US 1600.0
#define THINNING 0.5
#define CHANCE_LEAST 0.02
#define HELD_KEPT 1024

struct followed {
    pid_t pid;
    uint64_t first_ns, used_ns, denied_until_ns;
    struct cs_burst_runner *runner;
    double held_us, instructions; /* sums over its last bursts, older ones fading */
    struct cs_pacing pacing;
    unsigned n_bursts;
    double runner_cpu_us; /* charged up to here */
};

struct cs_burst {
    struct cs_burst_config config;
    struct cs_clock_rings *moments;
    pthread_t thread;
    bool started;
    int stop_fd;
    double chance; /* that a moment becomes a burst */
    double budget, period_s;
    double own_cpu_us; /* of our thread, charged up to here */
    uint64_t random;
    struct followed followed[RUNNERS_MAX];
    double all_held_us, all_instructions; /* as in followed, of all: what a new process is taken for */

    pthread_mutex_t lock; /* of everything below */
    struct cs_burst_rows *rows;
    struct cs_burst_statistics statistics, counted; /* so far; of it in the store */
    float held_us[HELD_KEPT];
    unsigned n_held;
};

static uint64_t now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static double random_share(struct cs_burst *burst)
{
    burst->random ^= burst->random << 13; /* xorshift64 */
    burst->random ^= burst->random >> 7;
    burst->random ^= burst->random << 17;
    return (double)(burst->random >> 11) * 0x1p-53;
}

static double cpu_us(clockid_t clock)
{
    struct timespec time;
    return clock_gettime(clock, &time) == 0 ? (double)time.tv_sec * 1e6 + (double)time.tv_nsec * 1e-3 : 0;
}

/* CPU time that was taken by the session and this runner since the last time. */
static double cpu_spent_us(struct cs_burst *burst, struct followed *f)
{
    clockid_t clock;
    double own = cpu_us(CLOCK_THREAD_CPUTIME_ID), spent = own - burst->own_cpu_us;
    burst->own_cpu_us = own;
    if (clock_getcpuclockid(cs_burst_runner_pid(f->runner), &clock) == 0) {
        double runner = cpu_us(clock);
        spent += runner > f->runner_cpu_us ? runner - f->runner_cpu_us : 0;
        f->runner_cpu_us = runner;
    }
    return spent;
}

/* The runner of a process; NULL when it has none yet. */
static struct followed *follow(struct cs_burst *burst, pid_t pid)
{
    uint64_t time = now_ns();
    struct followed *oldest = &burst->followed[0], *mine = NULL;
    for (int i = 0; i < RUNNERS_MAX && !mine; i++) {
        struct followed *f = &burst->followed[i];
        if (f->pid == pid)
            mine = f;
        else if (f->used_ns < oldest->used_ns)
            oldest = f;
    }
    if (!mine) {
        cs_burst_runner_close(oldest->runner);
        *oldest = (struct followed){.pid = pid, .first_ns = time, .used_ns = time};
        return NULL;
    }
    mine->used_ns = time;
    if (mine->runner)
        return mine;
    if (time - mine->first_ns < NEW_PROCESS_NS || time < mine->denied_until_ns)
        return NULL;
    struct cs_error err;
    if (cs_burst_runner_open(pid, &mine->runner, &err) < 0) {
        mine->denied_until_ns = time + DENIED_NS;
        pthread_mutex_lock(&burst->lock);
        burst->statistics.skip[err.code == ESRCH ? CS_BURST_SKIP_GONE : CS_BURST_SKIP_DENIED]++;
        pthread_mutex_unlock(&burst->lock);
        return NULL;
    }
    /* Its start counts against the budget, but tells nothing of what a burst costs. */
    if (burst->config.sampler && burst->config.target == CS_TARGET_ALL)
        cs_sampler_held(burst->config.sampler, (uint64_t)(cpu_spent_us(burst, mine) * 1e3));
    pthread_mutex_lock(&burst->lock);
    burst->statistics.runners++;
    pthread_mutex_unlock(&burst->lock);
    return mine;
}

static void unfollow(struct followed *f)
{
    cs_burst_runner_close(f->runner);
    f->runner = NULL;
    f->runner_cpu_us = 0;
}

/* Fewer moments become bursts when bursts turn out dearer than thought. */
static void adapt(struct cs_burst *burst, double cost_us)
{
    struct cs_burst_statistics *s = &burst->statistics;
    struct cs_sampler *sampler = burst->config.sampler;
    s->cost_us += (cost_us - s->cost_us) / (s->bursts < 32 ? (double)s->bursts + 1 : 32);
    if (burst->config.rate_hz > 0)
        return;
    double allowed = sampler ? cs_sampler_burst_allowance(sampler) : 0;
    double budget = burst->config.budget > 0 ? burst->config.budget : allowed > 0 ? allowed : burst->budget;
    double moment = sampler ? cs_sampler_sample_cost(sampler) : 0; /* a timer's interrupt, as a sample */
    burst->chance = (budget * burst->period_s - moment) / (s->cost_us * 1e-6);
    burst->chance = burst->chance > 1 ? 1 : burst->chance < CHANCE_LEAST ? CHANCE_LEAST : burst->chance;
}

/* What it cost, in us. */
static double count(struct cs_burst *burst, struct followed *f, const struct cs_burst_shared *answer)
{
    const struct cs_burst_outcome *o = &answer->outcome;
    double held_us = o->held_ns / 1e3;
    bool all = burst->config.target == CS_TARGET_ALL;
    double spent_us = all ? cpu_spent_us(burst, f) : 0, beside_us = all ? BESIDE_ALL_US : BESIDE_US;
    double cost_us =
        held_us + spent_us + (held_us > 0 ? beside_us : 0) + o->pace_samples * o->pace_cost_ns / 1e3;
    struct cs_burst_statistics *s = &burst->statistics;
    pthread_mutex_lock(&burst->lock);
    s->held_ns += o->held_ns;
    if (o->skip != CS_BURST_SKIP_NONE) {
        s->skip[o->skip]++;
    } else {
        s->end[o->cause]++;
        adapt(burst, cost_us);
        s->bursts++;
        s->instructions += o->followed;
        burst->held_us[burst->n_held++ % HELD_KEPT] = (float)(o->held_ns / 1e3);
        if (o->instructions) {
            long unplaced = cs_burst_rows_add(burst->rows, f->pid, answer);
            s->unplaced += unplaced > 0 ? (uint64_t)unplaced : 0;
        }
    }
    pthread_mutex_unlock(&burst->lock);
    if (burst->config.sampler)
        cs_sampler_held(burst->config.sampler, (uint64_t)(cost_us * 1e3));
    return cost_us;
}

static uint32_t length_for(const struct cs_burst *burst, const struct followed *f)
{
    if (burst->config.instructions)
        return burst->config.instructions;
    bool known = f->n_bursts >= FIRST_BURSTS;
    double held_us = known ? f->held_us : burst->all_held_us;
    double instructions = known ? f->instructions : burst->all_instructions;
    double length = held_us > 0 ? HELD_WANTED_US * instructions / held_us : INSTRUCTIONS;
    double most = known ? INSTRUCTIONS : FIRST_INSTRUCTIONS;
    return (uint32_t)(length > most ? most : length < INSTRUCTIONS_LEAST ? INSTRUCTIONS_LEAST : length);
}

static bool is_paced(struct cs_burst *burst, const struct followed *f)
{
    if (f->n_bursts < 2 * FIRST_BURSTS || !cs_burst_rows_apart(burst->rows))
        return false;
    return random_share(burst) < cs_pacing_share(&f->pacing);
}

static void learn_length(struct cs_burst *burst, struct followed *f, const struct cs_burst_outcome *o,
                         bool paced, double cost_us)
{
    if (o->skip != CS_BURST_SKIP_NONE || !o->instructions)
        return;
    cs_pacing_learn(&f->pacing, paced, o->n_paces > 0, cost_us);
    if (paced)
        return;
    f->n_bursts++;
    f->held_us += o->held_ns / 1e3 - f->held_us / FOLLOWED_MEMORY;
    f->instructions += o->instructions - f->instructions / FOLLOWED_MEMORY;
    burst->all_held_us += o->held_ns / 1e3 - burst->all_held_us / FOLLOWED_MEMORY;
    burst->all_instructions += o->instructions - burst->all_instructions / FOLLOWED_MEMORY;
}

static void one_burst(struct cs_burst *burst, const struct cs_moment *moment)
{
    struct followed *f = follow(burst, moment->pid);
    if (!f)
        return;
    struct cs_error err;
    struct cs_burst_command command = {
        .tid = (uint32_t)moment->tid,
        .instructions = length_for(burst, f),
        .lead_ns = LEAD_NS_LEAST + (uint32_t)(random_share(burst) * LEAD_NS_SPAN),
        .timeout_ms = TIMEOUT_MS,
        .held_max_us = HELD_MAX_US,
        .held_first_us = HELD_FIRST_US,
        .keep_awake = burst->config.target != CS_TARGET_ALL, /* there somebody else may have the CPU */
    };
    bool paced = is_paced(burst, f);
    if (paced) {
        command.pace_instructions = PACE_INSTRUCTIONS;
        command.pace_held_max_us = PACE_HELD_MAX_US;
    }
    const struct cs_burst_shared *answer = cs_burst_runner_go(f->runner, &command, &err);
    if (!answer) {
        unfollow(f);
        f->denied_until_ns = now_ns() + DENIED_NS;
        pthread_mutex_lock(&burst->lock);
        burst->statistics.skip[CS_BURST_SKIP_BROKEN]++;
        pthread_mutex_unlock(&burst->lock);
        return;
    }
    double cost_us = count(burst, f, answer);
    learn_length(burst, f, &answer->outcome, paced, cost_us);
    if (answer->outcome.skip == CS_BURST_SKIP_TAKEN)
        f->denied_until_ns = now_ns() + DENIED_NS;
    if (answer->outcome.error ==
        ESRCH)       /* the program ended: after an exec there is another one under this PID */
        unfollow(f); /* unmaps the answer */
}

static void *session(void *argument)
{
    struct cs_burst *burst = argument;
    uint64_t stop = 0;
    pid_t ourselves = getpid();
    while (read(burst->stop_fd, &stop, sizeof stop) < 0) {
        struct cs_moment moment;
        if (cs_moments_wait(burst->moments, burst->stop_fd, 1000, &moment) != 1 || moment.pid == ourselves)
            continue;
        if (burst->config.sampler)
            cs_sampler_held(burst->config.sampler,
                            (uint64_t)(cs_sampler_sample_cost(burst->config.sampler) * 1e9));
        if (random_share(burst) >= burst->chance)
            continue;
        pthread_mutex_lock(&burst->lock);
        burst->statistics.moments++;
        pthread_mutex_unlock(&burst->lock);
        one_burst(burst, &moment);
    }
    for (int i = 0; i < RUNNERS_MAX; i++)
        unfollow(&burst->followed[i]);
    return NULL;
}

int cs_burst_open(const struct cs_burst_config *config, struct cs_burst **out, struct cs_error *err)
{
    size_t size;
    *out = NULL;
    if (!cs_burst_image(&size))
        return cs_fail(err, ENOTSUP, "bursts follow x86-64 code alone; on this machine there are none");
    struct cs_burst *burst = calloc(1, sizeof *burst);
    if (!burst)
        return cs_fail(err, ENOMEM, "out of memory for bursts");
    burst->config = *config;
    burst->stop_fd = -1;
    pthread_mutex_init(&burst->lock, NULL);
    double allowed = config->sampler ? cs_sampler_burst_allowance(config->sampler) : 0;
    burst->budget = config->budget > 0 ? config->budget : allowed > 0 ? allowed : BUDGET;
    burst->chance = THINNING;
    double first_us = config->target == CS_TARGET_ALL ? FIRST_COST_ALL_US : FIRST_COST_US;
    burst->period_s =
        THINNING * (config->rate_hz > 0 ? 1 / config->rate_hz : first_us * 1e-6 / burst->budget);
    burst->random = now_ns() | 1;
    burst->rows = cs_burst_rows_open(config->sampler);
    burst->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int rc = 0;
    if (!burst->rows || burst->stop_fd < 0)
        rc = cs_fail(err, ENOMEM, "out of memory or descriptors for bursts");
    if (!rc)
        rc = cs_moments_open(config->target, config->pid, (uint64_t)(burst->period_s * 1e9) | 1,
                             &burst->moments, err);
    if (!rc && pthread_create(&burst->thread, NULL, session, burst))
        rc = cs_fail(err, EAGAIN, "no thread for bursts");
    burst->started = !rc;
    if (rc)
        cs_burst_close(burst);
    else
        *out = burst;
    return rc;
}

void cs_burst_stop(struct cs_burst *burst)
{
    uint64_t one = 1;
    if (!burst->started)
        return;
    (void)!write(burst->stop_fd, &one, sizeof one);
    pthread_join(burst->thread, NULL);
    burst->started = false;
}

#define COUNTERS_MAX (4 + CS_BURST_CAUSE_N + CS_BURST_SKIP_N)

struct burst_counters {
    size_t n;
    char names[COUNTERS_MAX][64];
    struct cs_counter at[COUNTERS_MAX];
};

static void put_counter(struct burst_counters *counters, const char *name, const char *part, uint64_t n)
{
    if (n == 0)
        return;
    char *whole = counters->names[counters->n];
    snprintf(whole, sizeof counters->names[0], "%s%s%s", name, *part ? "." : "", part);
    counters->at[counters->n++] = (struct cs_counter){whole, n};
}

static int merge_counters(struct cs_burst *burst, struct cs_store *store, struct cs_error *err)
{
    const struct cs_burst_statistics *s = &burst->statistics, *c = &burst->counted;
    struct burst_counters fresh = {.n = 0};
    put_counter(&fresh, "bursts", "", s->bursts - c->bursts);
    put_counter(&fresh, "burst-instructions", "", s->instructions - c->instructions);
    put_counter(&fresh, "burst-held-ns", "", s->held_ns - c->held_ns);
    put_counter(&fresh, "burst-unplaced", "", s->unplaced - c->unplaced);
    for (unsigned i = 0; i < CS_BURST_CAUSE_N; i++)
        put_counter(&fresh, "burst-end", cs_burst_cause_name(i), s->end[i] - c->end[i]);
    for (unsigned i = 1; i < CS_BURST_SKIP_N; i++)
        put_counter(&fresh, "burst-skip", cs_burst_skip_name(i), s->skip[i] - c->skip[i]);
    int rc = fresh.n ? cs_store_count_all(store, fresh.at, fresh.n, err) : 0;
    if (rc == 0)
        burst->counted = *s;
    return rc;
}

int cs_burst_merge(struct cs_burst *burst, struct cs_store *store, struct cs_error *err)
{
    pthread_mutex_lock(&burst->lock);
    cs_store_batch_begin(store);
    int rc = cs_burst_rows_merge(burst->rows, store, err);
    cs_store_batch_end(store);
    if (!rc)
        rc = merge_counters(burst, store, err);
    pthread_mutex_unlock(&burst->lock);
    return rc;
}

static int ascending(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

void cs_burst_statistics(struct cs_burst *burst, struct cs_burst_statistics *out)
{
    float held[HELD_KEPT];
    pthread_mutex_lock(&burst->lock);
    *out = burst->statistics;
    unsigned n = burst->n_held < HELD_KEPT ? burst->n_held : HELD_KEPT;
    memcpy(held, burst->held_us, n * sizeof *held);
    pthread_mutex_unlock(&burst->lock);
    if (n) {
        qsort(held, n, sizeof *held, ascending);
        out->held_median_us = (double)held[n / 2];
        out->held_p99_us = (double)held[n * 99 / 100];
    }
}

void cs_burst_close(struct cs_burst *burst)
{
    if (!burst)
        return;
    cs_burst_stop(burst);
    cs_clock_rings_close(burst->moments);
    cs_burst_rows_close(burst->rows);
    if (burst->stop_fd >= 0)
        close(burst->stop_fd);
    pthread_mutex_destroy(&burst->lock);
    free(burst);
}
