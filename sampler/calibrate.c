/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The cost of a sample: upper quartile over rounds of (gaps with the event − gaps without it) / samples; the
 * upper one, because what is asked for is that a budget holds. */
#include "sampler/calibrate.h"
#include "sampler/driver.h"

#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define ROUNDS 7
#define ROUND_NS 4000000ULL
#define RATE_HZ 5000U
#define GAP_NS 400ULL       /* two readings of the clock are closer than this */
#define STOLEN_NS 300000ULL /* longer gaps are the scheduler's */

/* Time lost in gaps, and the time it was lost from. */
static uint64_t gaps(uint64_t *ran_ns)
{
    uint64_t begin = cs_now_ns(), last = begin, lost = 0, stolen = 0;
    while (last - begin < ROUND_NS + stolen) {
        uint64_t now = cs_now_ns(), gap = now - last;
        if (gap >= STOLEN_NS)
            stolen += gap;
        else if (gap >= GAP_NS)
            lost += gap;
        last = now;
    }
    *ran_ns = last - begin - stolen;
    return lost;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

double cs_sample_cost(const struct cs_event *event)
{
    struct cs_event own = *event;
    struct cs_error err;
    double costs[ROUNDS];
    unsigned n = 0;
    bool clock = cs_event_is_clock(event);
    own.attr.inherit = 0;
    own.attr.enable_on_exec = 0;
    own.attr.freq = !clock;
    own.attr.sample_freq = clock ? 1000000000U / RATE_HZ : RATE_HZ; /* or, as a union, the period */
    own.attr.sample_type = PERF_SAMPLE_IP;
    own.attr.read_format = 0;
    int fd = cs_event_open(&own, 0, -1, &err);
    if (fd < 0)
        return 0;
    for (unsigned r = 0; r < ROUNDS; r++) {
        uint64_t without_ns, with_ns;
        double without = (double)gaps(&without_ns);
        if (ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) != 0)
            break;
        double with = (double)gaps(&with_ns);
        (void)ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
        double samples = (double)with_ns * 1e-9 * RATE_HZ;
        double cost = (with / (double)with_ns - without / (double)without_ns) * (double)with_ns / samples;
        if (cost > 0)
            costs[n++] = cost * 1e-9;
    }
    close(fd);
    if (n < ROUNDS / 2)
        return 0;
    qsort(costs, n, sizeof *costs, ascending);
    return costs[n * 3 / 4];
}
