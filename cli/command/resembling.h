/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which word was meant by one that isn't known. */
#ifndef CS_CLI_COMMAND_RESEMBLING_H
#define CS_CLI_COMMAND_RESEMBLING_H

/* How many letters must be changed, added, left out or swapped with their neighbour to make `b` of `a`. */
unsigned word_distance(const char *a, const char *b);

/* Keeps the nearest of the words shown to it. */
struct resembling {
    const char *word, *nearest; /* NULL: none is near enough */
    unsigned distance;
};
void resembling_try(struct resembling *r, const char *known);

#endif
