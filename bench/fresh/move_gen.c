/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A chess program adds up what the squares are worth that a piece can reach: a loop over the bits of a word,
 * none to nine of which are set. Variant 1: the words are sorted by how many squares they have. */
#include "../kernels/kernel.h"

enum { BOARDS = 1 << 18 };

struct search {
    uint64_t reach[BOARDS], mobility;
    uint16_t worth[64];
};

HOT static uint64_t add_moves(const struct search *s)
{
    uint64_t sum = 0;
    for (int i = 0; i < BOARDS; i++)
        for (uint64_t squares = s->reach[i]; squares; squares &= squares - 1)
            sum += s->worth[__builtin_ctzll(squares)];
    return sum;
}

static uint64_t turn(void *argument)
{
    struct search *s = argument;
    s->mobility += add_moves(s);
    return BOARDS;
}

static int by_squares(const void *a, const void *b)
{
    return __builtin_popcountll(*(const uint64_t *)a) - __builtin_popcountll(*(const uint64_t *)b);
}

int main(int argc, char **argv)
{
    static struct search s;
    uint64_t seed = 1442695040888963407u;
    for (int i = 0; i < 64; i++)
        s.worth[i] = (uint16_t)(10 + (i % 8) * (7 - i % 8) + (i / 8) * (7 - i / 8));
    for (int i = 0; i < BOARDS; i++)
        for (uint64_t left = (next_random(&seed) >> 24) % 10; left; left--)
            s.reach[i] |= 1ull << (next_random(&seed) >> 32) % 64;
    if (variant(argc, argv))
        qsort(s.reach, BOARDS, sizeof s.reach[0], by_squares);
    int status = run_kernel("move_gen", argc, argv, turn, &s);
    printf("result=%llu\n", (unsigned long long)s.mobility);
    return status;
}
