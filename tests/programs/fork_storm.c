/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Many short processes: each works for a number of us in its own code and ends. Prints the CPU time of all of them,
 * user and system, in ms, and how many there were. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double ms(const struct timeval *t)
{
    return (double)t->tv_sec * 1e3 + (double)t->tv_usec * 1e-3;
}

static double own_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}

__attribute__((noinline)) static void work(double us)
{
    volatile unsigned long x = 1;
    while (own_us() < us)
        for (int i = 0; i < 2000; i++)
            x = x * 6364136223846793005UL + 1;
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 1000;
    double us = argc > 2 ? atof(argv[2]) : 700;
    struct rusage children, own;
    for (int i = 0; i < n; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            work(us);
            _exit(0);
        }
        if (pid < 0 || waitpid(pid, NULL, 0) != pid)
            return 1;
    }
    getrusage(RUSAGE_CHILDREN, &children);
    getrusage(RUSAGE_SELF, &own);
    printf("%.3f %d\n",
           ms(&children.ru_utime) + ms(&children.ru_stime) + ms(&own.ru_utime) + ms(&own.ru_stime), n);
    return 0;
}
