/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Adds up products of numbers of the size that it is given: of 1e-39 all are denormal.
 *
 *     denormals SECONDS SIZE */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { NUMBERS = 2048 };
static float sums[NUMBERS], terms[NUMBERS];

static __attribute__((noipa)) void fade(float keep)
{
    for (int i = 0; i < NUMBERS; i++)
        sums[i] = sums[i] * keep + terms[i] * 0.25f;
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    const clock_t end = clock() + (clock_t)(atof(argv[1]) * CLOCKS_PER_SEC);
    for (int i = 0; i < NUMBERS; i++)
        sums[i] = terms[i] = strtof(argv[2], NULL);
    while (clock() < end)
        for (int k = 0; k < 200; k++)
            fade(0.75f);
    printf("%g\n", (double)sums[0]);
    return 0;
}
