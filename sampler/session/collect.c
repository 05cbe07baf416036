/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Brings samples in: draw the line, apply all sideband records up to it, then place every entry on (image,
 * offset). dcpi-1997 section 4.3. An entry that can't be placed is counted by its cause in "[unknown]". */
#include "sampler/perf/ring.h"
#include "sampler/session/session.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#define REMARKS_APART_NS 600000000000ULL
#define PARTS_MAX 16                  /* of a row: whoever replaces code faster gets no better answer */
#define LAST_TABLES_NS 10000000000ULL /* at most, for tables that are being made when a recording ends */

/* The callers are large: the recorder's own stack is copied with its samples, and mostly this isn't called. */
__attribute__((noinline)) static void hand_on(struct cs_sampler *s, const struct cs_driver_entry *entry,
                                              const struct cs_maps_location *found)
{
    struct cs_sampler_frame callers[CS_CHAIN_FRAMES];
    struct cs_sampler_placed placed = {.image = &found->image->image,
                                       .offset = found->offset,
                                       .samples = entry->count,
                                       .event = entry->event,
                                       .pid = (pid_t)entry->pid,
                                       .from_ns = entry->from_ns,
                                       .to_ns = entry->to_ns,
                                       .label = cs_maps_label(s->places.maps, found->label),
                                       .callers = callers};
    if (s->config.placed_callers && entry->chain && s->contexts)
        placed.n_callers =
            cs_session_contexts_callers(s->contexts, &s->places, entry, callers, CS_CHAIN_FRAMES);
    s->config.placed(s->config.arg, &placed);
}

static void place_labelled(struct cs_sampler *s, const struct cs_driver_entry *entry)
{
    struct cs_maps_location found;
    if (entry->copy && s->copies) {
        if (cs_stack_copies_add(s->copies, entry) == 0)
            return; /* comes back with its chain */
        s->events.driver->chains(s->events.state)->copied.ends[entry->copy->end]++;
    }
    s->accounts.delivered_by_event[entry->event] += entry->count;
    if (entry->chain && s->events.driver->reports_chain_ends && entry->chain_end < CS_CHAIN_ENDS) {
        s->accounts.chain_ends[entry->chain_end] += entry->count;
        s->accounts.chain_frames += entry->count * entry->n_chain;
    }
    int rc = cs_session_resolve(&s->places, entry, &found);
    if (rc < 0)
        s->accounts.unknown[-rc - 1] += entry->count;
    found.image->sampled = true;
    if (s->config.label == CS_LABEL_THREAD)
        found.label = cs_maps_thread_label(s->places.maps, (pid_t)entry->tid, entry->from_ns);
    if (s->attributes)
        found.label = entry->label;
    if (s->config.placed)
        hand_on(s, entry, &found);
    if (cs_session_profiles_add(s->profiles, found.image, entry->event, found.label, found.offset,
                                entry->count) < 0)
        s->accounts.dropped += entry->count;
    if (entry->chain && s->contexts)
        (void)cs_session_contexts_add(s->contexts, &s->places, s->profiles, entry, &found);
}

/* Where code was replaced by other code while the row was counted, each has its part of the time. */
/* When other code takes the place of this, or the thread gets another name, within the entry's time; 0: neither. */
static uint64_t change_within(struct cs_sampler *s, struct cs_driver_entry *entry)
{
    const uint64_t code = cs_session_code_change(&s->places, entry),
                   name = s->config.label == CS_LABEL_THREAD
                              ? cs_maps_thread_renamed(s->places.maps, (pid_t)entry->tid, entry->from_ns,
                                                       entry->to_ns)
                              : 0;
    return !name || (code && code < name) ? code : name;
}

static void place_parts(void *arg, const struct cs_driver_entry *entry)
{
    struct cs_sampler *s = arg;
    struct cs_driver_entry part = *entry;
    uint64_t change_ns, began_ns = 0, placed = 0;
    for (unsigned parts = 0;
         parts < PARTS_MAX && part.to_ns > part.from_ns && (change_ns = change_within(s, &part)) != 0;
         parts++) {
        began_ns = began_ns ? began_ns : part.from_ns;
        const double share = (double)(change_ns - began_ns) / (double)(entry->to_ns - began_ns);
        const uint64_t then = (uint64_t)((double)entry->count * share + 0.5);
        part.to_ns = change_ns - 1;
        part.count = then - placed;
        placed = then;
        if (part.count)
            place_labelled(s, &part);
        part.from_ns = change_ns;
        part.to_ns = entry->to_ns;
    }
    part.count = entry->count - placed;
    if (part.count)
        place_labelled(s, &part);
}

