/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a session tells about itself, and what other threads may ask it. */
#include "sampler/session/session.h"
#include "store/base/foreign.h"

#include <assert.h>
#include <math.h>
#include <string.h>

uint64_t cs_session_unknown_samples(const struct cs_session_accounts *accounts)
{
    uint64_t sum = 0;
    for (unsigned c = 0; c < CS_UNKNOWN_N; c++)
        sum += accounts->unknown[c];
    return sum;
}

void cs_sampler_statistics(struct cs_sampler *s, struct cs_sampler_statistics *out)
{
    struct cs_driver_counts counts;
    const struct cs_mapped_image *latest[2];
    s->events.driver->counts(s->events.state, &counts);
    *out = (struct cs_sampler_statistics){
        .driver = s->events.driver->name,
        .delivered = counts.delivered,
        .unknown = cs_session_unknown_samples(&s->accounts),
        .lost = counts.lost + s->accounts.dropped,
        .throttled = counts.throttled + cs_sideband_throttled(s->sideband),
        .entries = counts.entries,
        .map_records_lost = cs_sideband_lost(s->sideband),
        .mappings_cut = cs_maps_cut(s->places.maps),
        .images_cut = cs_images_cut(s->places.images),
        .interpreters_cut = s->places.interpreted ? cs_interpreted_cut(s->places.interpreted) : 0,
        .unanswered = cs_foreign_unanswered(),
        .image_conflicts = cs_images_conflicts(s->places.images, latest),
        .jit_cut = s->places.jit ? cs_jit_cut(s->places.jit) : 0,
        .merged = s->accounts.merged,
        .pending = cs_session_profiles_pending(s->profiles),
        .images = cs_images_count(s->places.images),
        .processes = cs_maps_processes(s->places.maps),
        .merges = s->accounts.merges,
        .merge_failures = s->accounts.merge_failures,
        .rate_hz = s->rate.rate_hz,
        .sample_cost_us = cs_rate_cost_upper(&s->rate.cost) * 1e6,
        .loss = s->config.budget > 0 ? s->rate.budget.loss : (double)NAN,
        .collector_cpu_seconds = cs_thread_cpu_seconds() - s->accounts.collector_seconds_at_start,
        .held_ns = __atomic_load_n(&s->rate.held_ns, __ATOMIC_RELAXED),
        .chains = s->config.chains,
        .chain_frames = s->accounts.chain_frames,
    };
    for (unsigned e = 0; e < s->events.n_asked; e++)
        if (s->accounts.merged_reading[e].enabled_ns && !s->accounts.merged_reading[e].running_ns)
            out->without_counter |= UINT64_C(1) << e;
    memcpy(out->chain_ends, s->accounts.chain_ends, sizeof out->chain_ends);
    out->born = cs_maps_born(s->places.maps, &out->forks);
    if (counts.sample_seconds > 0 && s->events.driver->mean_period(s->events.state, 0) > 0) {
        out->sample_cost_us = counts.sample_seconds * 1e6;
        out->rate_hz = 1e9 / s->events.driver->mean_period(s->events.state, 0);
        out->loss = counts.sample_seconds * out->rate_hz;
    }
    out->user_only = s->events.user_only || s->events.asked[0].attr.exclude_kernel;
    if (s->waits) {
        struct cs_session_waits_counts waits;
        cs_session_waits_counts(s->waits, &waits);
        out->waits = true;
        out->wait_seconds = waits.seconds;
        out->waits_kept = waits.kept;
        out->waits_lost = waits.lost;
        out->waits_all_from_ns = waits.interval_ns;
        out->waits_uncounted = waits.no_row;
    }
    const struct cs_chain_kernel *kernel = s->events.driver->chains(s->events.state);
    if (kernel) {
        struct cs_chain_counts chains;
        cs_chain_counts(kernel, &chains);
        memcpy(out->chain_ends, chains.ends, sizeof out->chain_ends);
        out->chain_frames = chains.frames;
        if (out->sample_cost_us > 0)
            out->sample_cost_us += chains.seconds * 1e6;
        out->chain_tables = kernel->tables.loaded;
        out->chain_bytes = (uint64_t)kernel->tables.n_segments * sizeof(struct cs_chain_segment);
    }
}

