/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A post office puts letters into 32 million boxes, 128 MB on huge pages: 64 letters for a street of 4 KB in no order, then another
 * street. No box is looked into. Variant 1: all letters are for the first four streets. */
#define DEFAULT_SECONDS 6
#include "../kernels/kernel.h"

enum { BOXES = 1 << 25, STREET = 1024, LETTERS = 1 << 21, PART = 1 << 17, FOR_A_STREET = 64 };

struct post {
    uint32_t *boxes, *addresses;
    size_t next;
};

HOT static void deliver(uint32_t *boxes, const uint32_t *addresses)
{
    for (int i = 0; i < PART; i++)
        boxes[addresses[i]] = addresses[i] ^ 0xface;
}

static uint64_t turn(void *argument)
{
    struct post *p = argument;
    deliver(p->boxes, p->addresses + p->next);
    p->next = (p->next + PART) % LETTERS;
    return PART;
}

int main(int argc, char **argv)
{
    static struct post p;
    uint64_t seed = 5915587277591558727u, sum = 0;
    p.boxes = memory(BOXES * sizeof *p.boxes, 1);
    p.addresses = memory(LETTERS * sizeof *p.addresses, 1);
    for (uint32_t i = 0; i < BOXES; i++)
        p.boxes[i] = i ^ 0xface;
    for (uint32_t i = 0; i < LETTERS; i++) {
        uint32_t street = i / FOR_A_STREET * 2654435769u % (BOXES / STREET);
        uint32_t box = street * STREET + (uint32_t)(next_random(&seed) >> 54);
        p.addresses[i] = variant(argc, argv) ? box % (4 * STREET) : box;
    }
    int status = run_kernel("mail_sort", argc, argv, turn, &p);
    for (uint64_t i = 0; i < BOXES; i++)
        sum += i * p.boxes[i];
    printf("result=%llu\n", (unsigned long long)sum);
    return status;
}
