/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two threads count the words and the bytes of their own texts. Their counters are neighbours in one array.
 * Variant 1: the second thread's counters stand 4 KB further. */
#include "pair.h"

enum { TEXT = 4096 };

struct counts {
    uint64_t words, bytes;
};

struct worker {
    volatile struct counts *counts;
    const char *text;
};

HOT static void count_tokens(const struct worker *w)
{
    for (const char *p = w->text; *p; p++) {
        w->counts->bytes++;
        if (*p == ' ')
            w->counts->words++;
    }
}

static uint64_t turn(void *argument)
{
    for (int i = 0; i < 4; i++)
        count_tokens(argument);
    return TEXT * 4;
}

int main(int argc, char **argv)
{
    volatile struct counts *all = memory(16384, 0);
    char *text = malloc(TEXT + 1);
    for (int i = 0; i < TEXT; i++)
        text[i] = i % 8 == 7 ? ' ' : 'a';
    text[TEXT] = 0;
    struct worker a = {all, text}, b = {all + (variant(argc, argv) ? 256 : 1), strdup(text)};
    return run_pair("token_counts", argc, argv, turn, &a, &b);
}
