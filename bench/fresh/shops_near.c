/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counts the shops within some distance of a customer, by a root each. Shops lie in no order, but nothing branches on it. Variant
 * 1: the squares are compared. */
#define DEFAULT_SECONDS 6
#include "../kernels/kernel.h"

#include <math.h>

enum { SHOPS = 1024 };

struct town {
    double x[SHOPS], y[SHOPS];
    int squares;
    uint64_t near;
};

HOT static int count_near(const struct town *t, double x, double y, double distance)
{
    int n = 0;
    for (int i = 0; i < SHOPS; i++) {
        double dx = t->x[i] - x, dy = t->y[i] - y;
        n += sqrt(dx * dx + dy * dy) < distance;
    }
    return n;
}

/* Exact, since places and distances are whole numbers. */
HOT static int count_near_by_squares(const struct town *t, double x, double y, double distance)
{
    int n = 0;
    for (int i = 0; i < SHOPS; i++) {
        double dx = t->x[i] - x, dy = t->y[i] - y;
        n += dx * dx + dy * dy < distance * distance;
    }
    return n;
}

static uint64_t turn(void *argument)
{
    struct town *t = argument;
    for (int i = 0; i < 40; i++) {
        int n =
            t->squares ? count_near_by_squares(t, i * 20, i * 17, 350) : count_near(t, i * 20, i * 17, 350);
        t->near += (uint64_t)n;
    }
    return 40 * SHOPS;
}

int main(int argc, char **argv)
{
    static struct town t;
    uint64_t seed = 9006900690069006900u;
    t.squares = variant(argc, argv);
    for (int i = 0; i < SHOPS; i++) {
        t.x[i] = (double)(next_random(&seed) >> 54);
        t.y[i] = (double)(next_random(&seed) >> 54);
    }
    int status = run_kernel("shops_near", argc, argv, turn, &t);
    printf("result=%llu\n", (unsigned long long)t.near);
    return status;
}
