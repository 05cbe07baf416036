/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sizes of nested boxes, as a document's layout computes them: each box asks the one inside for its size first, and a
 * row adds to it otherwise than a column does. The documents are 192 boxes deep. Variant 1: as many boxes, 16 deep. */
#include "../kernels/kernel.h"

enum { BOXES = 192, SHALLOW = 16, LAYOUTS = 64 };

struct box {
    const struct box *inner;
    uint32_t size;
    int row;
};

struct document {
    struct box box[BOXES];
    volatile uint64_t total;
};

HOT static uint64_t measure(const struct box *b)
{
    if (!b)
        return 0;
    if (b->row)
        return measure(b->inner) + b->size;
    uint64_t inner = measure(b->inner);
    return inner > b->size ? inner : b->size;
}

static uint64_t turn(void *argument)
{
    struct document *d = argument;
    for (int i = 0; i < LAYOUTS; i++)
        for (int b = 0; b < BOXES; b++)
            if (!b || !d->box[b - 1].inner)
                d->total += measure(&d->box[b]);
    return LAYOUTS * BOXES;
}

int main(int argc, char **argv)
{
    static struct document d;
    int deep = variant(argc, argv) ? SHALLOW : BOXES;
    for (int b = 0; b < BOXES; b++)
        d.box[b] = (struct box){(b + 1) % deep ? &d.box[b + 1] : NULL, 3, b % 3 != 0};
    return run_kernel("nested_list", argc, argv, turn, &d);
}
