/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Answers requests from a buffer of 1 MB that is mapped for each and given back. Variant: the buffer is kept. */
#include "../kernels/kernel.h"

#define BUFFER (1u << 20)

struct answerer {
    uint64_t *kept, sum;
};

static HOT uint64_t answer(void *argument)
{
    struct answerer *a = argument;
    for (unsigned request = 0; request < 8; request++) {
        uint64_t *buffer = a->kept;
        if (!buffer)
            buffer = mmap(NULL, BUFFER, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        for (unsigned i = 0; i < BUFFER / 8; i += 4)
            buffer[i] = i * (uint64_t)request;
        a->sum += buffer[request];
        if (!a->kept)
            munmap(buffer, BUFFER);
    }
    return 8 * BUFFER / 32;
}

int main(int argc, char **argv)
{
    struct answerer a = {variant(argc, argv) ? memory(BUFFER, 0) : NULL, 0};
    return run_kernel("request_buffer", argc, argv, answer, &a);
}
