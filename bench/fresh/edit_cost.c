/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How many edits make one word out of another (Levenshtein's table, row by row, without branches): each field needs the one
 * on its left. Variant 1: three pairs of words at a time. */
#include "../kernels/kernel.h"

enum { LENGTH = 48, PAIRS = 60 };

struct pair {
    char a[LENGTH], b[LENGTH];
};

struct speller {
    struct pair pairs[PAIRS];
    uint64_t sum;
    int at_once;
};

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

#define FIELD(ROW, LEFT, DIAGONAL, PAIR)                                                                     \
    do {                                                                                                     \
        uint32_t up = ROW[k], kept = DIAGONAL + (PAIR.a[i] != PAIR.b[k]);                                    \
        LEFT = least(least(LEFT, up) + 1, kept);                                                             \
        DIAGONAL = up;                                                                                       \
        ROW[k] = LEFT;                                                                                       \
    } while (0)

HOT static uint32_t edits(const struct pair *p)
{
    uint32_t row[LENGTH];
    for (uint32_t k = 0; k < LENGTH; k++)
        row[k] = k + 1;
    for (uint32_t i = 0; i < LENGTH; i++) {
        uint32_t left = i + 1, diagonal = i;
        for (int k = 0; k < LENGTH; k++)
            FIELD(row, left, diagonal, p[0]);
    }
    return row[LENGTH - 1];
}

HOT static uint32_t edits_of_three(const struct pair *p)
{
    uint32_t row[3][LENGTH];
    for (uint32_t k = 0; k < LENGTH; k++)
        row[0][k] = row[1][k] = row[2][k] = k + 1;
    for (uint32_t i = 0; i < LENGTH; i++) {
        uint32_t left0 = i + 1, left1 = i + 1, left2 = i + 1, diagonal0 = i, diagonal1 = i, diagonal2 = i;
        for (int k = 0; k < LENGTH; k++) {
            FIELD(row[0], left0, diagonal0, p[0]);
            FIELD(row[1], left1, diagonal1, p[1]);
            FIELD(row[2], left2, diagonal2, p[2]);
        }
    }
    return row[0][LENGTH - 1] + row[1][LENGTH - 1] + row[2][LENGTH - 1];
}

static uint64_t turn(void *argument)
{
    struct speller *s = argument;
    for (int i = 0; i < PAIRS; i += s->at_once)
        s->sum += s->at_once == 3 ? edits_of_three(&s->pairs[i]) : edits(&s->pairs[i]);
    return PAIRS * LENGTH * LENGTH;
}

int main(int argc, char **argv)
{
    static struct speller s;
    uint64_t seed = 3141592653589793239u;
    s.at_once = variant(argc, argv) ? 3 : 1;
    for (int i = 0; i < PAIRS * LENGTH; i++) {
        s.pairs[i / LENGTH].a[i % LENGTH] = (char)('a' + (next_random(&seed) >> 40) % 6);
        s.pairs[i / LENGTH].b[i % LENGTH] = (char)('a' + (next_random(&seed) >> 40) % 6);
    }
    int status = run_kernel("edit_cost", argc, argv, turn, &s);
    printf("result=%llu\n", (unsigned long long)s.sum);
    return status;
}
