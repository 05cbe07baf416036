/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes each byte of a log by a system call of its own. Variant: 64 bytes at a time. */
#include "../kernels/kernel.h"

#include <fcntl.h>
#include <unistd.h>

struct log {
    int file, buffered;
    unsigned held;
    uint64_t seed;
    char text[64];
};

static HOT uint64_t write_log(void *argument)
{
    struct log *l = argument;
    for (unsigned i = 0; i < 20000; i++) {
        l->seed = l->seed * 6364136223846793005u + 1;
        l->text[l->held++] = (char)('a' + (l->seed >> 60));
        if (l->held == (l->buffered ? 64 : 1)) {
            if (write(l->file, l->text, l->held) < 0)
                return 0;
            l->held = 0;
        }
    }
    return 20000;
}

int main(int argc, char **argv)
{
    struct log l = {.file = open("/dev/null", O_WRONLY), .buffered = variant(argc, argv)};
    return run_kernel("log_bytes", argc, argv, write_log, &l);
}
