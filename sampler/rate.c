/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How often: the first periods, a new draw from time to time, and the rate that keeps to the budget. */
#include "sampler/rate/cost_measurement.h"
#include "sampler/session/session.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <math.h>
#include <sys/ioctl.h>

#define DEFAULT_HZ 1000.0
#define BUDGET_NS 1000000000ULL
#define CALIBRATE_ROUNDS 10U /* at the start */
#define CALIBRATE_SHARE 0.03 /* of the budget goes to measuring the cost again: hosts have their moods */
#define CALIBRATE_LEAST_NS (5 * 1000000000ULL)
#define SELDOM_SHARE (1.0 / 60) /* charged to each window */

static uint64_t seed(void)
{
    uint64_t x = cs_now_ns();
    return (x ^ (x << 21)) * 0x9E3779B97F4A7C15ULL | 1;
}

static void set_period(struct cs_sampler *s, unsigned event, uint64_t period)
{
    for (size_t i = 0; i < s->n_open; i++)
        if (s->open[i].event == event)
            (void)ioctl(s->open[i].fd, PERF_EVENT_IOC_PERIOD, &period);
}

static void schedule_redraw(struct cs_sampler *s, uint64_t now_ns)
{
    if (s->config.period_exact)
        s->next_redraw_ns = UINT64_MAX;
    else
        s->next_redraw_ns = now_ns + cs_period_redraw_ns((uint64_t)llround(1e9 / s->rate_hz));
}

static void tell_cost(struct cs_sampler *s)
{
    double seconds = cs_cost_upper(&s->cost);
    __atomic_store(&s->cost_seconds, &seconds, __ATOMIC_RELAXED);
}

int cs_rate_init(struct cs_sampler *s, struct cs_error *err)
{
    const struct cs_sampler_config *c = &s->config;
    if (c->budget < 0 || c->budget > 0.5)
        return cs_fail(err, EINVAL, "a budget of %g %% is not between 0 and 50 %%", c->budget * 100);
    s->rate_hz = c->frequency_hz > 0 ? c->frequency_hz : DEFAULT_HZ;
    s->next_budget_ns = UINT64_MAX;
    if (c->budget > 0) {
        cs_calibrate(&s->cost, &s->events[0], CALIBRATE_ROUNDS);
        tell_cost(s);
        cs_budget_init(&s->budget, c->budget, s->n_events, s->n_cpus, s->cost_seconds);
        if (c->target != CS_TARGET_ALL)
            s->budget.held_weight = CS_BUDGET_MARGIN; /* as cs_sampler_burst_allowance plans them */
        s->rate_hz = s->budget.rate_hz;
        s->next_budget_ns = 0; /* set when sampling starts */
    }
    for (unsigned e = 0; e < s->n_events; e++) {
        struct perf_event_attr *attr = &s->events[e].attr;
        bool clock = cs_event_is_clock(&s->events[e]), by_period = c->period && c->budget <= 0;
        uint64_t mean = by_period ? c->period : (uint64_t)llround(1e9 / s->rate_hz);
        if (by_period || clock) {
            cs_period_init(&s->periods[e], mean, seed() + e);
            attr->sample_period = c->period_exact ? mean : cs_period_draw(&s->periods[e]);
        } else { /* the kernel keeps the rate, and its period moves all the time by itself */
            s->by_frequency[e] = true;
            attr->freq = 1;
            attr->sample_freq = (uint64_t)llround(s->rate_hz);
        }
        if (by_period && clock)
            s->rate_hz = 1e9 / (double)c->period;
    }
    schedule_redraw(s, cs_now_ns());
    return 0;
}

static void open_window(struct cs_sampler *s, uint64_t now_ns)
{
    struct cs_driver_counts counts;
    s->driver->counts(s->state, &counts);
    s->window_ns = now_ns;
    s->window_samples = counts.delivered;
    s->window_collector = cs_thread_cpu_seconds();
    s->window_held_ns = __atomic_load_n(&s->held_ns, __ATOMIC_RELAXED);
    s->next_budget_ns = now_ns + BUDGET_NS;
}

