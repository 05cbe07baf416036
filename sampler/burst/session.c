/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The session: a thread that waits for triggers and has bursts made, and what it counts. */
#include "sampler/burst/budget.h"
#include "sampler/burst/burst.h"
#include "sampler/burst/burst_model.h"
#include "sampler/burst/counters.h"
#include "sampler/burst/followed.h"
#include "sampler/burst/rows.h"
#include "sampler/burst/runner_image.h"
#include "sampler/burst/triggers.h"
#include "store/base/clock.h"
#include "store/base/order.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define STOPPED_KEPT 1024

struct cs_burst {
    struct cs_burst_config config;
    struct cs_burst_triggers *triggers;
    pthread_t thread;
    bool started;
    int stop_fd;
    struct cs_burst_budget budget;
    double own_cpu_us; /* of our thread, charged up to here */
    uint64_t random;
    uint32_t slack_ms; /* what a late replay is waited for */
    struct cs_burst_processes processes;
    struct cs_burst_length all_lengths;

    pthread_mutex_t lock; /* of everything below */
    struct cs_burst_rows *rows;
    struct cs_burst_statistics statistics, counted; /* so far; of it in the store */
    float stopped_us[STOPPED_KEPT];
    unsigned n_stopped;
};

static double random_share(struct cs_burst *burst)
{
    burst->random ^= burst->random << 13; /* xorshift64 */
    burst->random ^= burst->random >> 7;
    burst->random ^= burst->random << 17;
    return (double)(burst->random >> 11) * 0x1p-53;
}

/* CPU time that was taken by the session and its runners since the last time. */
static double cpu_spent_us(struct cs_burst *burst)
{
    double own = cs_thread_cpu_seconds() * 1e6,
           spent = own - burst->own_cpu_us + cs_burst_processes_cpu_us(&burst->processes);
    burst->own_cpu_us = own;
    pthread_mutex_lock(&burst->lock);
    burst->statistics.cpu_us += spent;
    pthread_mutex_unlock(&burst->lock);
    return spent;
}

/* Against the account and the budget of all. */
static void charge(struct cs_burst *burst, double cost_us)
{
    cs_burst_budget_spend(&burst->budget, cost_us);
    if (burst->config.sampler)
        cs_sampler_held(burst->config.sampler, (uint64_t)(cost_us * 1e3));
}

/* Does CPU time of our own count? By default a command's bursts cost what they take from the thread that stands. */
static bool counts_cpu(const struct cs_burst *burst)
{
    return burst->config.target == CS_TARGET_ALL || burst->budget.accounted;
}

/* What was spent on no burst. */
static void charge_cpu(struct cs_burst *burst)
{
    double us = cpu_spent_us(burst);
    if (counts_cpu(burst))
        charge(burst, us);
}

static void count_skip(struct cs_burst *burst, enum cs_burst_skip why)
{
    pthread_mutex_lock(&burst->lock);
    burst->statistics.skip[why]++;
    pthread_mutex_unlock(&burst->lock);
}

/* What is allowed now, as a share of the target's time. */
static double allowed(const struct cs_burst_config *config, double otherwise)
{
    double share = config->budget;
    if (share <= 0)
        share = config->sampler ? cs_sampler_burst_allowance(config->sampler) : 0;
    return share > 0 ? share : otherwise;
}

/* The process with its runner; NULL when it has none. */
static struct cs_burst_followed *follow(struct cs_burst *burst, pid_t pid)
{
    enum cs_burst_skip why;
    bool started = false;
    bool may = cs_burst_budget_may_start(&burst->budget, allowed(&burst->config, burst->budget.share));
    struct cs_burst_followed *f = cs_burst_follow(&burst->processes, pid, may, &why, &started);
    if (why != CS_BURST_SKIP_NONE)
        count_skip(burst, why);
    if (!started) {
        if (why == CS_BURST_SKIP_GONE || why == CS_BURST_SKIP_DENIED ||
            why == CS_BURST_SKIP_OTHERS) /* a start in vain, perhaps */
            charge_cpu(burst);
        return f;
    }
    /* Its start counts against the budget, but tells nothing of what a burst costs. */
    double us = cpu_spent_us(burst);
    if (counts_cpu(burst)) {
        cs_burst_budget_started(&burst->budget, us);
        charge(burst, us);
    }
    pthread_mutex_lock(&burst->lock);
    burst->statistics.runners++;
    pthread_mutex_unlock(&burst->lock);
    return f;
}

