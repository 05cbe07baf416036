/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What can a guard see? Each question gets a map of 33 MB of zeros from calloc and marks the fields along
 * eight lines. Variant 1: the map stays, and the marks are wiped off again. */
#include "../kernels/kernel.h"

enum { ROWS = 4096, COLUMNS = 4224, LINES = 8, STEPS = 500 };

struct guard {
    uint16_t *kept;
    uint64_t seen;
    uint32_t question;
};

HOT static uint64_t mark_lines(uint16_t *map, uint32_t start, int wipe)
{
    uint64_t seen = 0;
    for (uint32_t line = 0; line < LINES; line++) {
        uint32_t row = line % 2 * 1024 + start % 1000 * 2, column = 600 * 8 * (line + 1) % 3000;
        for (uint32_t step = 0; step < STEPS; step++, row += 1, column += line % 2) {
            uint16_t *field = &map[row * COLUMNS + column];
            seen += *field;
            *field = wipe ? 0 : (uint16_t)(line + 1);
        }
    }
    return seen;
}

static uint64_t turn(void *argument)
{
    struct guard *g = argument;
    uint32_t start = g->question++ * 7919;
    uint16_t *map = g->kept ? g->kept : calloc(ROWS * COLUMNS, sizeof *map);
    if (!map)
        exit(1);
    g->seen += mark_lines(map, start, 0);
    if (g->kept)
        mark_lines(map, start, 1);
    else
        free(map);
    return LINES * STEPS;
}

int main(int argc, char **argv)
{
    static struct guard g;
    if (variant(argc, argv)) {
        g.kept = memory(ROWS * COLUMNS * sizeof *g.kept, 0);
        memset(g.kept, 0, ROWS * COLUMNS * sizeof *g.kept);
    }
    int status = run_kernel("sight_lines", argc, argv, turn, &g);
    printf("result=%llu\n", (unsigned long long)g.seen);
    return status;
}
