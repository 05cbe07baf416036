/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How often: the first periods, and a new draw from time to time. */
#include "sampler/session.h"

#include <linux/perf_event.h>
#include <math.h>
#include <sys/ioctl.h>

#define DEFAULT_HZ 1000.0

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

int cs_rate_init(struct cs_sampler *s, struct cs_error *err)
{
    const struct cs_sampler_config *c = &s->config;
    (void)err;
    s->rate_hz = c->frequency_hz > 0 ? c->frequency_hz : DEFAULT_HZ;
    for (unsigned e = 0; e < s->n_events; e++) {
        struct perf_event_attr *attr = &s->events[e].attr;
        bool clock = cs_event_is_clock(&s->events[e]);
        uint64_t mean = c->period ? c->period : (uint64_t)llround(1e9 / s->rate_hz);
        if (c->period || clock) {
            cs_period_init(&s->periods[e], mean, seed() + e);
            attr->sample_period = c->period_exact ? mean : cs_period_draw(&s->periods[e]);
        } else { /* the kernel keeps the rate, and its period moves all the time by itself */
            s->by_frequency[e] = true;
            attr->freq = 1;
            attr->sample_freq = (uint64_t)llround(s->rate_hz);
        }
        if (c->period && clock)
            s->rate_hz = 1e9 / (double)c->period;
    }
    uint64_t mean_ns = (uint64_t)llround(1e9 / s->rate_hz);
    s->next_redraw_ns = c->period_exact ? UINT64_MAX : cs_now_ns() + cs_period_redraw_ns(mean_ns);
    return 0;
}

void cs_rate_tick(struct cs_sampler *s, uint64_t now_ns)
{
    for (unsigned e = 0; e < s->n_events; e++)
        if (!s->by_frequency[e])
            set_period(s, e, cs_period_draw(&s->periods[e]));
    s->next_redraw_ns = now_ns + cs_period_redraw_ns((uint64_t)llround(1e9 / s->rate_hz));
}
