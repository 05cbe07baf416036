/* SPDX-License-Identifier: GPL-2.0-or-later */
/* CPUs that come and go while a session is open. The kernel takes the events of a CPU that goes away and doesn't
 * give them back when it returns. So they are closed, and others are opened on the CPU that came. What was
 * started there in between is looked for in /proc. */
#include "sampler/session/session.h"
#include "store/base/clock.h"

#include <string.h>

#define SIDEBAND_PAGES 64

static int open_on(struct cs_sampler *s, unsigned c, struct cs_error *err)
{
    size_t before = s->events.n_open;
    int rc = cs_sideband_follow(s->sideband, -1, c, SIDEBAND_PAGES, err);
    if (rc >= 0)
        rc = cs_session_events_open_on(&s->events, &s->config, c, err);
    if (rc >= 0) {
        int code = cs_session_events_enable(&s->events, before, s->events.n_open, true);
        rc = code < 0 ? cs_fail(err, -code, "an event can't be started: %s", strerror(-code)) : 0;
    }
    return rc;
}

static void close_on(struct cs_sampler *s, unsigned c)
{
    cs_session_events_close_on(&s->events, c);
    cs_sideband_unfollow(s->sideband, c);
}

void cs_session_hotplug(struct cs_sampler *s)
{
    bool of_threads = s->config.target != CS_TARGET_ALL && !s->events.filter, came = false;
    uint64_t now = cs_monotonic_ns();
    s->rate.budget.n_cpus = s->events.cpus.n_online;
    for (unsigned c = 0; c < s->events.cpus.n; c++) {
        struct cs_cpu *cpu = &s->events.cpus.cpu[c];
        struct cs_error err;
        if (cpu->gone && !of_threads) /* those of threads only rest */
            close_on(s, c);
        if (!cpu->online || cs_sideband_fd(s->sideband, c) >= 0)
            continue;
        if (of_threads) {
            cs_fail(&err, 0, "threads are followed on the CPUs that were there at the start");
        } else if (open_on(s, c, &err) == 0) {
            came = true;
            continue;
        } else {
            close_on(s, c);
            cpu->online = false; /* the next look tries again */
        }
        if (!s->hotplug_told)
            cs_session_remark(&s->config, "CPU %d came online and is not sampled: %s", cpu->number, err.text);
        s->hotplug_told = true;
    }
    if (came)
        cs_session_look_anew(s, now);
}
