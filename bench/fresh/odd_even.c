/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two threads move the particles of a fountain: one those with even numbers, the other those with odd ones. Variant 1: one
 * the first half, the other the second one. */
#include "pair.h"

enum { PARTICLES = 1024 };

struct particle {
    float height, speed;
};

struct share {
    _Alignas(128) struct particle *first;
    int step;
};

HOT static void move(struct particle *p, int step)
{
    for (int i = 0; i < PARTICLES / 2; i++, p += step) {
        p->speed -= 0.01f;
        p->height += p->speed;
        if (p->height < 0)
            *p = (struct particle){0, 1};
    }
}

static uint64_t turn(void *argument)
{
    struct share *s = argument;
    for (int i = 0; i < 10; i++)
        move(s->first, s->step);
    return 10 * PARTICLES / 2;
}

int main(int argc, char **argv)
{
    static _Alignas(128) struct particle particles[PARTICLES];
    static struct share shares[2];
    int halves = variant(argc, argv);
    for (int i = 0; i < PARTICLES; i++)
        particles[i] = (struct particle){0, 1};
    for (int s = 0; s < 2; s++)
        shares[s] = (struct share){particles + s * (halves ? PARTICLES / 2 : 1), halves ? 1 : 2};
    return run_pair("odd_even", argc, argv, turn, &shares[0], &shares[1]);
}
