/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A database walks its 8,000 buffers in the order of their last use and asks each header how far its log was
 * written. A buffer is a header of 64 bytes and a page of 4 KB. Variant 1: the headers are an array. */
#include "../kernels/kernel.h"

enum { BUFFERS = 8000, HEADER = 64, PAGE = 4096 };

struct header {
    uint64_t written, pins;
};

struct pool {
    uint8_t *buffers;
    uint32_t order[BUFFERS];
    uint64_t sum;
};

HOT static uint64_t behind(const uint8_t *buffers, const uint32_t *order, uint64_t checkpoint)
{
    uint64_t sum = 0;
    for (int i = 0; i < BUFFERS; i++) {
        const struct header *h = (const struct header *)(buffers + order[i]);
        sum += (h->written < checkpoint) + h->pins;
    }
    return sum;
}

static uint64_t turn(void *argument)
{
    struct pool *p = argument;
    p->sum += behind(p->buffers, p->order, 1u << 31);
    return BUFFERS;
}

int main(int argc, char **argv)
{
    static struct pool p;
    uint64_t seed = 7046029254386353131u;
    uint32_t apart = HEADER + (variant(argc, argv) ? 0 : PAGE);
    p.buffers = memory(BUFFERS * (size_t)apart, 0);
    for (uint32_t i = 0; i < BUFFERS; i++) {
        uint32_t at = (uint32_t)(next_random(&seed) >> 20) % (i + 1);
        p.order[i] = p.order[at];
        p.order[at] = i * apart;
        *(struct header *)(p.buffers + i * (size_t)apart) = (struct header){next_random(&seed) >> 32, i % 3};
    }
    int status = run_kernel("dirty_pages", argc, argv, turn, &p);
    printf("result=%llu\n", (unsigned long long)p.sum);
    return status;
}
