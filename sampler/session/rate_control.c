/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How often: the first periods, a new draw from time to time, and the rate that keeps to the budget. */
#include "sampler/session/rate_control.h"
#include "sampler/rate/cost_measurement.h"
#include "store/base/clock.h"

#include <assert.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <math.h>

#define DEFAULT_HZ 1000.0
#define BUDGET_NS 1000000000ULL
#define CALIBRATE_ROUNDS 10U /* at the start */
#define CALIBRATE_SHARE 0.03 /* of the budget goes to measuring the cost again: hosts have their moods */
#define CALIBRATE_MIN_NS (5 * 1000000000ULL)
#define AMORTISED_SHARE (1.0 / 60) /* charged to each window */

static uint64_t seed(void)
{
    uint64_t x = cs_monotonic_ns();
    return (x ^ (x << 21)) * 0x9E3779B97F4A7C15ULL | 1;
}

static void schedule_redraw(struct cs_session_rate *r, const struct cs_sampler_config *config,
                            uint64_t now_ns)
{
    if (config->period_exact)
        r->next_redraw_ns = UINT64_MAX;
    else
        r->next_redraw_ns = now_ns + cs_rate_period_redraw_ns((uint64_t)llround(1e9 / r->rate_hz));
}

/* A sample's cost: the event's by measurement, and its chain's as the driver timed it. */
static void publish_cost(struct cs_session_rate *r, const struct cs_session_events *events)
{
    double seconds = cs_rate_cost_upper(&r->cost);
    const struct cs_chain_kernel *kernel = events->driver->chains(events->state);
    if (kernel && seconds > 0) {
        struct cs_chain_counts chains;
        cs_chain_counts(kernel, &chains);
        seconds += chains.seconds;
    }
    __atomic_store(&r->cost_seconds, &seconds, __ATOMIC_RELAXED);
}

double cs_session_rate_bursts(const struct cs_sampler_config *config)
{
    /* Those of the whole machine cost more than they are charged. */
    double part = config->target == CS_TARGET_ALL ? CS_RATE_BUDGET_MARGIN * 2 / 3 : 0.5;
    return config->budget > 0 ? config->budget * part : 0;
}

int cs_session_rate_init(struct cs_session_rate *r, struct cs_session_events *events,
                         const struct cs_sampler_config *config, struct cs_error *err)
{
    if (config->budget < 0 || config->budget > 0.5)
        return cs_fail(err, EINVAL, "a budget of %g %% is not between 0 and 50 %%", config->budget * 100);
    r->rate_hz = config->frequency_hz > 0 ? config->frequency_hz : DEFAULT_HZ;
    r->next_budget_ns = UINT64_MAX;
    if (config->budget > 0) {
        r->cost = config->cost;
        if (r->cost.weight <= 0)
            cs_rate_cost_measure(&r->cost, &events->asked[0], CALIBRATE_ROUNDS);
        publish_cost(r, events);
        cs_rate_budget_init(&r->budget, config->budget, events->n_asked, events->cpus.n_online,
                            r->cost_seconds);
        if (config->target != CS_TARGET_ALL)
            r->budget.held_weight = CS_RATE_BUDGET_MARGIN; /* as cs_sampler_burst_allowance plans them */
        r->budget.of_busy = config->target != CS_TARGET_ALL;
        if (config->bursts)
            cs_rate_budget_reserve(&r->budget, cs_session_rate_bursts(config));
        r->rate_hz = r->budget.rate_hz;
        r->next_budget_ns = 0; /* set when sampling starts */
    }
    for (unsigned e = 0; e < events->n_asked; e++) {
        struct perf_event_attr *attr = &events->asked[e].attr;
        bool clock = cs_event_is_clock(&events->asked[e]), by_period = config->period && config->budget <= 0;
        uint64_t mean = by_period ? config->period : (uint64_t)llround(1e9 / r->rate_hz);
        if (by_period || clock) {
            cs_rate_period_init(&r->periods[e], mean, seed() + e);
            attr->sample_period = config->period_exact ? mean : cs_rate_period_draw(&r->periods[e]);
        } else { /* the kernel keeps the rate, and its period moves all the time by itself */
            r->by_frequency[e] = true;
            r->rate_hz = fmin(r->rate_hz, (double)cs_event_rate_limit());
            attr->freq = 1;
            attr->sample_freq = (uint64_t)llround(r->rate_hz);
        }
        if (by_period && clock)
            r->rate_hz = 1e9 / (double)config->period;
    }
    schedule_redraw(r, config, cs_monotonic_ns());
    return 0;
}

static void open_window(struct cs_session_rate *r, const struct cs_session_events *events, uint64_t now_ns)
{
    struct cs_driver_counts counts;
    events->driver->counts(events->state, &counts);
    r->window.begin_ns = now_ns;
    r->window.samples = counts.delivered;
    r->window.collector_seconds = cs_thread_cpu_seconds();
    r->window.held_ns = __atomic_load_n(&r->held_ns, __ATOMIC_RELAXED);
    r->next_budget_ns = now_ns + BUDGET_NS;
}

