/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Documents that contain two words: the sorted lists of the documents of each are walked together. Variant 1: lists
 * as long, in which the gaps follow a short pattern. */
#include "../kernels/kernel.h"

enum { POSTINGS = 1 << 17 };

struct posting {
    uint32_t document, weight;
};

struct query {
    struct posting *first, *second;
    volatile uint64_t score;
};

HOT static uint64_t intersect(const struct posting *a, const struct posting *b)
{
    const struct posting *a_end = a + POSTINGS, *b_end = b + POSTINGS;
    uint64_t score = 0;
    while (a < a_end && b < b_end) {
        if (a->document < b->document) {
            a++;
        } else if (b->document < a->document) {
            b++;
        } else {
            score += (uint64_t)a->weight * b->weight;
            a++;
            b++;
        }
    }
    return score;
}

static uint64_t turn(void *argument)
{
    struct query *q = argument;
    q->score += intersect(q->first, q->second);
    return POSTINGS;
}

int main(int argc, char **argv)
{
    uint64_t seed = 521288629521288629u;
    int pattern = variant(argc, argv);
    size_t bytes = POSTINGS * sizeof(struct posting);
    struct query q = {memory(bytes, 0), memory(bytes, 0), 0};
    for (uint32_t i = 0, a = 0, b = 0; i < POSTINGS; i++) {
        a += pattern ? 2 + i % 2 : 1 + (uint32_t)(next_random(&seed) >> 40) % 4;
        b += pattern ? 2 + i % 2 : 1 + (uint32_t)(next_random(&seed) >> 40) % 4;
        q.first[i] = (struct posting){a, i % 5};
        q.second[i] = (struct posting){b + (uint32_t)pattern, i % 7};
    }
    return run_kernel("both_words", argc, argv, turn, &q);
}
