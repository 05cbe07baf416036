/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Scales pictures, blurs them, sums them up: thumbs SECONDS. -DMENDED: blurs in rows, not in columns. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define SIDE 2048
static float picture[SIDE][SIDE], blurred[SIDE][SIDE];

__attribute__((noinline)) static void blur(void)
{
#ifdef MENDED
    for (int y = 1; y < SIDE - 1; y += 16)
        for (int x = 1; x < SIDE - 1; x++)
            blurred[y][x] = (picture[y][x - 1] + picture[y][x + 1]) / 2;
#else
    for (int x = 1; x < SIDE - 1; x++)
        for (int y = 1; y < SIDE - 1; y++)
            blurred[y][x] = (picture[y - 1][x] + picture[y + 1][x]) / 2; /* GUILTY */
#endif
}

__attribute__((noinline)) static double contrast(void)
{
    double sum = 0;
    for (int y = 0; y < SIDE; y += 16)
        for (int x = 1; x < SIDE; x++)
            sum += blurred[y][x] / (1.5 + picture[y][x - 1]); /* GUILTY-MENDED */
    return sum;
}

int main(int argc, char **argv)
{
    double end = argc > 1 ? atof(argv[1]) : 2, sum = 0;
    for (int i = 0; i < SIDE * SIDE; i++)
        picture[i / SIDE][i % SIDE] = (float)(i % 97);
    while ((double)clock() / CLOCKS_PER_SEC < end) {
        blur();
        sum += contrast();
    }
    printf("%d\n", sum > 0);
    return 0;
}
