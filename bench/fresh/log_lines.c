/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Formats numbers and appends each as a line to a file. Variant: 256 lines a write. */
#define _GNU_SOURCE
#include "../kernels/kernel.h"

#include <unistd.h>

enum { LINES = 1 << 13, WIDTH = 20 };

struct log {
    int fd;
    unsigned a_write;
    uint64_t seed;
};

static HOT uint64_t log_lines(void *argument)
{
    struct log *l = argument;
    char text[256 * (WIDTH + 1)], *end = text;
    for (unsigned i = 1; i <= LINES; i++) {
        uint64_t number = next_random(&l->seed);
        end[WIDTH] = '\n';
        for (unsigned k = WIDTH; k-- > 0; number /= 10)
            end[k] = (char)('0' + number % 10);
        end += WIDTH + 1;
        if (i % l->a_write)
            continue;
        if (write(l->fd, text, (size_t)(end - text)) < 0)
            return 0;
        end = text;
    }
    lseek(l->fd, 0, SEEK_SET);
    return LINES;
}

int main(int argc, char **argv)
{
    struct log l = {memfd_create("log", 0), variant(argc, argv) ? 256 : 1, 12345};
    return run_kernel("log_lines", argc, argv, log_lines, &l);
}
