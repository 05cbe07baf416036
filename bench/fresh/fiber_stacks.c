/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A fiber of a server parses nested messages by recursion, sixteen deep with 8 KB of buffer each. When it has finished, the memory
 * of its stack is given back. Variant 1: it is kept. */
#define _GNU_SOURCE
#define DEFAULT_SECONDS 6
#include "../kernels/kernel.h"

#include <ucontext.h>

enum { DEEP = 16, BUFFER = 8192, STACK = 256 << 10 };

struct server {
    ucontext_t main, fiber;
    char *stack;
    int kept;
    uint64_t sum;
};

static struct server server;

HOT static uint64_t parse(int deep)
{
    char buffer[BUFFER];
    buffer[0] = (char)deep;
    buffer[BUFFER / 2] = (char)(deep * 3);
    __asm__ volatile("" : : "r"(buffer) : "memory");
    uint64_t inner = deep > 1 ? parse(deep - 1) : 0;
    return inner + (uint64_t)(buffer[0] + buffer[BUFFER / 2]);
}

static void fiber(void)
{
    server.sum += parse(DEEP);
}

static uint64_t turn(void *argument)
{
    struct server *s = argument;
    getcontext(&s->fiber);
    s->fiber.uc_stack.ss_sp = s->stack;
    s->fiber.uc_stack.ss_size = STACK;
    s->fiber.uc_link = &s->main;
    makecontext(&s->fiber, fiber, 0);
    swapcontext(&s->main, &s->fiber);
    if (!s->kept)
        madvise(s->stack, STACK, MADV_DONTNEED);
    return DEEP;
}

int main(int argc, char **argv)
{
    server.kept = variant(argc, argv);
    server.stack = memory(STACK, 0);
    int status = run_kernel("fiber_stacks", argc, argv, turn, &server);
    printf("result=%llu\n", (unsigned long long)server.sum);
    return status;
}
