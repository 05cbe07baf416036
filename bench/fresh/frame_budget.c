/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A game moves its particles in small groups, and looks after each group at the CPU time of its thread, so as not to
 * take more than its share of a frame. Variant 1: looks after every 64th group. */
#include "../kernels/kernel.h"

enum { GROUPS = 512, GROUP = 32 };

struct world {
    float at[GROUPS * GROUP / 8], speed[GROUP];
    double budget;
    unsigned every;
    uint64_t moved;
};

HOT static uint64_t move_groups(struct world *w)
{
    struct timespec t;
    unsigned g = 0;
    for (; g < GROUPS; g++) {
        float *at = w->at + g % (GROUPS / 8) * GROUP;
        for (int i = 0; i < GROUP; i++)
            at[i] = at[i] * 0.999f + w->speed[i];
        if (g % w->every == 0) {
            clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
            if ((double)t.tv_sec > w->budget)
                break;
        }
    }
    return g;
}

static uint64_t turn(void *argument)
{
    struct world *w = argument;
    w->moved += move_groups(w);
    return GROUPS;
}

int main(int argc, char **argv)
{
    static struct world w = {.budget = 1e9};
    for (int i = 0; i < GROUP; i++)
        w.speed[i] = (float)i;
    w.every = variant(argc, argv) ? 64 : 1;
    return run_kernel("frame_budget", argc, argv, turn, &w);
}
