/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Events by libpfm4 name, and perf_event_open with a sentence for each of its many refusals. */
#include "sampler/perf/events.h"
#include "sampler/perf/event_names.h"
#include "store/base/kernel_files.h"
#include "store/base/text.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <perfmon/pfmlib_perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PARANOID "/proc/sys/kernel/perf_event_paranoid"

uint64_t cs_event_rate_limit(void)
{
    long limit = cs_kernel_number(0, "/proc/sys/kernel/perf_event_max_sample_rate");
    return limit > 0 ? (uint64_t)limit : UINT64_MAX;
}

/* The kernel lowers its limit by itself where interrupts take long, and refuses a rate above it. */
static int open_event(const struct perf_event_attr *attr, pid_t pid, int cpu)
{
    struct perf_event_attr copy = *attr; /* the kernel writes attr.size on E2BIG */
    int fd = (int)syscall(SYS_perf_event_open, &copy, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
    if (fd >= 0 || errno != EINVAL || !attr->freq)
        return fd;
    uint64_t limit = cs_event_rate_limit();
    errno = EINVAL;
    if (attr->sample_freq <= limit)
        return -1;
    copy.sample_freq = limit;
    return (int)syscall(SYS_perf_event_open, &copy, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

bool cs_event_is_clock(const struct cs_event *event)
{
    return event->attr.type == PERF_TYPE_SOFTWARE &&
           (event->attr.config == PERF_COUNT_SW_CPU_CLOCK || event->attr.config == PERF_COUNT_SW_TASK_CLOCK);
}

/* Of those of the kernel and of this machine's processors, as libpfm4 lists them. */
static struct cs_did_you_mean event_meant(const char *name)
{
    struct cs_resembling r = {.word = name};
    for (pfm_pmu_t unit = PFM_PMU_NONE; unit < PFM_PMU_MAX; unit++) {
        pfm_pmu_info_t about = {.size = sizeof about};
        if (pfm_get_pmu_info(unit, &about) != PFM_SUCCESS || !about.is_present)
            continue;
        for (int i = about.first_event; i != -1; i = pfm_get_event_next(i)) {
            pfm_event_info_t event = {.size = sizeof event};
            char lower[64];
            size_t n = 0;
            if (pfm_get_event_info(i, PFM_OS_PERF_EVENT, &event) != PFM_SUCCESS)
                continue;
            for (; event.name[n] && n + 1 < sizeof lower; n++) /* any case does */
                lower[n] = (char)tolower((unsigned char)event.name[n]);
            lower[n] = '\0';
            cs_resembling_try(&r, lower);
        }
    }
    return cs_did_you_mean(&r);
}

int cs_event_parse(const char *name, struct cs_event *out, struct cs_error *err)
{
    assert(name && out);
    memset(out, 0, sizeof *out);
    if (strlen(name) >= sizeof out->name)
        return cs_fail(err, EINVAL, "event name %.40s... is longer than %zu characters", name,
                       sizeof out->name - 1);
    int rc = cs_event_encode(name, &out->attr, &out->any_thread);
    if (rc != PFM_SUCCESS)
        return cs_fail(err, EINVAL,
                       "event %s: %s; `cyclescope doctor --events` lists those that this machine has%s", name,
                       rc == PFM_ERR_NOTFOUND ? "not known to libpfm4 for this machine" : pfm_strerror(rc),
                       event_meant(name).text);
    out->attr.size = sizeof out->attr;
    out->attr.sample_period = 0;
    out->attr.freq = 0;
    out->attr.disabled = 1;
    snprintf(out->name, sizeof out->name, "%s", name);
    const bool cycles =
        out->attr.type == PERF_TYPE_HARDWARE &&
        (out->attr.config == PERF_COUNT_HW_CPU_CYCLES || out->attr.config == PERF_COUNT_HW_REF_CPU_CYCLES);
    snprintf(out->unit, sizeof out->unit, "%s",
             cs_event_is_clock(out)                                                ? "ns"
             : cycles || strcasestr(name, "cycles") || strcasestr(name, "cpu_clk") ? "cycles"
                                                                                   : "events");
    return 0;
}

int cs_event_default(struct cs_event *out, char *why, size_t size, struct cs_error *err)
{
    why[0] = '\0';
    if (cs_event_parse("cycles", out, err) == 0) {
        out->attr.exclude_kernel = 1; /* the probe only: what anyone may open */
        int fd = open_event(&out->attr, 0, -1);
        int code = errno;
        out->attr.exclude_kernel = 0;
        if (fd >= 0) {
            close(fd);
            return 0;
        }
        snprintf(why, size, "no hardware cycles here (%s): sampling cpu-clock, a timer, instead",
                 code == ENOENT || code == EOPNOTSUPP ? "this machine shows no PMU"
                 : code == EBUSY                      ? "the counters are held by somebody else"
                                                      : strerror(code));
    } else {
        snprintf(why, size, "no hardware cycles here: sampling cpu-clock, a timer, instead");
    }
    return cs_event_parse("cpu-clock", out, err);
}

int cs_event_open(const struct cs_event *event, pid_t pid, int cpu, struct cs_error *err)
{
    int fd = open_event(&event->attr, pid, cpu);
    if (fd >= 0)
        return fd;
    switch (errno) {
    case EACCES:
    case EPERM:
        if (pid == -1)
            return cs_fail(err, errno,
                           "all processes of the machine may be sampled with root or CAP_PERFMON only "
                           "(perf_event_paranoid is %d); your own: -p PID or -- COMMAND",
                           (int)cs_kernel_number(2, PARANOID));
        return cs_fail(err, errno,
                       "process %d may not be sampled by you: it belongs to somebody else, or "
                       "perf_event_paranoid (%d) forbids it",
                       (int)pid, (int)cs_kernel_number(2, PARANOID));
    case ESRCH:
        return cs_fail(err, ESRCH, "there is no process %d", (int)pid);
    case ENOENT:
    case EOPNOTSUPP:
    case ENODEV:
        return cs_fail(err, errno,
                       "event %s: this machine can't count it%s; `cyclescope doctor` tells why, -e cpu-clock "
                       "works everywhere",
                       event->name, event->attr.precise_ip ? " precisely" : "");
    case EBUSY:
        return cs_fail(err, EBUSY,
                       "event %s: the counters are held by somebody else (another profiler, a watchdog)",
                       event->name);
    case EMFILE:
        return cs_fail(
            err, EMFILE,
            "too many open files for event %s on this many threads and CPUs: raise the limit (ulimit -n)",
            event->name);
    case EINVAL:
        return cs_fail(err, EINVAL, "event %s: the kernel refuses this combination of modifiers or period",
                       event->name);
    default:
        return cs_fail(err, errno, "event %s can't be opened: %s", event->name, strerror(errno));
    }
}
