/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Prices a list of orders; the new version rounds in decimal, digit by digit: prices SECONDS. -DBEFORE: the version before. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define ORDERS 100000
static double amount[ORDERS], price[ORDERS];

__attribute__((noinline)) static double discount_all(void)
{
    double sum = 0;
    for (int i = 0; i < ORDERS; i++)
        sum += price[i] = amount[i] * (amount[i] > 500 ? 0.9 : 1) / (1 + amount[i] / 1e6);
    return sum;
}

__attribute__((noinline)) static void round_all(void)
{
    for (int i = 0; i < ORDERS; i++) {
#ifdef BEFORE
        price[i] = (double)(long)(price[i] * 100 + 0.5) / 100;
#else
        double scale = 1, rest = price[i];
        while (scale < rest)
            scale *= 1.05;
        for (; scale > 0.01; scale /= 1.05) /* GUILTY */
            rest -= rest > scale ? scale : 0;
        price[i] -= rest;
#endif
    }
}

int main(int argc, char **argv)
{
    double end = argc > 1 ? atof(argv[1]) : 2, sum = 0;
    for (int i = 0; i < ORDERS; i++)
        amount[i] = 1 + i % 997;
    while ((double)clock() / CLOCKS_PER_SEC < end) {
        sum += discount_all();
        round_all();
    }
    printf("%d\n", sum > 0);
    return 0;
}
