/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Searches text by a table of how far the pattern may move for a letter: where the next letter is read depends on
 * the letter before. Variant: four parts of the text at a time. */
#include "../kernels/kernel.h"

enum { PART = 4000, MOVES = 256 };

struct search {
    uint8_t text[4 * PART + 64], move[256];
    uint64_t sum;
};

static HOT uint64_t find(void *argument)
{
    struct search *s = argument;
    uint64_t sum = 0;
    for (unsigned turn = 0; turn < 16; turn++)
        for (unsigned part = 0; part < 4; part++) {
            uint64_t at = part * PART;
            for (unsigned i = 0; i < MOVES; i++)
                at += s->move[s->text[at]];
            sum += at;
        }
    s->sum += sum;
    return 16 * 4 * MOVES;
}

static HOT uint64_t find_four(void *argument)
{
    struct search *s = argument;
    uint64_t sum = 0;
    for (unsigned turn = 0; turn < 16; turn++) {
        uint64_t a = 0, b = PART, c = 2 * PART, d = 3 * PART;
        for (unsigned i = 0; i < MOVES; i++)
            a += s->move[s->text[a]], b += s->move[s->text[b]], c += s->move[s->text[c]],
                d += s->move[s->text[d]];
        sum += a + b + c + d;
    }
    s->sum += sum;
    return 16 * 4 * MOVES;
}

int main(int argc, char **argv)
{
    static struct search s;
    uint64_t seed = 4124;
    for (unsigned i = 0; i < sizeof s.text; i++)
        s.text[i] = (uint8_t)('a' + (next_random(&seed) >> 20) % 26);
    for (unsigned i = 0; i < 256; i++)
        s.move[i] = (uint8_t)(1 + i * 7 % 15);
    return run_kernel("horspool", argc, argv, variant(argc, argv) ? find_four : find, &s);
}
