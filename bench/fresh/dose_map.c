/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The dose at four places: the activity of each source times what the shield of the place lets through. In these units the
 * products are denormal numbers. Variant 1: activities are in smaller units, so that no product is. */
#define DEFAULT_SECONDS 6
#include "../kernels/kernel.h"

enum { SOURCES = 1024, PLACES = 4 };

struct map {
    double activity[SOURCES], shields[PLACES], doses[PLACES];
};

HOT static void add_doses(struct map *m)
{
    double a = 0, b = 0, c = 0, d = 0;
    for (int i = 0; i < SOURCES; i++) {
        a += m->activity[i] * m->shields[0];
        b += m->activity[i] * m->shields[1];
        c += m->activity[i] * m->shields[2];
        d += m->activity[i] * m->shields[3];
    }
    m->doses[0] = a;
    m->doses[1] = b;
    m->doses[2] = c;
    m->doses[3] = d;
}

static uint64_t turn(void *argument)
{
    struct map *m = argument;
    for (int i = 0; i < 100; i++) {
        add_doses(m);
        __asm__ volatile("" ::: "memory"); /* Somebody looks at the map. */
    }
    return 100 * SOURCES;
}

int main(int argc, char **argv)
{
    static struct map m;
    double unit = variant(argc, argv) ? 1 : 0x1p-1030;
    for (int i = 0; i < SOURCES; i++)
        m.activity[i] = unit * 0x1p30 * (1 + i % 100);
    for (int place = 0; place < PLACES; place++)
        m.shields[place] = 0x1p-36 * (11 + 13 * place);
    int status = run_kernel("dose_map", argc, argv, turn, &m);
    printf("result=");
    for (int place = 0; place < PLACES; place++)
        printf("%d", m.doses[place] > unit * 24000);
    printf("\n");
    return status;
}
