/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Damerau's distance in its simple form (no letter is touched twice), by dynamic programming over three rows. */
#include "cli/command/resembling.h"

#include <string.h>

#define LETTERS_MAX 40

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

unsigned word_distance(const char *a, const char *b)
{
    unsigned rows[3][LETTERS_MAX + 1];
    size_t n = strlen(a), m = strlen(b);
    if (n > LETTERS_MAX || m > LETTERS_MAX)
        return LETTERS_MAX;
    for (unsigned j = 0; j <= m; j++)
        rows[0][j] = j;
    for (unsigned i = 1; i <= n; i++) {
        unsigned *row = rows[i % 3], *above = rows[(i + 2) % 3], *before = rows[(i + 1) % 3];
        row[0] = i;
        for (unsigned j = 1; j <= m; j++) {
            row[j] = least(least(above[j] + 1, row[j - 1] + 1), above[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = least(row[j], before[j - 2] + 1);
        }
    }
    return rows[n % 3][m];
}

void resembling_try(struct resembling *r, const char *known)
{
    size_t n = strlen(r->word);
    unsigned distance = word_distance(r->word, known);
    /* The beginning of a word counts as one letter off. */
    if (n >= 2 && strncmp(r->word, known, n) == 0)
        distance = least(distance, 1);
    if (distance <= (n > 4 ? 2u : 1u) && (!r->nearest || distance < r->distance)) {
        r->nearest = known;
        r->distance = distance;
    }
}
