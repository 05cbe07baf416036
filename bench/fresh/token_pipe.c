/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A build hands out its tokens through a pipe, as make does: a token is put in and taken out again for each step. Variant 1: 256
 * tokens at once. */
#define DEFAULT_SECONDS 6
#include "../kernels/kernel.h"

#include <unistd.h>

enum { STEPS = 1024, MOST = 256 };

struct job_server {
    int ends[2];
    size_t tokens;
    uint64_t done;
};

HOT static uint64_t take_steps(const struct job_server *s)
{
    char tokens[MOST];
    uint64_t done = 0;
    memset(tokens, '+', sizeof tokens);
    for (size_t i = 0; i < STEPS; i += s->tokens) {
        ssize_t put = write(s->ends[1], tokens, s->tokens), taken = read(s->ends[0], tokens, s->tokens);
        if (put != taken || put < 0)
            abort();
        for (ssize_t k = 0; k < taken; k++)
            done += tokens[k] == '+';
    }
    return done;
}

static uint64_t turn(void *argument)
{
    struct job_server *s = argument;
    s->done += take_steps(s);
    return STEPS;
}

int main(int argc, char **argv)
{
    static struct job_server s;
    if (pipe(s.ends)) {
        perror("pipe");
        return 1;
    }
    s.tokens = variant(argc, argv) ? MOST : 1;
    int status = run_kernel("token_pipe", argc, argv, turn, &s);
    printf("result=%llu\n", (unsigned long long)s.done);
    return status;
}
