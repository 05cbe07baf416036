/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A scheduler walks its list of 6,000 tasks. The block of each stands on its own stack of 16 KB, at another place in
 * it: 384 KB of lines, in L2, on 6,000 pages, more than the DTLB holds. Variant 1: the same on huge pages. */
#include "../kernels/kernel.h"

enum { TASKS = 6000, STACK = 16384 };

struct task {
    struct task *next;
    uint32_t ready, credit;
};

struct list {
    struct task *first;
};

HOT static uint64_t charge(struct task *first, size_t n)
{
    uint64_t credit = 0;
    struct task *t = first;
    for (size_t i = 0; i < n; i++) {
        if (t->ready)
            credit += t->credit;
        t = t->next;
    }
    return credit;
}

static volatile uint64_t charged;

static uint64_t turn(void *argument)
{
    struct list *l = argument;
    for (int i = 0; i < 8; i++)
        charged += charge(l->first, TASKS);
    return TASKS * 8;
}

int main(int argc, char **argv)
{
    uint64_t seed = 0x2545F4914F6CDD1Du;
    char *stacks = memory((size_t)TASKS * STACK, variant(argc, argv));
    static struct task *task[TASKS];
    for (size_t i = 0; i < TASKS; i++) {
        task[i] = (struct task *)(stacks + i * STACK + next_random(&seed) / 64 % 256 * 64);
        *task[i] = (struct task){.ready = 1, .credit = (uint32_t)i};
    }
    struct list l = {task[0]};
    for (size_t i = TASKS - 1; i > 0; i--) {
        size_t k = next_random(&seed) % (i + 1);
        struct task *other = task[i];
        task[i] = task[k];
        task[k] = other;
    }
    for (size_t i = 0; i < TASKS; i++)
        task[i]->next = task[(i + 1) % TASKS];
    return run_kernel("task_list", argc, argv, turn, &l);
}
