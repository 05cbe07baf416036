/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Clocks of processes, which the kernel has for all their threads, also those that have ended. */
#include "cli/record/record_charged.h"
#include "cli/profile/profile.h"
#include "store/base/clock.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#define SECONDS_MIN 0.1 /* less is the program's start and end */
#define SHARE_MIN 0.05
#define DEVIATIONS 4

/* 0: one of them has ended, or there is none. */
static uint64_t sum_of_clocks(const struct charged *charged)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < charged->n; i++) {
        struct timespec t;
        if (clock_gettime(charged->clock[i], &t) != 0)
            return 0;
        sum += (uint64_t)t.tv_sec * 1000000000ULL + (uint64_t)t.tv_nsec;
    }
    return sum;
}

void record_charged_begin(struct charged *charged, const struct cs_sampler_config *config)
{
    if (config->target != CS_TARGET_PID)
        return;
    for (unsigned i = 0; i <= config->n_more_pids && i <= RECORD_PIDS_MAX; i++)
        if (clock_getcpuclockid(i ? config->more_pids[i - 1] : config->pid, &charged->clock[charged->n]) == 0)
            charged->n++;
    charged->from_ns = sum_of_clocks(charged);
}

void record_charged_end(struct charged *charged)
{
    charged->to_ns = sum_of_clocks(charged);
}

bool record_charged_is_more(double charged, double sampled, double samples)
{
    double missing = charged - sampled;
    if (samples <= 0 || charged < SECONDS_MIN)
        return false;
    return missing > SHARE_MIN * charged && missing > DEVIATIONS * sampled / sqrt(samples);
}

/* Only a clock counts time, and only where nothing else is known to be missing. */
static bool is_comparable(struct cs_sampler *sampler, const struct cs_sampler_statistics *s)
{
    const char *event = cs_sampler_event(sampler, 0);
    const bool by_kernel = strcmp(s->driver, "bpf") == 0 || strcmp(s->driver, "ring") == 0;
    return by_kernel && cs_sampler_events(sampler) == 1 &&
           (strcmp(event, "cpu-clock") == 0 || strcmp(event, "task-clock") == 0) && !s->user_only &&
           !s->throttled && !s->lost;
}

int record_charged_keep(struct charged *charged, struct cs_sampler *sampler,
                        const struct cs_sampler_config *config, struct cs_store *store, const char *path,
                        struct cs_error *err)
{
    assert(sampler && store);
    struct cs_sampler_statistics s;
    struct profile p;
    struct cs_error ignored = {0};
    const struct profile_filter filter = {.epoch = cs_store_epoch_name(store),
                                          .main_event = cs_sampler_event(sampler, 0)};
    cs_sampler_statistics(sampler, &s);
    if (config->target == CS_TARGET_COMMAND)
        charged->seconds = cs_sampler_child_cpu_seconds(sampler);
    else if (charged->from_ns && charged->to_ns > charged->from_ns)
        charged->seconds = (double)(charged->to_ns - charged->from_ns) / 1e9;
    if (charged->seconds <= 0 || !is_comparable(sampler, &s) || profile_open(&p, path, &filter, &ignored) < 0)
        return 0;
    charged->sampled_seconds = (double)p.events[p.main_event].period_sum / 1e9;
    charged->short_of_samples =
        record_charged_is_more(charged->seconds, charged->sampled_seconds, (double)s.delivered);
    profile_close(&p);
    if (!charged->short_of_samples)
        return 0;
    const struct cs_counter both[] = {
        {"charged_short.ms", (uint64_t)(charged->seconds * 1000)},
        {"charged_short.sampled_ms", (uint64_t)(charged->sampled_seconds * 1000)}};
    return cs_store_count_all(store, both, 2, err);
}
