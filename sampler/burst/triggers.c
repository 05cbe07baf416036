/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Triggers are rare, so only the latest counts: an older one is a thread that has long gone on. */
#include "sampler/burst/triggers.h"
#include "sampler/perf/timer_rings.h"

#include <assert.h>
#include <linux/perf_event.h>
#include <string.h>

int cs_burst_triggers_open(enum cs_sampler_target target, pid_t pid, const struct cs_process_filter *filter,
                           uint64_t period_ns, struct cs_timer_rings **out, struct cs_error *err)
{
    assert(period_ns > 0);
    const struct perf_event_attr attr = {.sample_type = PERF_SAMPLE_TID, .wakeup_events = 1};
    return cs_timer_rings_open(target, pid, filter, period_ns, &attr, 2, "bursts", out, err);
}

int cs_burst_triggers_wait(struct cs_timer_rings *triggers, int wake_fd, int timeout_ms,
                           struct cs_burst_trigger *trigger)
{
    int found = 0;
    if (!cs_timer_rings_wait(triggers, wake_fd, timeout_ms))
        return 0;
    for (int i = 0; i < triggers->n_cpus; i++) {
        struct cs_ring *ring = &triggers->rings[i];
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
