/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Seven procedures whose work is set on the command line, in ms of CPU time each at a calibrated speed. An
 * example: procedures 100 100 100 200 50 50 30. A known profile to test reports with. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static volatile uint64_t sink;

#define PROCEDURE(name, multiplier)                                                                          \
    __attribute__((noinline)) static void name(uint64_t n)                                                   \
    {                                                                                                        \
        uint64_t x = n;                                                                                      \
        for (uint64_t i = 0; i < n; i++)                                                                     \
            x = x * (multiplier) + i;                                                                        \
        sink = x;                                                                                            \
    }
PROCEDURE(alpha, 3)
PROCEDURE(beta, 5)
PROCEDURE(gamma_ray, 7)
PROCEDURE(delta, 9)
PROCEDURE(epsilon, 11)
PROCEDURE(wobbly, 13)
PROCEDURE(zeta, 17)

static double cpu_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

int main(int argc, char **argv)
{
    static void (*const all[])(uint64_t) = {alpha, beta, gamma_ray, delta, epsilon, wobbly, zeta};
    uint64_t random = 1;
    double left[7] = {0};
    for (int i = 0; i < 7; i++)
        left[i] = i + 1 < argc ? strtod(argv[i + 1], NULL) / 1000 : 0.1;
    /* Round robin by what is left, so that a slow moment of the machine hits all alike; a fraction of a millisecond each,
     * never the same, so that no round keeps step with a sampler's period. */
    for (int busy = 1; busy;) {
        busy = 0;
        for (int i = 0; i < 7; i++) {
            if (left[i] <= 0)
                continue;
            double from = cpu_s();
            random = random * 6364136223846793005 + 1442695040888963407;
            all[i](100000 + (random >> 33) % 200000);
            left[i] -= cpu_s() - from;
            busy = 1;
        }
    }
    return 0;
}