void cs_rate_seldom(struct cs_sampler *s, double cpu_seconds)
{
    s->seldom_seconds += cpu_seconds;
    s->window_collector += cpu_seconds;
}

static uint64_t calibration_interval_ns(const struct cs_sampler *s)
{
    double ns = (double)CS_CALIBRATE_ROUND_NS / (CALIBRATE_SHARE * s->budget.share * s->n_cpus);
    return ns < (double)CALIBRATE_LEAST_NS ? CALIBRATE_LEAST_NS : (uint64_t)ns;
}

static void calibrate_again(struct cs_sampler *s, uint64_t now_ns)
{
    double before = cs_thread_cpu_seconds();
    cs_calibrate(&s->cost, &s->events[0], 1);
    tell_cost(s);
    cs_budget_cost(&s->budget, s->cost_seconds);
    cs_rate_seldom(s, cs_thread_cpu_seconds() - before);
    s->next_calibration_ns = now_ns + calibration_interval_ns(s);
}

static void keep_budget(struct cs_sampler *s, uint64_t now_ns)
{
    struct cs_driver_counts counts;
    if (now_ns >= s->next_calibration_ns)
        calibrate_again(s, now_ns);
    double seldom = s->seldom_seconds * SELDOM_SHARE;
    s->seldom_seconds -= seldom;
    s->driver->counts(s->state, &counts);
    struct cs_budget_window window = {
        .seconds = (double)(now_ns - s->window_ns) * 1e-9,
        .samples = (double)(counts.delivered - s->window_samples),
        .collector_seconds = cs_thread_cpu_seconds() - s->window_collector + seldom,
        .held_seconds = (double)(__atomic_load_n(&s->held_ns, __ATOMIC_RELAXED) - s->window_held_ns) * 1e-9,
    };
    s->asked_seconds += window.seconds;
    s->asked_samples += window.seconds * s->rate_hz;
    double rate = cs_budget_update(&s->budget, &window);
    if (rate != s->rate_hz) { /* NOLINT(clang-diagnostic-float-equal): it moves in steps */
        s->rate_hz = rate;
        s->rate_changed = true;
        for (unsigned e = 0; e < s->n_events; e++) {
            if (s->by_frequency[e]) {
                s->events[e].attr.sample_freq = (uint64_t)llround(rate);
                set_period(s, e, s->events[e].attr.sample_freq);
            } else
                s->periods[e].mean = (uint64_t)llround(1e9 / rate);
        }
        s->next_redraw_ns = now_ns; /* takes effect with the next draw: now */
    }
    open_window(s, now_ns);
}

double cs_rate_mean_period_ns(struct cs_sampler *s)
{
    double open = s->config.budget > 0 && s->window_ns ? (double)(cs_now_ns() - s->window_ns) * 1e-9 : 0;
    double seconds = s->asked_seconds + open, samples = s->asked_samples + open * s->rate_hz;
    s->asked_seconds = -open; /* the window that is open will add them */
    s->asked_samples = -open * s->rate_hz;
    return seconds > 0 && samples > 0 ? 1e9 * seconds / samples : 1e9 / s->rate_hz;
}

void cs_rate_start(struct cs_sampler *s)
{
    if (s->config.budget <= 0)
        return;
    s->next_calibration_ns = cs_now_ns() + calibration_interval_ns(s);
    open_window(s, cs_now_ns());
}

uint64_t cs_rate_due(const struct cs_sampler *s)
{
    return s->next_redraw_ns < s->next_budget_ns ? s->next_redraw_ns : s->next_budget_ns;
}

void cs_rate_tick(struct cs_sampler *s, uint64_t now_ns)
{
    if (now_ns >= s->next_budget_ns)
        keep_budget(s, now_ns);
    if (now_ns < s->next_redraw_ns)
        return;
    for (unsigned e = 0; e < s->n_events; e++) {
        if (s->by_frequency[e])
            continue;
        s->events[e].attr.sample_period = cs_period_draw(&s->periods[e]);
        set_period(s, e, s->events[e].attr.sample_period);
    }
    schedule_redraw(s, now_ns);
    if (s->rate_changed)
        cs_session_reopen_events(s);
    s->rate_changed = false;
}
