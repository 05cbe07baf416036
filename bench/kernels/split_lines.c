/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Packed records of 64 bytes whose word lies across two lines: every update crosses. Variant: shifted so that
 * none does. */
#include "kernel.h"

static HOT uint64_t update_records(void *argument)
{
    char *base = argument;
    for (unsigned turn = 0; turn < 400; turn++)
        for (unsigned i = 0; i < 256; i++) {
            volatile uint64_t *word = (volatile uint64_t *)(base + (size_t)i * 64);
            *word = i + turn;
        }
    return 400 * 256;
}

int main(int argc, char **argv)
{
    char *base = memory(1 << 20, 1);
    return run_kernel("split_lines", argc, argv, update_records, base + 64 + (variant(argc, argv) ? 0 : 60));
}