void cs_session_rate_amortise(struct cs_session_rate *r, double cpu_seconds)
{
    assert(cpu_seconds >= 0);
    r->amortised_seconds += cpu_seconds;
    r->window.collector_seconds += cpu_seconds;
}

static uint64_t calibration_interval_ns(const struct cs_session_rate *r, unsigned n_cpus)
{
    double ns = (double)CS_RATE_COST_ROUND_NS / (CALIBRATE_SHARE * r->budget.share * n_cpus);
    return ns < (double)CALIBRATE_MIN_NS ? CALIBRATE_MIN_NS : (uint64_t)ns;
}

static void calibrate_again(struct cs_session_rate *r, const struct cs_session_events *events,
                            uint64_t now_ns)
{
    double before = cs_thread_cpu_seconds();
    cs_rate_cost_measure(&r->cost, &events->asked[0], 1);
    cs_session_rate_amortise(r, cs_thread_cpu_seconds() - before);
    r->next_calibration_ns = now_ns + calibration_interval_ns(r, events->cpus.n_online);
}

/* Samples that came since stand for what the rate was. */
static void weigh(struct cs_session_rate *r, uint64_t delivered)
{
    double samples = delivered > r->weighed ? (double)(delivered - r->weighed) : 0;
    r->weighed = delivered;
    r->merging_samples += samples;
    r->merging_ns += samples * 1e9 / r->rate_hz;
}

static void keep_budget(struct cs_session_rate *r, struct cs_session_events *events, uint64_t now_ns)
{
    struct cs_driver_counts counts;
    if (now_ns >= r->next_calibration_ns)
        calibrate_again(r, events, now_ns);
    publish_cost(r, events);
    cs_rate_budget_cost(&r->budget, r->cost_seconds);
    double amortised = r->amortised_seconds * AMORTISED_SHARE;
    r->amortised_seconds -= amortised;
    events->driver->counts(events->state, &counts);
    struct cs_rate_budget_window window = {
        .seconds = (double)(now_ns - r->window.begin_ns) * 1e-9,
        .samples = (double)(counts.delivered - r->window.samples),
        .collector_seconds = cs_thread_cpu_seconds() - r->window.collector_seconds + amortised,
        .held_seconds = (double)(__atomic_load_n(&r->held_ns, __ATOMIC_RELAXED) - r->window.held_ns) * 1e-9,
    };
    weigh(r, counts.delivered);
    double rate = cs_rate_budget_update(&r->budget, &window);
    __atomic_store(&r->busy_cpus, &r->budget.busy_cpus, __ATOMIC_RELAXED);
    if (rate != r->rate_hz) { /* NOLINT(clang-diagnostic-float-equal): it moves in steps */
        r->rate_hz = rate;
        r->changed = true;
        for (unsigned e = 0; e < events->n_asked; e++) {
            if (r->by_frequency[e]) {
                events->asked[e].attr.sample_freq = (uint64_t)llround(rate);
                cs_session_events_period(events, e, events->asked[e].attr.sample_freq);
            } else
                r->periods[e].mean = (uint64_t)llround(1e9 / rate);
        }
        r->next_redraw_ns = now_ns; /* takes effect with the next draw: now */
    }
    open_window(r, events, now_ns);
}

double cs_session_rate_mean_period_ns(struct cs_session_rate *r, const struct cs_session_events *events)
{
    struct cs_driver_counts counts;
    events->driver->counts(events->state, &counts);
    weigh(r, counts.delivered);
    double mean = r->merging_samples > 0 ? r->merging_ns / r->merging_samples : 1e9 / r->rate_hz;
    r->merging_ns = r->merging_samples = 0;
    return mean;
}

void cs_session_rate_start(struct cs_session_rate *r, const struct cs_session_events *events,
                           const struct cs_sampler_config *config)
{
    if (config->budget <= 0)
        return;
    r->next_calibration_ns = cs_monotonic_ns() + calibration_interval_ns(r, events->cpus.n_online);
    open_window(r, events, cs_monotonic_ns());
}

uint64_t cs_session_rate_due(const struct cs_session_rate *r)
{
    return r->next_redraw_ns < r->next_budget_ns ? r->next_redraw_ns : r->next_budget_ns;
}

bool cs_session_rate_tick(struct cs_session_rate *r, struct cs_session_events *events,
                          const struct cs_sampler_config *config, uint64_t now_ns)
{
    if (now_ns >= r->next_budget_ns)
        keep_budget(r, events, now_ns);
    if (now_ns < r->next_redraw_ns)
        return false;
    for (unsigned e = 0; e < events->n_asked; e++) {
        if (r->by_frequency[e])
            continue;
        events->asked[e].attr.sample_period = cs_rate_period_draw(&r->periods[e]);
        cs_session_events_period(events, e, events->asked[e].attr.sample_period);
    }
    schedule_redraw(r, config, now_ns);
    bool changed = r->changed;
    r->changed = false;
    return changed;
}
