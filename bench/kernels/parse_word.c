/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A field of eight characters is copied byte by byte, in lower case, and at once compared as one word: the
 * load needs eight stores. Variant: lower case by one operation on the whole word. */
#include "kernel.h"

struct fields {
    volatile char field[8];
    char text[4096 + 8];
    uint64_t found;
};

static HOT uint64_t match_fields(void *argument)
{
    struct fields *f = argument;
    uint64_t found = f->found;
    for (unsigned turn = 0; turn < 16; turn++)
        for (unsigned at = 0; at < 4096; at += 8) {
            for (unsigned i = 0; i < 8; i++)
                f->field[i] = f->text[at + i] | 32;
            found += *(volatile uint64_t *)f->field + turn;
        }
    f->found = found;
    return 16 * 512;
}

static HOT uint64_t match_words(void *argument)
{
    struct fields *f = argument;
    uint64_t found = f->found;
    for (unsigned turn = 0; turn < 16; turn++)
        for (unsigned at = 0; at < 4096; at += 8) {
            *(volatile uint64_t *)f->field = *(volatile uint64_t *)(f->text + at) | 0x2020202020202020;
            found += *(volatile uint64_t *)f->field + turn;
        }
    f->found = found;
    return 16 * 512;
}

int main(int argc, char **argv)
{
    static _Alignas(64) struct fields f;
    for (unsigned i = 0; i < 4096; i++)
        f.text[i] = (char)('A' + i % 26);
    return run_kernel("parse_word", argc, argv, variant(argc, argv) ? match_words : match_fields, &f);
}
