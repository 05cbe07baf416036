/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Adds up the vectors of the words of a text: a row of 64 bytes each, out of 128 MB on huge pages. Variant 1: words whose
 * rows are among the first 256, with the same numbers in them. */
#include "../kernels/kernel.h"

enum { WORDS = 1 << 21, COMMON = 256, PARTS = 16, TEXT = 50000 };

struct model {
    int32_t (*rows)[PARTS];
    uint32_t text[TEXT];
    int32_t meaning[PARTS];
};

HOT static void add_words(int32_t *to, int32_t (*rows)[PARTS], const uint32_t *text)
{
    for (int i = 0; i < TEXT; i++) {
        const int32_t *row = rows[text[i]];
        for (int k = 0; k < PARTS; k++)
            to[k] += row[k];
    }
}

static uint64_t turn(void *argument)
{
    struct model *m = argument;
    add_words(m->meaning, m->rows, m->text);
    return TEXT;
}

int main(int argc, char **argv)
{
    static struct model m;
    uint64_t seed = 3202034522624059733u;
    int64_t sum = 0;
    m.rows = memory(sizeof *m.rows * WORDS, 1);
    for (int i = 0; i < WORDS; i++)
        for (int k = 0; k < PARTS; k++)
            m.rows[i][k] = (i % COMMON * 31 + k * 17) % 61 - 30;
    for (int i = 0; i < TEXT; i++)
        m.text[i] =
            (uint32_t)(next_random(&seed) >> 30) % (uint32_t)WORDS % (variant(argc, argv) ? COMMON : WORDS);
    int status = run_kernel("word_vectors", argc, argv, turn, &m);
    for (int k = 0; k < PARTS; k++)
        sum += m.meaning[k];
    printf("result=%lld\n", (long long)sum);
    return status;
}