static void adapt(struct cs_burst *burst, double cost_us)
{
    struct cs_sampler *sampler = burst->config.sampler;
    double trigger = sampler ? cs_sampler_sample_cost(sampler) : 0; /* a timer's interrupt, as a sample */
    cs_burst_budget_learn(&burst->budget, cost_us, allowed(&burst->config, burst->budget.share), trigger);
    burst->statistics.cost_us = burst->budget.cost_us;
}

/* What an attempt cost, in us. */
static double cost_of(struct cs_burst *burst, const struct cs_burst_outcome *o)
{
    bool all = burst->config.target == CS_TARGET_ALL;
    double stopped_us = o->stopped_ns / 1e3, cpu_us = cpu_spent_us(burst),
           beside_us = all ? CS_MODEL_BESIDE_ALL_US : CS_MODEL_BESIDE_US;
    double beside = (stopped_us > 0 ? beside_us : 0) + o->timing_tried * o->timing_cost_ns / 1e3;
    if (all)
        return stopped_us + cpu_us + beside;
    if (!burst->budget.accounted)
        return stopped_us + beside;
    return cs_burst_budget_cost(stopped_us, cpu_us, cs_sampler_busy_cpus(burst->config.sampler)) + beside;
}

/* Returns what it cost, in us. */
static double count(struct cs_burst *burst, struct cs_burst_followed *f, pid_t tid,
                    const struct cs_burst_shared *answer)
{
    const struct cs_burst_outcome *o = &answer->outcome;
    double stopped_us = o->stopped_ns / 1e3;
    double cost_us = cost_of(burst, o);
    struct cs_burst_statistics *s = &burst->statistics;
    pthread_mutex_lock(&burst->lock);
    s->stopped_ns += o->stopped_ns;
    if (s->stopped_max_us < stopped_us)
        s->stopped_max_us = stopped_us;
    if (o->stopped_ns) {
        unsigned class = o->stopped_ns / (1000 * CS_BURST_STOP_CLASS_US);
        s->stops[class < CS_BURST_STOP_CLASSES ? class : CS_BURST_STOP_CLASSES - 1]++;
    }
    if (o->skip == CS_BURST_SKIP_NONE || burst->budget.accounted)
        adapt(burst, cost_us);
    if (o->skip != CS_BURST_SKIP_NONE) {
        s->skip[o->skip]++;
    } else {
        s->end[o->cause]++;
        s->bursts++;
        s->denormal += o->denormal != 0;
        s->instructions += o->followed;
        burst->stopped_us[burst->n_stopped++ % STOPPED_KEPT] = (float)(o->stopped_ns / 1e3);
        if (o->instructions) {
            long unplaced = cs_burst_rows_add(burst->rows, f->pid, tid, answer);
            s->unplaced += unplaced > 0 ? (uint64_t)unplaced : 0;
        }
    }
    pthread_mutex_unlock(&burst->lock);
    charge(burst, cost_us);
    return cost_us;
}

static bool is_timed(struct cs_burst *burst, const struct cs_burst_followed *f)
{
    if (f->length.n < 2 * CS_MODEL_FIRST_BURSTS || !cs_burst_rows_apart(burst->rows))
        return false;
    return random_share(burst) < cs_burst_timing_share_next(&f->timing);
}

static void learn_length(struct cs_burst *burst, struct cs_burst_followed *f,
                         const struct cs_burst_outcome *o, bool timed, double cost_us)
{
    if (o->skip != CS_BURST_SKIP_NONE || !o->instructions)
        return;
    cs_burst_timing_share_learn(&f->timing, timed, o->n_intervals > 0, cost_us);
    if (timed)
        return;
    cs_burst_length_learn(&f->length, o->stopped_ns / 1e3, o->instructions);
    cs_burst_length_learn(&burst->all_lengths, o->stopped_ns / 1e3, o->instructions);
}

/* What this machine's replays really take: a thread that is stopped for longer is better than none that is followed. */
static void learn_slack(struct cs_burst *burst, const struct cs_burst_outcome *o)
{
    if (o->skip == CS_BURST_SKIP_SLOW && burst->slack_ms < CS_BURST_SLACK_MS_MAX)
        burst->slack_ms *= 2;
}

