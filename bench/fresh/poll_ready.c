/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An event loop asks the kernel after each job whether somebody wants it to stop. A job is a hash of 128 bytes.
 * Variant 1: asks after every 64th job. */
#include "../kernels/kernel.h"

#include <poll.h>
#include <unistd.h>

enum { JOBS = 4096, BYTES = 128 };

struct loop {
    struct pollfd stop;
    unsigned every;
    uint64_t hash;
    uint8_t job[BYTES];
};

HOT static uint64_t run_jobs(struct loop *l)
{
    uint64_t hash = l->hash;
    for (unsigned i = 0; i < JOBS; i++) {
        for (unsigned k = 0; k < BYTES; k += 8) {
            uint64_t word;
            memcpy(&word, l->job + k, 8);
            hash = (hash ^ word) * 0x9E3779B97F4A7C15u;
        }
        if (i % l->every == 0 && poll(&l->stop, 1, 0) > 0)
            break;
    }
    return hash;
}

static uint64_t turn(void *argument)
{
    struct loop *l = argument;
    l->hash = run_jobs(l);
    return JOBS;
}

int main(int argc, char **argv)
{
    static struct loop l;
    int ends[2];
    if (pipe(ends))
        return 1;
    l.stop = (struct pollfd){.fd = ends[0], .events = POLLIN};
    l.every = variant(argc, argv) ? 64 : 1;
    return run_kernel("poll_ready", argc, argv, turn, &l);
}
