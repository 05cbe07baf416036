/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Triggers are rare, so only the latest counts: an older one is a thread that has long gone on.
 *
 * Timers of either period are opened at the start, and those of the longer one count nothing at first. The kernel
 * doesn't change a period in threads that have inherited the timer. But there, too, it enables and closes them. */
#include "sampler/burst/triggers.h"
#include "sampler/perf/timer_rings.h"

#include <assert.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

struct cs_burst_triggers {
    struct cs_timer_rings *now, *later;
};

int cs_burst_triggers_open(enum cs_sampler_target target, pid_t pid, const struct cs_process_filter *filter,
                           double period_s, double later_s, struct cs_burst_triggers **out,
                           struct cs_error *err)
{
    assert(period_s > 0);
    uint64_t period_ns = (uint64_t)(period_s * 1e9) | 1, later_ns = (uint64_t)(later_s * 1e9) | 1;
    struct perf_event_attr attr = {.sample_type = PERF_SAMPLE_TID, .wakeup_events = 1};
    struct cs_burst_triggers *triggers = calloc(1, sizeof *triggers);
    *out = NULL;
    if (!triggers)
        return cs_fail(err, ENOMEM, "out of memory for the timers of bursts");
    int rc = cs_timer_rings_open(target, pid, filter, period_ns, &attr, 2, "bursts", &triggers->now, err);
    attr.disabled = 1;
    if (!rc && later_ns > period_ns)
        rc = cs_timer_rings_open(target, pid, filter, later_ns, &attr, 2, "bursts", &triggers->later, err);
    if (rc)
        cs_burst_triggers_close(triggers);
    else
        *out = triggers;
    return rc;
}

void cs_burst_triggers_slow_down(struct cs_burst_triggers *triggers)
{
    if (!triggers->later)
        return;
    cs_timer_rings_enable(triggers->later);
    cs_timer_rings_close(triggers->now);
    triggers->now = triggers->later;
    triggers->later = NULL;
}

void cs_burst_triggers_close(struct cs_burst_triggers *triggers)
{
    if (!triggers)
        return;
    cs_timer_rings_close(triggers->now);
    cs_timer_rings_close(triggers->later);
    free(triggers);
}

int cs_burst_triggers_wait(struct cs_burst_triggers *triggers, int wake_fd, int timeout_ms,
                           struct cs_burst_trigger *trigger)
{
    int found = 0;
    if (!cs_timer_rings_wait(triggers->now, wake_fd, timeout_ms))
        return 0;
    for (int i = 0; i < triggers->now->n_cpus; i++) {
        struct cs_ring *ring = &triggers->now->rings[i];
        const struct perf_event_header *header;
        if (!ring->page)
            continue;
        cs_ring_snapshot(ring);
        while ((header = cs_ring_next(ring)) != NULL)
            if (header->type == PERF_RECORD_SAMPLE && header->size >= sizeof *header + 8) {
                uint32_t ids[2];
                memcpy(ids, header + 1, sizeof ids);
                trigger->pid = (pid_t)ids[0];
                trigger->tid = (pid_t)ids[1];
                found++;
            }
        cs_ring_release(ring);
    }
    return found;
}
