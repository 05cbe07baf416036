/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two threads charge jobs by units of a size that is read again for each, from one line with settings of both, which nobody
 * writes: a division of 64 bits a job. Variant 1: the reciprocal is in that line, for a multiplication. */
#include "pair.h"

enum { JOBS = 4096 };

struct settings {
    _Alignas(128) uint64_t unit, reciprocal;
    int multiply;
};

struct worker {
    _Alignas(128) const struct settings *settings;
    uint64_t charged, jobs[JOBS];
};

HOT static uint64_t charge(const struct settings *s, const uint64_t *jobs)
{
    uint64_t units = 0;
    for (int i = 0; i < JOBS; i++)
        units += jobs[i] / __atomic_load_n(&s->unit, __ATOMIC_RELAXED);
    return units;
}

/* Exact, since a job is below 2^40 and the unit below 2^10. */
HOT static uint64_t charge_by_reciprocal(const struct settings *s, const uint64_t *jobs)
{
    uint64_t units = 0;
    for (int i = 0; i < JOBS; i++)
        units +=
            (uint64_t)((unsigned __int128)jobs[i] * __atomic_load_n(&s->reciprocal, __ATOMIC_RELAXED) >> 64);
    return units;
}

static uint64_t turn(void *argument)
{
    struct worker *w = argument;
    for (int i = 0; i < 4; i++)
        w->charged +=
            w->settings->multiply ? charge_by_reciprocal(w->settings, w->jobs) : charge(w->settings, w->jobs);
    return 4 * JOBS;
}

int main(int argc, char **argv)
{
    static struct settings settings;
    static struct worker workers[2];
    uint64_t seed = 6906969069069069069u;
    settings.unit = argc > 3 ? (uint64_t)atoi(argv[3]) : 733;
    settings.reciprocal = UINT64_MAX / settings.unit + 1;
    settings.multiply = variant(argc, argv);
    for (int w = 0; w < 2; w++) {
        workers[w].settings = &settings;
        for (int i = 0; i < JOBS; i++)
            workers[w].jobs[i] = next_random(&seed) >> 24;
    }
    return run_pair("worker_quota", argc, argv, turn, &workers[0], &workers[1]);
}
