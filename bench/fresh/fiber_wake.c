/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A scheduler looks at its fibers in the order of their priorities: which of them may run? Each has its state at the
 * top of its stack, of which there is one every 64 KB. Variant 1: the states lie one behind the other, each in a line of
 * its own, in a huge page. */
#include "../kernels/kernel.h"

enum { FIBERS = 6144, STACK = 1 << 16, LINE = 64 };

struct scheduler {
    uint8_t *stacks;
    uint32_t *state_at;
    volatile uint64_t ready;
};

HOT static uint64_t count_ready(const struct scheduler *s)
{
    uint64_t ready = 0;
    for (size_t i = 0; i < FIBERS; i++)
        ready += *(const uint32_t *)(s->stacks + s->state_at[i]);
    return ready;
}

static uint64_t turn(void *argument)
{
    struct scheduler *s = argument;
    s->ready += count_ready(s);
    return FIBERS;
}

static uint8_t *reserve(size_t bytes)
{
    uint8_t *p =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED || madvise(p, bytes, MADV_NOHUGEPAGE))
        exit(1);
    return p;
}

int main(int argc, char **argv)
{
    uint64_t seed = 1181783497276652981u;
    int packed = variant(argc, argv);
    struct scheduler s = {packed ? memory(FIBERS * LINE, 1) : reserve((size_t)FIBERS * STACK),
                          memory(FIBERS * sizeof(uint32_t), 0), 0};
    for (uint32_t i = 0; i < FIBERS; i++)
        s.state_at[i] = packed ? i * LINE : i * STACK + (i * 37 + i / 64) % 64 * LINE;
    for (size_t i = FIBERS - 1; i > 0; i--) {
        size_t k = (next_random(&seed) >> 20) % (i + 1);
        uint32_t other = s.state_at[k];
        s.state_at[k] = s.state_at[i], s.state_at[i] = other;
    }
    for (size_t i = 0; i < FIBERS; i++)
        *(uint32_t *)(s.stacks + s.state_at[i]) = i % 3 == 0;
    return run_kernel("fiber_wake", argc, argv, turn, &s);
}
