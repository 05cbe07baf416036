/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two threads that compute for SECONDS: outermost calls middle calls innermost, and none of them keeps a frame pointer. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static volatile unsigned long sink;
static double until;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

__attribute__((noinline)) static unsigned long innermost(unsigned long x)
{
    for (int i = 0; i < 20000; i++)
        x = x * 6364136223846793005UL + (x >> 7);
    return x;
}

__attribute__((noinline)) static unsigned long middle(unsigned long x)
{
    char room[200];
    memset(room, (int)x, sizeof room);
    x += innermost(x);
    return x + (unsigned long)room[x % sizeof room];
}

__attribute__((noinline)) static void outermost(void)
{
    unsigned long x = 1;
    while (now() < until)
        sink += x = middle(x);
}

static void *begin(void *arg)
{
    outermost();
    return arg;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    until = now() + (argc > 1 ? atof(argv[1]) : 2);
    if (pthread_create(&thread, NULL, begin, NULL) != 0)
        return 1;
    outermost();
    pthread_join(thread, NULL);
    return 0;
}
