/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Threads with affinities of their own; each says at the end when its mask is not what it set.
 * Usage: affinity SECONDS      SIGTERM: the end comes now */
#include "hostile.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>

static volatile int over;
static int wrong;

static void *thread(void *arg)
{
    cpu_set_t mine;
    CPU_ZERO(&mine);
    CPU_SET((uintptr_t)arg % 2, &mine);
    if ((uintptr_t)arg > 1)
        CPU_SET(0, &mine), CPU_SET(1, &mine);
    sched_setaffinity(0, sizeof mine, &mine);
    while (!over)
        burn(0.02);
    /* given back by the process that took it: at once, or, on a busy machine, when that has a CPU */
    cpu_set_t now;
    for (int i = 0; i < 300; i++) {
        sched_getaffinity(0, sizeof now, &now);
        if (CPU_EQUAL(&now, &mine))
            return NULL;
        usleep(100000);
    }
    __atomic_add_fetch(&wrong, 1, __ATOMIC_SEQ_CST);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[4];
    sigset_t term;
    sigemptyset(&term);
    sigaddset(&term, SIGTERM);
    sigprocmask(SIG_BLOCK, &term, NULL);
    for (uintptr_t i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, thread, (void *)i);
    double seconds = argument_seconds(argc, argv, 1, 3);
    struct timespec most = {(time_t)seconds, (long)(1e9 * (seconds - (double)(time_t)seconds))};
    sigtimedwait(&term, NULL, &most);
    over = 1;
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    if (wrong) {
        printf("harmed: %d threads lost their affinity\n", wrong);
        return 1;
    }
    return unharmed();
}
