/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An unmodified program for the observer: a phase flag, a counter and a bump pointer in plain variables. Its own log
 * has how long each phase took in CPU time and how far the counter went. Seconds in argv[1]. */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static volatile unsigned char phase; /* 1, 2 or 3 */
volatile uint64_t work_done;
static char arena[1 << 16];
char *volatile bump = arena;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
    double seconds = argc > 1 ? atof(argv[1]) : 1, took[4] = {0}, begin = now();
    uint64_t work[4] = {0};
    while (now() - begin < seconds)
        for (unsigned char p = 1; p <= 3; p++) {
            double from = now();
            uint64_t before = work_done;
            phase = p;
            for (int i = 0; i < 200000 * p; i++) {
                work_done += p;
                bump = bump + 16 >= arena + sizeof arena ? arena : bump + 16;
            }
            took[p] += now() - from;
            work[p] += work_done - before;
        }
    for (int p = 1; p <= 3; p++)
        printf("%d %.6f %" PRIu64 "\n", p, took[p], work[p]);
    return 0;
}
