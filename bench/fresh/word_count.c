/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counts words in a chained hash table of a million words. Variant: a table of 256 words. */
#include "../kernels/kernel.h"

struct word {
    struct word *next;
    uint64_t hash;
    char text[24];
    uint32_t length, seen;
};

struct index {
    struct word **buckets, *words;
    uint32_t *input;
    uint64_t mask, at, inputs;
};

static HOT uint64_t count_words(void *argument)
{
    struct index *x = argument;
    uint64_t at = x->at;
    for (unsigned n = 0; n < ITERATIONS_A_CALL; n++) {
        uint64_t hash = (x->input[at] + 1) * 0x9e3779b97f4a7c15u;
        struct word *w = x->buckets[hash >> 32 & x->mask];
        while (w && w->hash != hash)
            w = w->next;
        if (w)
            w->seen++;
        at = at + 1 == x->inputs ? 0 : at + 1;
    }
    x->at = at;
    return ITERATIONS_A_CALL;
}

int main(int argc, char **argv)
{
    uint64_t words = variant(argc, argv) ? 256 : 1 << 20, seed = 99;
    struct index x = {.mask = 2 * words - 1, .inputs = 1 << 18};
    x.buckets = memory(2 * words * sizeof *x.buckets, 0);
    memset(x.buckets, 0, 2 * words * sizeof *x.buckets);
    x.words = memory(words * sizeof *x.words, 0);
    x.input = memory(x.inputs * sizeof *x.input, 0);
    for (uint32_t i = 0; i < words; i++) {
        struct word *w = &x.words[i];
        w->hash = (i + 1) * 0x9e3779b97f4a7c15u;
        struct word **bucket = &x.buckets[w->hash >> 32 & x.mask];
        w->next = *bucket;
        *bucket = w;
        w->length = (uint32_t)snprintf(w->text, sizeof w->text, "word%u", i);
    }
    for (uint64_t i = 0; i < x.inputs; i++)
        x.input[i] = (uint32_t)(next_random(&seed) % words);
    return run_kernel("word_count", argc, argv, count_words, &x);
}
