/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counts the tenants of a service that have a feature. Each of 5,000 tenants has its settings on a page of its own, the
 * flags on a line somewhere in it. Variant 1: the flags of all are copied to lines that follow one another. */
#include "../kernels/kernel.h"

enum { TENANTS = 5000, PAGE = 4096, LINE = 64 };

struct service {
    const uint32_t *flags[TENANTS];
    uint64_t enabled;
};

HOT static uint64_t count(const uint32_t *const *flags, uint32_t feature)
{
    uint64_t n = 0;
    for (int i = 0; i < TENANTS; i++)
        n += *flags[i] >> feature & 1;
    return n;
}

static uint64_t turn(void *argument)
{
    struct service *s = argument;
    for (uint32_t i = 0; i < 10; i++)
        s->enabled += count(s->flags, i);
    return 10 * TENANTS;
}

int main(int argc, char **argv)
{
    static struct service s;
    uint64_t seed = 7046029254386353131u;
    char *pages = memory((size_t)TENANTS * PAGE, 0), *lines = memory((size_t)TENANTS * LINE, 0);
    for (size_t i = 0; i < TENANTS; i++) {
        uint32_t *flags =
            (uint32_t *)(variant(argc, argv) ? lines + i * LINE : pages + i * PAGE + i % 64 * LINE);
        *flags = (uint32_t)(i * 2654435761u) >> 7;
        s.flags[i] = flags;
    }
    for (size_t i = TENANTS - 1; i > 0; i--) {
        size_t other = (next_random(&seed) >> 20) % (i + 1);
        const uint32_t *t = s.flags[i];
        s.flags[i] = s.flags[other];
        s.flags[other] = t;
    }
    int status = run_kernel("tenant_flags", argc, argv, turn, &s);
    printf("result=%llu\n", (unsigned long long)s.enabled);
    return status;
}
