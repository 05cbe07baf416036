/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Puts what is in memory into the store: profiles, names that the store's reader can't find later, counters.
 * What fails stays in memory for the next call. dcpi-1997 section 4.3.3. */
#include "sampler/session/session.h"
#include "sampler/timers/timers.h"
#include "store/kept_code.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* Sums over an event's descriptors: how long it was wanted and how long it had a counter. A thread's event on
 * one CPU counts as wanted while the thread is on another too: so many CPUs, so many times the thread's time.
 */
static void read_times(const struct cs_sampler *s, struct cs_session_event_reading now[])
{
    const struct cs_session_events *events = &s->events;
    memcpy(now, events->closed, events->n_asked * sizeof *now);
    for (size_t i = 0; i < events->n_open; i++)
        cs_session_events_read(&events->open[i], now);
    bool of_threads = s->config.target != CS_TARGET_ALL && !events->filter;
    for (unsigned e = 0; e < events->n_asked && of_threads; e++) {
        now[e].enabled_ns /= events->cpus.n_online;
        now[e].enabled_ns = now[e].enabled_ns < now[e].running_ns ? now[e].running_ns : now[e].enabled_ns;
    }
}

static const char *label_text(void *arg, uint32_t number)
{
    return cs_maps_label(((struct cs_sampler *)arg)->places.maps, number);
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
    s->events.driver->counts(s->events.state, &counts);
    now[SAMPLES] = s->accounts.merged;
    now[LOST] = counts.lost + s->accounts.dropped;
    now[UNKNOWN] = cs_session_unknown_samples(&s->accounts);
    memcpy(now + FIRST_CAUSE, s->accounts.unknown, sizeof s->accounts.unknown);
}

static size_t uncounted(const struct cs_sampler *s, const uint64_t now[CS_SAMPLER_COUNTERS],
                        struct cs_counter out[CS_SAMPLER_COUNTERS])
{
    static const char *const names[FIRST_CAUSE] = {"samples", "lost", "unknown"};
    size_t n = 0;
    for (unsigned i = 0; i < CS_SAMPLER_COUNTERS; i++)
        if (now[i] != s->accounts.counted[i])
            out[n++] = (struct cs_counter){
                i < FIRST_CAUSE ? names[i] : cs_unknown_counter((enum cs_unknown)(i - FIRST_CAUSE)),
                now[i] - s->accounts.counted[i]};
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
        memcpy(s->accounts.counted, now, sizeof now);
    return rc;
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
        rc = cs_store_merge_names(s->config.store, &s->places.unknown_image->image, names, err);
    else
        rc = cs_fail(err, ENOMEM, "out of memory for the names of causes");
    cs_table_close(names);
    s->places.unknown_image->named = rc == 0;
    return rc;
}

static int merge_names(struct cs_sampler *s, struct cs_error *err)
{
    int rc = cs_kernel_name(s->places.kernel, s->config.store, err);
    if (rc == 0)
        rc = cs_jit_name(s->places.jit, s->config.store, err);
    if (rc == 0)
        rc = cs_interpreted_name(s->places.interpreted, s->config.store, err);
    if (rc == 0 && !s->places.unknown_image->named && s->places.unknown_met)
        rc = name_causes(s, err);
    return rc;
}

/* A mean: over the session by what the driver saw, or by what was counted (a thread's clock counts its time, kernel
 * and all), else by what was asked. */
static double mean_period(const struct cs_sampler *s, unsigned e, uint64_t value, double clocks)
{
    const struct cs_session_rate *rate = &s->rate;
    bool budget = s->config.budget > 0;
    bool of_threads = s->config.target != CS_TARGET_ALL && !s->events.filter;
    bool counted = rate->by_frequency[e] || (budget && of_threads && !s->events.asked[e].attr.exclude_kernel);
    bool timers = cs_timers_are(s->events.driver);
    double seen = s->events.filter || timers ? s->events.driver->mean_period(s->events.state, e) : 0;
    if (seen > 0 && (budget || timers || rate->by_frequency[e]))
        return seen;
    if (counted && s->accounts.delivered_by_event[e])
        return (double)value / (double)s->accounts.delivered_by_event[e];
    return budget ? clocks : (double)rate->periods[e].mean;
}

static void keep_made_code(struct cs_sampler *s)
{
    struct cs_error err = {0};
    if (s->config.keep_code_max && cs_jit_save_code(s->places.jit, s->config.keep_code_max, &err) < 0)
        cs_session_remark(&s->config, "%s", err.text);
}

/* The code that the reports will need. That it can't be kept loses no sample: it is told and no more. */
static void keep_code(struct cs_sampler *s)
{
    for (unsigned i = 0; s->config.keep_code_max && i < cs_images_count(s->places.images); i++) {
        struct cs_mapped_image *image = cs_images_nth(s->places.images, i);
        struct cs_error err = {0};
        if (!image->sampled || image->copied)
            continue;
        int fd = cs_images_take_file(s->places.images, image);
        image->copied = true;
        if (fd < 0)
            continue;
        if (cs_kept_code_save(cs_store_path(s->config.store), image->image.id, fd, s->config.keep_code_max,
                              &err) < 0)
            cs_session_remark(&s->config, "the code of %s isn't kept: %s", image->image.path, err.text);
        close(fd);
        cs_sampler_keep_up(s);
    }
}

static int merge(struct cs_sampler *s, struct cs_error *err)
{
    struct cs_session_accounts *accounts = &s->accounts;
    struct cs_session_profiles_times times[CS_SAMPLER_EVENTS_MAX];
    struct cs_session_event_reading now[CS_SAMPLER_EVENTS_MAX];
    int rc = s->target.stopped ? 0 : cs_session_drain(s, CS_DRIVER_DRAIN_FLUSH, err);
    if (rc < 0)
        return rc;
    if (!s->config.store)
        return cs_fail(err, EINVAL, "no store to merge into");
    read_times(s, now);
    double clocks = cs_session_rate_mean_period_ns(&s->rate, &s->events);
    for (unsigned e = 0; e < s->events.n_asked; e++)
        times[e] =
            (struct cs_session_profiles_times){now[e].enabled_ns - accounts->merged_reading[e].enabled_ns,
                                               now[e].running_ns - accounts->merged_reading[e].running_ns,
                                               mean_period(s, e, now[e].value, clocks)};
    cs_store_batch_begin(s->config.store);
    struct cs_session_profiles_merging with = {label_text, between, s};
    rc = cs_session_profiles_merge(s->profiles, s->config.store, times, &with, &accounts->merged, err);
    if (rc == 0 && s->contexts)
        rc = cs_session_contexts_merge(s->contexts, s->config.store, times, &with, err);
    if (rc == 0 && s->waits)
        rc = cs_session_waits_merge(s->waits, s->config.store, &with, err);
    if (rc == 0)
        rc = merge_names(s, err);
    cs_store_batch_end(s->config.store); /* counters come last: never more counted than stored */
    if (rc == 0)
        rc = merge_counters(s, err);
    if (rc < 0) {
        accounts->merge_failures++;
        return rc;
    }
    memcpy(accounts->merged_reading, now, s->events.n_asked * sizeof *now);
    accounts->merges++;
    keep_code(s);
    keep_made_code(s);
    return 0;
}

int cs_sampler_merge(struct cs_sampler *s, struct cs_error *err)
{
    double before = cs_thread_cpu_seconds();
    int rc = merge(s, err);
    cs_session_rate_amortise(&s->rate, cs_thread_cpu_seconds() - before);
    return rc;
}