static void one_burst(struct cs_burst *burst, const struct cs_burst_trigger *trigger)
{
    struct cs_burst_followed *f = follow(burst, trigger->pid);
    if (!f)
        return;
    struct cs_error err;
    struct cs_burst_command command = {
        .tid = (uint32_t)trigger->tid,
        .instructions = burst->config.instructions ? burst->config.instructions
                                                   : cs_burst_length_next(&f->length, &burst->all_lengths),
        .lead_ns = CS_MODEL_LEAD_NS + (uint32_t)(random_share(burst) * CS_MODEL_LEAD_SPAN_NS),
        .timeout_ms = CS_MODEL_TIMEOUT_MS,
        .slack_ms = burst->slack_ms,
        .stopped_max_us = CS_MODEL_STOPPED_MAX_US,
        .stopped_first_us = CS_MODEL_STOPPED_FIRST_US,
        .real_time_too = burst->config.real_time_too,
        .keep_out_of_idle = burst->config.target != CS_TARGET_ALL, /* there somebody else may have the CPU */
    };
    bool timed = is_timed(burst, f);
    if (timed) {
        command.timed_instructions = CS_MODEL_TIMED_INSTRUCTIONS;
        command.timed_stopped_max_us = CS_MODEL_TIMED_STOPPED_MAX_US;
    }
    const struct cs_burst_shared *answer = cs_burst_runner_go(f->runner, &command, &err);
    if (!answer) {
        cs_burst_unfollow(&burst->processes, f);
        enum cs_burst_skip why = err.code == ETIMEDOUT ? CS_BURST_SKIP_STUCK : CS_BURST_SKIP_BROKEN;
        cs_burst_followed_failed(f, why);
        count_skip(burst, why);
        charge_cpu(burst);
        return;
    }
    double cost_us = count(burst, f, trigger->tid, answer);
    learn_slack(burst, &answer->outcome);
    if (answer->outcome.skip == CS_BURST_SKIP_NONE)
        f->failures = 0;
    learn_length(burst, f, &answer->outcome, timed, cost_us);
    if (answer->outcome.skip == CS_BURST_SKIP_TAKEN)
        cs_burst_followed_deny(f, CS_BURST_SKIP_TAKEN);
    if (answer->outcome.skip == CS_BURST_SKIP_RIGHTS || answer->outcome.skip == CS_BURST_SKIP_PROGRAM) {
        cs_burst_unfollow(&burst->processes, f);
        cs_burst_followed_begin(f);
    } else if (answer->outcome.error == EPIPE) { /* what ran its code is dead */
        enum cs_burst_skip why = answer->outcome.skip;
        cs_burst_unfollow(&burst->processes, f);
        cs_burst_followed_failed(f, why);
    } else if (answer->outcome.error ==
               ESRCH) /* the program ended: after an exec there is another one under this PID */
        cs_burst_unfollow(&burst->processes, f); /* unmaps the answer */
}

static void tidy(struct cs_burst *burst)
{
    cs_burst_processes_tidy(&burst->processes);
    pthread_mutex_lock(&burst->lock);
    burst->statistics.runners_now = burst->processes.runners;
    burst->statistics.runners_bytes = burst->processes.bytes;
    pthread_mutex_unlock(&burst->lock);
}

static void *session(void *argument)
{
    struct cs_burst *burst = argument;
    uint64_t stop = 0;
    pid_t ourselves = getpid();
    while (read(burst->stop_fd, &stop, sizeof stop) < 0) {
        struct cs_burst_trigger trigger;
        tidy(burst);
        if (!burst->budget.eager)
            cs_burst_triggers_slow_down(burst->triggers);
        int n = cs_burst_triggers_wait(burst->triggers, burst->processes.watch_fd, 1000, &trigger);
        if (n <= 0 || trigger.pid == ourselves)
            continue;
        cs_burst_budget_earn(&burst->budget, allowed(&burst->config, burst->budget.share), (unsigned)n);
        if (burst->config.sampler)
            charge(burst, n * cs_sampler_sample_cost(burst->config.sampler) * 1e6);
        if (random_share(burst) >= burst->budget.chance)
            continue;
        pthread_mutex_lock(&burst->lock);
        burst->statistics.triggers++;
        pthread_mutex_unlock(&burst->lock);
        if (!cs_burst_budget_may(&burst->budget)) {
            count_skip(burst, CS_BURST_SKIP_BUDGET);
            continue;
        }
        one_burst(burst, &trigger);
    }
    return NULL;
}

