/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Puts what is in memory into the store: profiles, names that the store's reader can't find later, counters.
 * What fails stays in memory for the next call. dcpi-1997 section 4.3.3. */
#include "sampler/session/session.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* Sums over an event's descriptors: how long it was wanted and how long it had a counter. A thread's event on
 * one CPU counts as wanted while the thread is on another too: so many CPUs, so many times the thread's time.
 */
static void read_times(struct cs_sampler *s, uint64_t *value, uint64_t *enabled_ns, uint64_t *running_ns)
{
    for (unsigned e = 0; e < s->n_events; e++)
        value[e] = s->closed[e].value, enabled_ns[e] = s->closed[e].enabled_ns,
        running_ns[e] = s->closed[e].running_ns;
    for (size_t i = 0; i < s->n_open; i++) {
        struct cs_event_reading r;
        if (read(s->open[i].fd, &r, sizeof r) != (ssize_t)sizeof r)
            continue;
        value[s->open[i].event] += r.value;
        enabled_ns[s->open[i].event] += r.enabled_ns;
        running_ns[s->open[i].event] += r.running_ns;
    }
    for (unsigned e = 0; e < s->n_events && s->config.target != CS_TARGET_ALL; e++) {
        enabled_ns[e] /= s->n_cpus ? s->n_cpus : 1;
        enabled_ns[e] = enabled_ns[e] < running_ns[e] ? running_ns[e] : enabled_ns[e];
    }
}

static const char *label_text(void *arg, uint32_t number)
{
    return cs_maps_label(((struct cs_sampler *)arg)->maps, number);
}

static void between(void *arg)
{
    cs_sampler_keep_up(arg);
}

/* The store's counters, in this order; those of causes follow. */
enum { SAMPLES, LOST, UNKNOWN, FIRST_CAUSE };

static void counters_now(struct cs_sampler *s, uint64_t now[CS_SAMPLER_COUNTERS])
{
    struct cs_driver_counts counts;
    s->driver->counts(s->state, &counts);
    now[SAMPLES] = s->merged;
    now[LOST] = counts.lost + s->dropped;
    now[UNKNOWN] = 0;
    for (unsigned c = 0; c < CS_UNKNOWN_N; c++)
        now[UNKNOWN] += now[FIRST_CAUSE + c] = s->unknown[c];
}

static size_t uncounted(const struct cs_sampler *s, const uint64_t now[CS_SAMPLER_COUNTERS],
                        struct cs_counter out[CS_SAMPLER_COUNTERS])
{
    static const char *const names[FIRST_CAUSE] = {"samples", "lost", "unknown"};
    size_t n = 0;
    for (unsigned i = 0; i < CS_SAMPLER_COUNTERS; i++)
        if (now[i] != s->counted[i])
            out[n++] = (struct cs_counter){
                i < FIRST_CAUSE ? names[i] : cs_unknown_counter((enum cs_unknown)(i - FIRST_CAUSE)),
                now[i] - s->counted[i]};
    return n;
}

size_t cs_sampler_uncounted(struct cs_sampler *s, struct cs_counter out[CS_SAMPLER_COUNTERS])
{
    uint64_t now[CS_SAMPLER_COUNTERS];
    counters_now(s, now);
    return uncounted(s, now, out);
}

static int merge_counters(struct cs_sampler *s, struct cs_error *err)
{
    uint64_t now[CS_SAMPLER_COUNTERS];
    struct cs_counter fresh[CS_SAMPLER_COUNTERS];
    counters_now(s, now);
    size_t n = uncounted(s, now, fresh);
    int rc = n ? cs_store_count_all(s->config.store, fresh, n, err) : 0;
    if (rc == 0)
        memcpy(s->counted, now, sizeof now);
    return rc;
}

static uint64_t unknown_samples(const struct cs_sampler *s)
{
    uint64_t sum = 0;
    for (unsigned c = 0; c < CS_UNKNOWN_N; c++)
        sum += s->unknown[c];
    return sum;
}

/* Offsets in the image "[unknown]" are causes. */
static int name_causes(struct cs_sampler *s, struct cs_error *err)
{
    struct cs_table *names = cs_table_open(&cs_schema_names);
    int rc = names ? 0 : -ENOMEM;
    for (unsigned c = 0; rc == 0 && c < CS_UNKNOWN_N; c++) {
        int64_t text = cs_table_text(names, cs_unknown_name(c));
        rc = text < 0 ? -ENOMEM : cs_table_add(names, (uint64_t[]){c, 1, (uint64_t)text});
    }
    if (rc == 0)
        rc = cs_store_merge_names(s->config.store, &s->unknown_image->image, names, err);
    else
        rc = cs_fail(err, ENOMEM, "out of memory for the names of causes");
    cs_table_close(names);
    s->unknown_image->named = rc == 0;
    return rc;
}

static int merge_names(struct cs_sampler *s, struct cs_error *err)
{
    int rc = cs_kernel_name(s->kernel, s->config.store, err);
    if (rc == 0)
        rc = cs_jit_name(s->jit, s->config.store, err);
    if (rc == 0 && !s->unknown_image->named && s->counted[UNKNOWN] < unknown_samples(s))
        rc = name_causes(s, err);
    return rc;
}

static int merge(struct cs_sampler *s, struct cs_error *err)
{
    struct cs_event_times times[CS_EVENTS_MAX];
    uint64_t value[CS_EVENTS_MAX] = {0}, enabled_ns[CS_EVENTS_MAX] = {0}, running_ns[CS_EVENTS_MAX] = {0};
    int rc = s->stopped ? 0 : cs_collect_drain(s, CS_DRAIN_FLUSH, err);
    if (rc < 0)
        return rc;
    if (!s->config.store)
        return cs_fail(err, EINVAL, "no store to merge into");
    read_times(s, value, enabled_ns, running_ns);
    double clocks = cs_rate_mean_period_ns(s);
    for (unsigned e = 0; e < s->n_events; e++) {
        /* A mean: over the session by what was counted (a thread's clock counts its time, kernel and all),
         * else by what was asked. */
        bool budget = s->config.budget > 0,
             counted = s->by_frequency[e] ||
                       (budget && s->config.target != CS_TARGET_ALL && !s->events[e].attr.exclude_kernel);
        double period = budget ? clocks : (double)s->periods[e].mean;
        if (counted && s->delivered_by_event[e])
            period = (double)value[e] / (double)s->delivered_by_event[e];
        times[e] = (struct cs_event_times){enabled_ns[e] - s->enabled_ns[e], running_ns[e] - s->running_ns[e],
                                           period};
    }
    cs_store_batch_begin(s->config.store);
    rc = cs_profiles_merge(s->profiles, s->config.store, times,
                           &(struct cs_profiles_merging){label_text, between, s}, &s->merged, err);
    if (rc == 0)
        rc = merge_names(s, err);
    cs_store_batch_end(s->config.store); /* counters come last: never more counted than stored */
    if (rc == 0)
        rc = merge_counters(s, err);
    if (rc < 0) {
        s->merge_failures++;
        return rc;
    }
    for (unsigned e = 0; e < s->n_events; e++) {
        s->enabled_ns[e] = enabled_ns[e];
        s->running_ns[e] = running_ns[e];
    }
    s->merges++;
    return 0;
}

int cs_sampler_merge(struct cs_sampler *s, struct cs_error *err)
{
    double before = cs_thread_cpu_seconds();
    int rc = merge(s, err);
    cs_rate_seldom(s, cs_thread_cpu_seconds() - before);
    return rc;
}
