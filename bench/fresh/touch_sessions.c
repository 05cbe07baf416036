/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stamps a million connections in order, one field in each structure of 192 bytes. Variant: the stamps of all lie
 * in an array of their own. */
#include "../kernels/kernel.h"

#define CONNECTIONS (1u << 20)

struct connections {
    char *bytes;
    size_t size;
    uint64_t now;
    unsigned at;
};

static HOT uint64_t stamp(void *argument)
{
    struct connections *c = argument;
    size_t size = c->size;
    char *at = c->bytes + c->at * size, *end = at + (1 << 15) * size;
    for (uint64_t now = c->now; at < end; at += size)
        *(volatile uint64_t *)at = now++;
    c->now += 1 << 15;
    c->at = (c->at + (1 << 15)) % CONNECTIONS;
    return 1 << 15;
}

int main(int argc, char **argv)
{
    struct connections c = {NULL, variant(argc, argv) ? 8 : 192, 0, 0};
    c.bytes = memory(CONNECTIONS * c.size, 1);
    return run_kernel("touch_sessions", argc, argv, stamp, &c);
}
