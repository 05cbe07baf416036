/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Text search with a deterministic automaton, as a tokeniser or an intrusion detector runs it: one table row a
 * state, one column a letter class. 64 K rows of 32 classes are 8 MB, in L3; each byte waits for the row of the byte before.
 * Variant 1: the same loop with 128 states, in L1. */
#include "../kernels/kernel.h"

enum { CLASSES = 32, TEXT = 1 << 16 };

struct scanner {
    uint32_t *next;
    uint8_t *text;
    uint32_t state;
    uint64_t matches;
};

HOT static void scan_text(struct scanner *s)
{
    uint32_t state = s->state;
    uint64_t matches = 0;
    const uint32_t *next = s->next;
    for (size_t i = 0; i < TEXT; i++) {
        state = next[state * CLASSES + (s->text[i] & (CLASSES - 1))];
        matches += state == 0;
    }
    s->state = state;
    s->matches += matches;
}

static uint64_t turn(void *argument)
{
    scan_text(argument);
    return TEXT;
}

int main(int argc, char **argv)
{
    uint64_t seed = 0x9E3779B97F4A7C15u;
    uint32_t states = variant(argc, argv) ? 128 : 1 << 16;
    struct scanner s = {.next = memory((size_t)states * CLASSES * 4, 1), .text = memory(TEXT, 1)};
    for (size_t i = 0; i < (size_t)states * CLASSES; i++)
        s.next[i] = (uint32_t)(next_random(&seed) >> 20) % states;
    for (size_t i = 0; i < TEXT; i++)
        s.text[i] = (uint8_t)(next_random(&seed) >> 30);
    return run_kernel("dfa_scan", argc, argv, turn, &s);
}
