/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The key stream of an old radio's cipher: a shift register of 22 bits, each new bit out of two old ones. Variant 1: the
 * registers of four radios side by side. */
#include "../kernels/kernel.h"

enum { RADIOS = 4, BITS = 8192 };

struct net {
    uint32_t registers[RADIOS];
    int together;
    uint64_t ones;
};

static uint32_t shifted(uint32_t r)
{
    return (r >> 1) | ((r ^ r >> 1) & 1) << 21;
}

HOT static uint32_t stream(uint32_t *radio)
{
    uint32_t r = *radio, ones = 0;
    for (int i = 0; i < BITS; i++) {
        r = shifted(r);
        ones += r & 1;
    }
    *radio = r;
    return ones;
}

HOT static uint32_t streams(uint32_t *radios)
{
    uint32_t a = radios[0], b = radios[1], c = radios[2], d = radios[3], ones = 0;
    for (int i = 0; i < BITS; i++) {
        a = shifted(a);
        b = shifted(b);
        c = shifted(c);
        d = shifted(d);
        ones += (a & 1) + (b & 1) + (c & 1) + (d & 1);
    }
    radios[0] = a, radios[1] = b, radios[2] = c, radios[3] = d;
    return ones;
}

static uint64_t turn(void *argument)
{
    struct net *n = argument;
    if (n->together)
        n->ones += streams(n->registers);
    else
        for (int i = 0; i < RADIOS; i++)
            n->ones += stream(&n->registers[i]);
    return RADIOS * BITS;
}

int main(int argc, char **argv)
{
    static struct net n = {.registers = {0x2aaaaa, 0x155555, 0x3c3c3c, 0x0f1e2d}};
    n.together = variant(argc, argv);
    int status = run_kernel("lfsr_stream", argc, argv, turn, &n);
    printf("result=%llu\n", (unsigned long long)n.ones);
    return status;
}
