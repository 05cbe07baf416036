/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Packs two halves by two narrow stores and reads them back as one word at once: the load needs both stores,
 * forwarding fails. Variant: one wide store. */
#include "kernel.h"

struct box {
    union {
        uint32_t half[2];
        uint64_t whole;
    } slots[64];
    uint64_t sum;
};

static HOT uint64_t pack(void *argument)
{
    volatile struct box *box = argument;
    uint64_t x = box->sum;
    for (unsigned i = 0; i < ITERATIONS_A_CALL; i++) {
        box->slots[i & 63].half[0] = (uint32_t)x;
        box->slots[i & 63].half[1] = (uint32_t)i;
        x += box->slots[i & 63].whole;
    }
    box->sum = x;
    return ITERATIONS_A_CALL;
}

static HOT uint64_t pack_wide(void *argument)
{
    volatile struct box *box = argument;
    uint64_t x = box->sum;
    for (unsigned i = 0; i < ITERATIONS_A_CALL; i++) {
        box->slots[i & 63].whole = (uint64_t)i << 32 | (uint32_t)x;
        x += box->slots[i & 63].whole;
    }
    box->sum = x;
    return ITERATIONS_A_CALL;
}

int main(int argc, char **argv)
{
    static struct box box;
    return run_kernel("forward_fail", argc, argv, variant(argc, argv) ? pack_wide : pack, &box);
}