static void place(void *arg, const struct cs_driver_entry *entry)
{
    struct cs_sampler *s = arg;
    struct cs_driver_entry labelled = *entry;
    if (s->attributes)
        cs_session_attributes_label(s->attributes, &labelled);
    const bool hold = !entry->copy && cs_session_code_is_replaced(s) &&
                      cs_jit_has_replaced(s->places.jit, (pid_t)entry->pid, 0);
    if (!hold || !cs_held_rows_add(&s->held, &labelled))
        place_parts(s, &labelled);
}

static void incarnation(void *arg, pid_t pid, uint64_t time_ns)
{
    struct cs_sampler *s = arg;
    if (s->attributes)
        cs_session_attributes_expect(s->attributes, pid);
    if (s->events.driver == &cs_driver_ring) /* the BPF driver counts them in the kernel */
        (void)cs_generations_next(s->generations, (uint32_t)pid, time_ns);
}

static bool place_waits(struct cs_sampler *s, bool all)
{
    return s->waits && cs_session_waits_place(s->waits, all);
}

/* Samples and waits whose chains come from copies of stacks. A recording's end is worth some time for what is nearly there. */
static void place_copied(struct cs_sampler *s, enum cs_driver_drain how, uint64_t line_ns)
{
    struct cs_chain_counts *counts = &s->events.driver->chains(s->events.state)->copied;
    uint64_t until = cs_monotonic_ns() + LAST_TABLES_NS;
    bool last = how == CS_DRIVER_DRAIN_LAST;
    cs_stack_copies_emit(s->copies, line_ns, false, counts, place, s);
    bool left = place_waits(s, false);
    while (last && (left || cs_stack_copies_wait(s->copies)) && cs_monotonic_ns() < until) {
        struct timespec rest = {0, 2000000};
        nanosleep(&rest, NULL);
        cs_session_chains_feed(s->chains, line_ns);
        cs_stack_copies_emit(s->copies, line_ns, false, counts, place, s);
        left = place_waits(s, false);
    }
    if (last) {
        cs_stack_copies_emit(s->copies, line_ns, true, counts, place, s);
        (void)place_waits(s, true);
    }
    cs_image_tables_trim(s->tables);
}

static void kernel_changed(void *arg)
{
    cs_kernel_changed(((struct cs_sampler *)arg)->places.kernel);
}

/* What runs at the line is what /proc shows now, but for what began since: their records are still to come. */
void cs_session_look_anew(struct cs_sampler *s, uint64_t line_ns)
{
    if (s->config.target == CS_TARGET_ALL)
        (void)cs_maps_scan_all(s->places.maps, line_ns);
    pid_t *processes, root = s->config.target == CS_TARGET_COMMAND ? s->target.command.pid : s->config.pid;
    for (unsigned r = 0; s->events.filter && r <= s->config.n_more_pids; r++) {
        int n = cs_processes_below(r ? s->config.more_pids[r - 1] : root, &processes);
        for (int i = 0; i < n; i++) {
            cs_sideband_choose(s->sideband, processes[i]);
            (void)cs_maps_scan(s->places.maps, processes[i], line_ns);
        }
        if (n > 0)
            free(processes);
    }
}

/* What happens with every drain of a storm fills a log: the first time, and then the sum of ten minutes. */
static bool is_to_be_told(uint64_t now, uint64_t told, uint64_t *told_ns, enum cs_driver_drain how)
{
    const uint64_t now_ns = cs_monotonic_ns();
    if (now == told || (*told_ns && now_ns - *told_ns < REMARKS_APART_NS && how != CS_DRIVER_DRAIN_LAST))
        return false;
    *told_ns = now_ns;
    return true;
}

static void make_up_for_lost(struct cs_sampler *s, enum cs_driver_drain how, uint64_t line_ns)
{
    struct cs_session_accounts *a = &s->accounts;
    const uint64_t lost = cs_sideband_lost(s->sideband);
    if (lost != a->sideband_lost_seen)
        cs_session_look_anew(s, line_ns);
    a->sideband_lost_seen = lost;
    if (!is_to_be_told(lost, a->sideband_lost_told, &a->sideband_told_ns, how))
        return;
    cs_session_remark(
        &s->config,
        "%llu records of processes and mappings were lost: samples of those processes may be unknown",
        (unsigned long long)(lost - a->sideband_lost_told));
    a->sideband_lost_told = lost;
}

static void tell_conflicts(struct cs_sampler *s, enum cs_driver_drain how)
{
    struct cs_session_accounts *a = &s->accounts;
    const struct cs_mapped_image *latest[2];
    const uint64_t n = cs_images_conflicts(s->places.images, latest);
    if (!is_to_be_told(n, a->conflicts_told, &a->conflicts_told_ns, how))
        return;
    cs_session_remark(&s->config,
                      "%llu files have the build-id of another owner's file, the last one %.150s that of "
                      "%.150s: their profiles are kept apart",
                      (unsigned long long)(n - a->conflicts_told), latest[1]->image.path,
                      latest[0]->image.path);
    a->conflicts_told = n;
}

