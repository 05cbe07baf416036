/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A plant records 24 sensors, each in a ring of 16,384 readings: 128 KB, one behind the other. The alarm
 * adds up all sensors at each tick. Variant 1: 320 bytes between the rings. */
#include "../kernels/kernel.h"

enum { SENSORS = 24, TICKS = 16384, GAP = 320 };

struct plant {
    uint64_t *rings;
    size_t pitch;
    uint64_t alarms, sum;
};

HOT static void watch(struct plant *p)
{
    const uint64_t *rings = p->rings;
    size_t pitch = p->pitch;
    uint64_t alarms = 0, all = 0;
    for (int t = 0; t < TICKS; t++) {
        uint64_t sum = 0;
        const uint64_t *reading = rings + t;
        for (int s = 0; s < SENSORS; s++, reading += pitch)
            sum += *reading;
        alarms += sum > 24 * 990;
        all += sum;
    }
    p->alarms += alarms, p->sum += all;
}

static uint64_t turn(void *argument)
{
    watch(argument);
    return TICKS * (uint64_t)SENSORS;
}

int main(int argc, char **argv)
{
    static struct plant p;
    uint64_t seed = 4768777513237032717u;
    p.pitch = TICKS + (variant(argc, argv) ? GAP / sizeof(uint64_t) : 0);
    p.rings = memory(SENSORS * p.pitch * sizeof(uint64_t), 1);
    for (int s = 0; s < SENSORS; s++)
        for (int t = 0; t < TICKS; t++)
            p.rings[(size_t)s * p.pitch + (size_t)t] = (next_random(&seed) >> 30) % 1000;
    int status = run_kernel("sensor_rings", argc, argv, turn, &p);
    printf("result=%llu\n", (unsigned long long)(p.alarms + p.sum));
    return status;
}
