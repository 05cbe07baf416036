/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two threads take jobs, one at a time, by an atomic index that they share. Variant: 64 jobs at a time. */
#include "pair.h"

struct jobs {
    uint64_t *next, batch, sum;
    const uint32_t *size;
    char pad[64];
};

static HOT uint64_t take_jobs(void *argument)
{
    struct jobs *j = argument;
    uint64_t sum = 0, batch = j->batch;
    for (unsigned done = 0; done < ITERATIONS_A_CALL; done += (unsigned)batch) {
        uint64_t job = __atomic_fetch_add(j->next, batch, __ATOMIC_RELAXED);
        for (uint64_t i = 0; i < batch; i++)
            sum += j->size[(job + i) & 4095] * 3;
    }
    j->sum += sum;
    return ITERATIONS_A_CALL;
}

int main(int argc, char **argv)
{
    static uint64_t next[8] __attribute__((aligned(64)));
    static uint32_t size[4096];
    static struct jobs jobs[2];
    for (int i = 0; i < 2; i++)
        jobs[i] = (struct jobs){next, variant(argc, argv) ? 64 : 1, 0, size, {0}};
    return run_pair("job_queue", argc, argv, take_jobs, &jobs[0], &jobs[1]);
}
