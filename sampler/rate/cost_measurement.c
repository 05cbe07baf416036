/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The cost of a sample: a round spins half of its time without the event and half with it, in alternating
 * order. It takes the difference of what was lost in gaps. At a kHz, no faster: the rarer interrupts are
 * the more one costs. Measured on a virtual machine: 16 us at 5 kHz, 20 at 1 kHz, 23 at 70 Hz. */
#include "sampler/rate/cost_measurement.h"
#include "store/base/clock.h"

#include <assert.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define RATE_HZ 1000U
#define SAMPLES 10U /* of a round: half a period more than they need */
#define HALF_NS (1000000000ULL / RATE_HZ * SAMPLES + 500000000ULL / RATE_HZ)
#define GAP_NS 1000ULL      /* two readings of the clock are closer than this */
#define STOLEN_NS 100000ULL /* longer gaps are the scheduler's and the host's */

/* Share of the time that is lost in gaps. */
static double gaps(void)
{
    uint64_t begin = cs_monotonic_ns(), last = begin, lost = 0, stolen = 0;
    while (last - begin - stolen < HALF_NS) {
        uint64_t now = cs_monotonic_ns(), gap = now - last;
        if (gap >= STOLEN_NS)
            stolen += gap;
        else if (gap >= GAP_NS)
            lost += gap;
        last = now;
    }
    return (double)lost / (double)(last - begin - stolen + 1);
}

void cs_rate_cost_measure(struct cs_rate_cost *cost, const struct cs_event *event, unsigned rounds)
{
    assert(event);
    struct cs_event own = *event;
    struct cs_error err;
    bool clock = cs_event_is_clock(event);
    own.attr.inherit = 0;
    own.attr.enable_on_exec = 0;
    own.attr.freq = !clock;
    own.attr.sample_freq = clock ? 1000000000U / RATE_HZ : RATE_HZ; /* or, as a union, the period */
    own.attr.sample_type = PERF_SAMPLE_IP;
    own.attr.read_format = 0;
    int fd = cs_event_open(&own, 0, -1, &err);
    if (fd < 0)
        return;
    for (unsigned r = 0; r < rounds; r++) {
        double lost[2];
        for (unsigned half = 0; half < 2; half++) {
            bool on = (half ^ r) & 1;
            if (on && ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) != 0)
                goto out;
            lost[on] = gaps();
            if (on)
                (void)ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
        }
        cs_rate_cost_add(cost, (lost[1] - lost[0]) * (double)(uint64_t)(HALF_NS)*1e-9 / SAMPLES);
    }
out:
    close(fd);
}