static void tell_interpreters(struct cs_sampler *s, enum cs_driver_drain how)
{
    struct cs_session_accounts *a = &s->accounts;
    const uint64_t n = s->places.interpreted ? cs_interpreted_cut(s->places.interpreted) : 0;
    if (!is_to_be_told(n, a->interpreters_told, &a->interpreters_told_ns, how))
        return;
    cs_session_remark(&s->config,
                      "Python and Lua functions of %llu more files have no names. At most 16 interpreters "
                      "are followed at once, 8 if root doesn't own their files",
                      (unsigned long long)(n - a->interpreters_told));
    a->interpreters_told = n;
}

/* Once, at the end: they are gone from the profile from then on. */
static void tell_filtered(struct cs_sampler *s, enum cs_driver_drain how)
{
    struct cs_driver_counts counts;
    s->events.driver->counts(s->events.state, &counts);
    if (how != CS_DRIVER_DRAIN_LAST || counts.filtered_threads == s->accounts.filtered_told)
        return;
    s->accounts.filtered_told = counts.filtered_threads;
    cs_session_remark(&s->config,
                      "%llu threads put filters on their system calls (seccomp). They and what they started "
                      "have no samples from then on, because timers could end them. Use --driver stops",
                      (unsigned long long)counts.filtered_threads);
}

int cs_session_take_records(struct cs_sampler *s, uint64_t line_ns, struct cs_error *err)
{
    struct cs_sideband_events events = {s, s->places.maps, incarnation, kernel_changed};
    if (cs_sideband_drain(s->sideband, line_ns, &events) < 0)
        return cs_fail(err, ENOMEM, "out of memory for the kernel's sideband records");
    return 0;
}

int cs_session_drain(struct cs_sampler *s, enum cs_driver_drain how, struct cs_error *err)
{
    cs_session_places_refresh(&s->places);
    if (s->contexts)
        cs_session_contexts_refresh(s->contexts);
    if (s->chains)
        cs_session_chains_wants(s->chains);
    if (s->waits)
        cs_session_waits_take(s->waits);
    uint64_t line = s->events.driver->begin_drain(s->events.state, how);
    uint64_t settled = line + CS_RING_SETTLE_NS, now = cs_monotonic_ns();
    if (how != CS_DRIVER_DRAIN_LAST && now < settled) { /* records before the line must have become visible */
        struct timespec rest = {0, (long)(settled - now)};
        nanosleep(&rest, NULL);
    }
    int rc = cs_session_take_records(s, how == CS_DRIVER_DRAIN_LAST ? UINT64_MAX : line, err);
    if (rc < 0)
        return rc;
    make_up_for_lost(s, how, line);
    cs_maps_note_lasting(s->places.maps, line);
    tell_conflicts(s, how);
    cs_session_places_meet(&s->places);
    if (s->chains) /* again, up to the line: the name of a function comes before it is placed, with who called it */
        cs_session_chains_wants(s->chains);
    rc = s->events.driver->drain(s->events.state, how, place, s, err);
    tell_filtered(s, how);
    tell_interpreters(s, how);
    if (s->chains)
        cs_session_chains_feed(s->chains, line);
    if (s->copies) /* waits have chains, always */
        place_copied(s, how, line);
    s->drained_ns = cs_monotonic_ns();
    cs_held_rows_emit(&s->held, how == CS_DRIVER_DRAIN_LAST ? UINT64_MAX : s->drained_ns - s->keep_ns,
                      place_parts, s);
    cs_session_rate_amortise(&s->rate, s->places.kernel_read_seconds);
    s->places.kernel_read_seconds = 0;
    /* What ended before the previous drain's line can't be asked about any more. */
    cs_maps_expire(s->places.maps, s->horizon_ns);
    cs_generations_expire(s->generations, s->horizon_ns);
    s->horizon_ns = s->events.driver->oldest(s->events.state);
    if (cs_held_rows_oldest(&s->held) < s->horizon_ns)
        s->horizon_ns = cs_held_rows_oldest(&s->held);
    if (s->copies && cs_stack_copies_oldest(s->copies) < s->horizon_ns)
        s->horizon_ns = cs_stack_copies_oldest(s->copies);
    if (s->waits && cs_session_waits_oldest(s->waits) < s->horizon_ns)
        s->horizon_ns = cs_session_waits_oldest(s->waits);
    return rc;
}
