/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sweep of a garbage collector: cells that the marking didn't reach go to the free list, the others are added up.
 * Every second cell lives, in no order. Variant 1: all that live are together in each block of 1,024 cells. */
#include "../kernels/kernel.h"

enum { CELLS = 4096, BLOCK = 1024, MARKINGS = 32 };

struct cell {
    struct cell *next;
    uint64_t size;
};

struct heap {
    struct cell cells[CELLS], *free;
    uint8_t marks[MARKINGS][CELLS];
    uint64_t live, collections;
};

HOT static uint64_t sweep(struct cell *cells, const uint8_t *marks, struct cell **first)
{
    struct cell *free = NULL;
    uint64_t live = 0;
    for (int i = 0; i < CELLS; i++)
        if (marks[i])
            live += cells[i].size;
        else {
            cells[i].next = free;
            free = &cells[i];
        }
    *first = free;
    return live;
}

static uint64_t turn(void *argument)
{
    struct heap *h = argument;
    h->live += sweep(h->cells, h->marks[h->collections++ % MARKINGS], &h->free);
    return CELLS;
}

int main(int argc, char **argv)
{
    static struct heap h;
    uint64_t seed = 1442695040888963407u;
    int together = variant(argc, argv);
    for (int i = 0; i < CELLS; i++)
        h.cells[i].size = 16;
    for (int m = 0; m < MARKINGS; m++)
        for (int first = 0; first < CELLS; first += BLOCK)
            for (int left = BLOCK / 2, i = 0; i < BLOCK; i++) {
                int lives = together ? i < BLOCK / 2 : (int)(next_random(&seed) >> 33) % (BLOCK - i) < left;
                h.marks[m][first + i] = (uint8_t)lives;
                left -= lives;
            }
    int status = run_kernel("sweep_heap", argc, argv, turn, &h);
    printf("result=%llu\n", (unsigned long long)h.live);
    return status;
}
