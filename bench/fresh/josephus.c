/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Children stand in a circle, and every 29th of those who are left goes out: a list of 160 that is followed one by one. It
 * is in the first cache. Variant 1: the four circles of a school yard in turn, a child each. */
#include "../kernels/kernel.h"

enum { CIRCLES = 4, CHILDREN = 160, COUNT = 29 };

struct child {
    struct child *next;
    uint64_t number;
};

struct yard {
    struct child circles[CIRCLES][CHILDREN];
    int together;
    uint64_t sum;
};

static void stand(struct child *circle)
{
    for (uint64_t i = 0; i < CHILDREN; i++)
        circle[i] = (struct child){&circle[(i + 1) % CHILDREN], i};
}

HOT static uint64_t last_child(struct child *p)
{
    for (int left = CHILDREN; left > 1; left--) {
        for (int i = 1; i < COUNT; i++)
            p = p->next;
        p->next = p->next->next;
    }
    return p->number;
}

HOT static uint64_t last_children(struct child *a, struct child *b, struct child *c, struct child *d)
{
    for (int left = CHILDREN; left > 1; left--) {
        for (int i = 1; i < COUNT; i++) {
            a = a->next;
            b = b->next;
            c = c->next;
            d = d->next;
        }
        a->next = a->next->next;
        b->next = b->next->next;
        c->next = c->next->next;
        d->next = d->next->next;
    }
    return a->number + b->number + c->number + d->number;
}

static uint64_t turn(void *argument)
{
    struct yard *y = argument;
    for (int i = 0; i < CIRCLES; i++)
        stand(y->circles[i]);
    if (y->together)
        y->sum += last_children(y->circles[0], y->circles[1], y->circles[2], y->circles[3]);
    else
        for (int i = 0; i < CIRCLES; i++)
            y->sum += last_child(y->circles[i]);
    return CIRCLES * CHILDREN * COUNT;
}

int main(int argc, char **argv)
{
    static struct yard y;
    y.together = variant(argc, argv);
    int status = run_kernel("josephus", argc, argv, turn, &y);
    printf("result=%llu\n", (unsigned long long)y.sum);
    return status;
}
