/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The 95th percentile of 4,000 latencies, by quickselect: each is smaller than the pivot or not, in no order. Variant 1: the
 * partition swaps always, and moves its border by the comparison. */
#include "../kernels/kernel.h"

enum { LATENCIES = 4000, RANK = LATENCIES * 95 / 100 };

struct service {
    uint32_t measured[LATENCIES], latencies[LATENCIES];
    int always;
    uint64_t sum;
};

HOT static int partition(uint32_t *a, int low, int high)
{
    uint32_t pivot = a[high];
    int border = low;
    for (int i = low; i < high; i++)
        if (a[i] < pivot) {
            uint32_t t = a[i];
            a[i] = a[border];
            a[border++] = t;
        }
    a[high] = a[border];
    a[border] = pivot;
    return border;
}

HOT static int partition_always(uint32_t *a, int low, int high)
{
    uint32_t pivot = a[high];
    int border = low;
    for (int i = low; i < high; i++) {
        uint32_t t = a[i];
        a[i] = a[border];
        a[border] = t;
        border += t < pivot;
    }
    a[high] = a[border];
    a[border] = pivot;
    return border;
}

static uint64_t turn(void *argument)
{
    struct service *s = argument;
    uint64_t visits = 0;
    memcpy(s->latencies, s->measured, sizeof s->measured);
    for (int low = 0, high = LATENCIES - 1; low < high;) {
        int border =
            s->always ? partition_always(s->latencies, low, high) : partition(s->latencies, low, high);
        visits += (uint64_t)(high - low);
        if (border < RANK)
            low = border + 1;
        else
            high = border == RANK ? low : border - 1;
    }
    s->sum += s->latencies[RANK];
    /* The next day is another one. */
    for (int i = 0; i < LATENCIES; i++)
        s->measured[i] = s->measured[i] * 1664525 + 1013904223;
    return visits;
}

int main(int argc, char **argv)
{
    static struct service s;
    uint64_t seed = 6364136223846793005u;
    for (int i = 0; i < LATENCIES; i++)
        s.measured[i] = (uint32_t)(next_random(&seed) >> 32);
    s.always = variant(argc, argv);
    int status = run_kernel("percentile", argc, argv, turn, &s);
    printf("result=%llu\n", (unsigned long long)s.sum);
    return status;
}