int cs_burst_open(const struct cs_burst_config *config, struct cs_burst **out, struct cs_error *err)
{
    assert(config->sampler);
    size_t size;
    *out = NULL;
    if (!cs_burst_image(&size))
        return cs_fail(err, ENOTSUP, "bursts exist on x86-64 only; this machine has another instruction set");
    struct cs_burst *burst = calloc(1, sizeof *burst);
    if (!burst)
        return cs_fail(err, ENOMEM, "out of memory for bursts");
    burst->config = *config;
    burst->slack_ms = CS_BURST_SLACK_MS;
    burst->stop_fd = burst->processes.watch_fd = -1;
    pthread_mutex_init(&burst->lock, NULL);
    cs_burst_budget_begin(&burst->budget, allowed(config, CS_MODEL_BURST_BUDGET), config->rate_hz,
                          config->target == CS_TARGET_ALL);
    burst->budget.accounted = config->sampler && allowed(config, 0) > 0 && config->rate_hz <= 0;
    if (config->target == CS_TARGET_COMMAND && allowed(config, 0) <= 0 && config->rate_hz <= 0)
        cs_burst_budget_hurry(&burst->budget, CS_MODEL_EVIDENCE_BURSTS);
    burst->random = cs_monotonic_ns() | 1;
    burst->rows = cs_burst_rows_open(config->sampler);
    burst->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int rc = 0;
    uint64_t bytes = config->runners_bytes ? config->runners_bytes : CS_MODEL_RUNNERS_BYTES;
    if (!burst->rows || burst->stop_fd < 0 ||
        cs_burst_processes_open(&burst->processes, burst->stop_fd, bytes) < 0)
        rc = cs_fail(err, ENOMEM, "out of memory or descriptors for bursts");
    burst->processes.at_once = config->target == CS_TARGET_COMMAND && config->rate_hz > 0;
    if (!rc)
        rc = cs_burst_triggers_open(config->target, config->pid, cs_sampler_filter(config->sampler),
                                    burst->budget.period_s, burst->budget.later_period_s, &burst->triggers,
                                    err);
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
    cs_burst_processes_close(&burst->processes);
    burst->started = false;
}

int cs_burst_merge(struct cs_burst *burst, struct cs_store *store, struct cs_error *err)
{
    pthread_mutex_lock(&burst->lock);
    cs_store_batch_begin(store);
    int rc = cs_burst_rows_merge(burst->rows, store, err);
    cs_store_batch_end(store);
    if (!rc)
        rc = cs_burst_counters_merge(&burst->statistics, &burst->counted, store, err);
    pthread_mutex_unlock(&burst->lock);
    return rc;
}

CS_ORDER(ascending, float, cs_order(*a, *b))

void cs_burst_statistics(struct cs_burst *burst, struct cs_burst_statistics *out)
{
    float stopped[STOPPED_KEPT];
    pthread_mutex_lock(&burst->lock);
    *out = burst->statistics;
    unsigned n = burst->n_stopped < STOPPED_KEPT ? burst->n_stopped : STOPPED_KEPT;
    memcpy(stopped, burst->stopped_us, n * sizeof *stopped);
    pthread_mutex_unlock(&burst->lock);
    if (n) {
        cs_sort(stopped, n, ascending);
        out->stopped_median_us = (double)stopped[n / 2];
        out->stopped_p99_us = (double)stopped[n * 99 / 100];
    }
}

void cs_burst_close(struct cs_burst *burst)
{
    if (!burst)
        return;
    cs_burst_stop(burst);
    if (burst->processes.watch_fd >= 0)
        close(burst->processes.watch_fd); /* the session never began */
    cs_burst_triggers_close(burst->triggers);
    cs_burst_rows_close(burst->rows);
    if (burst->stop_fd >= 0)
        close(burst->stop_fd);
    pthread_mutex_destroy(&burst->lock);
    free(burst);
}