_Static_assert(CS_SAMPLER_CHAIN_ENDS == CS_CHAIN_ENDS, "the public count");

const char *cs_sampler_chain_end(unsigned end)
{
    return cs_chain_end_name(end);
}

const char *cs_sampler_chain_end_sentence(unsigned end)
{
    return cs_chain_end_sentence(end);
}

uint64_t cs_sampler_unknown(const struct cs_sampler *s, enum cs_unknown cause)
{
    assert((size_t)cause < sizeof s->accounts.unknown / sizeof *s->accounts.unknown);
    return s->accounts.unknown[cause];
}
unsigned cs_sampler_events(const struct cs_sampler *s)
{
    return s->events.n_asked;
}
const char *cs_sampler_event(const struct cs_sampler *s, unsigned event)
{
    return event < s->events.n_asked ? s->events.asked[event].name : "";
}
bool cs_sampler_counted(const struct cs_sampler *s, unsigned event, uint64_t *events)
{
    *events = s->accounts.merged_reading[event].value;
    return s->accounts.merged_reading[event].running_ns > 0;
}
pid_t cs_sampler_child(const struct cs_sampler *s)
{
    return s->target.command.pid;
}
double cs_sampler_child_cpu_seconds(const struct cs_sampler *s)
{
    return s->target.command.cpu_seconds;
}

int cs_sampler_child_status(const struct cs_sampler *s)
{
    return s->target.command.status;
}

void cs_sampler_held(struct cs_sampler *s, uint64_t ns)
{
    __atomic_fetch_add(&s->rate.held_ns, ns, __ATOMIC_RELAXED);
}

double cs_sampler_sample_cost(const struct cs_sampler *s)
{
    double seconds;
    __atomic_load(&s->rate.cost_seconds, &seconds, __ATOMIC_RELAXED);
    return seconds;
}

struct cs_rate_cost cs_sampler_measured_cost(const struct cs_sampler *s)
{
    return s->rate.cost;
}

double cs_sampler_burst_allowance(const struct cs_sampler *s)
{
    return cs_session_rate_bursts(&s->config);
}

double cs_sampler_busy_cpus(const struct cs_sampler *s)
{
    double busy;
    __atomic_load(&s->rate.busy_cpus, &busy, __ATOMIC_RELAXED);
    return busy > 0 ? busy : s->events.cpus.n_online;
}

const struct cs_process_filter *cs_sampler_filter(const struct cs_sampler *s)
{
    return s->events.filter;
}

int cs_sampler_locate(struct cs_sampler *s, pid_t pid, uint64_t addr, uint64_t time_ns,
                      const struct cs_store_image **image, uint64_t *offset)
{
    struct cs_maps_location found;
    int rc = cs_maps_find(s->places.maps, pid, addr, time_ns, time_ns, &found);
    if (rc == 0) {
        *image = &found.image->image;
        *offset = found.jit ? cs_jit_offset(s->places.jit, *image, pid, time_ns, time_ns, addr, found.offset)
                            : found.offset;
    }
    return rc;
}

void cs_sampler_limit_tables(struct cs_sampler *s, double cpu_max)
{
    if (s->tables)
        cs_image_tables_limit(s->tables, cpu_max);
}

void cs_sampler_limit_waits(struct cs_sampler *s, double cpu_max)
{
    if (s->waits)
        cs_session_waits_limit(s->waits, cpu_max);
}

uint64_t cs_sampler_jit_room(const struct cs_sampler *s)
{
    return cs_jit_room(s->places.jit);
}
