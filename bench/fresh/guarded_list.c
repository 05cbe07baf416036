/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A program keeps its handler of signals out of a list while it changes it: the signals are blocked before each change and
 * let through after it. Variant 1: a flag tells the handler that it has to wait. */
#define _GNU_SOURCE
#include "../kernels/kernel.h"

#include <signal.h>

enum { CHILDREN = 64, CHANGES = 2000 };

struct child {
    struct child *next;
    uint64_t number;
};

struct family {
    struct child children[CHILDREN], *running;
    volatile sig_atomic_t busy;
    int flag;
    uint64_t sum;
};

HOT static void unlink_last(struct family *f)
{
    struct child **at = &f->running;
    while ((*at)->next)
        at = &(*at)->next;
    f->sum += (*at)->number;
    *at = NULL;
}

HOT static void change(struct family *f, int flag)
{
    sigset_t all, before;
    sigfillset(&all);
    for (int i = 0; i < CHANGES; i++) {
        struct child *c = &f->children[i % CHILDREN];
        if (flag)
            f->busy = 1;
        else
            sigprocmask(SIG_BLOCK, &all, &before);
        *c = (struct child){f->running, (uint64_t)i};
        f->running = c;
        if (i % CHILDREN >= 4)
            unlink_last(f);
        if (flag)
            f->busy = 0;
        else
            sigprocmask(SIG_SETMASK, &before, NULL);
        if (i % CHILDREN == CHILDREN - 1)
            f->running = NULL;
    }
    f->running = NULL;
}

static uint64_t turn(void *argument)
{
    struct family *f = argument;
    change(f, f->flag);
    return CHANGES;
}

int main(int argc, char **argv)
{
    static struct family f;
    f.flag = variant(argc, argv);
    int status = run_kernel("guarded_list", argc, argv, turn, &f);
    printf("result=%llu\n", (unsigned long long)f.sum);
    return status;
}
