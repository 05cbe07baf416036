/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads records of 32 bytes from a file, one a call. Variant: 2,048 a call. */
#define _GNU_SOURCE
#include "../kernels/kernel.h"

#include <unistd.h>

enum { RECORDS = 1 << 15, SIZE = 32 };

struct file {
    int fd;
    unsigned a_call;
    uint64_t sum;
    char buffer[2048 * SIZE];
};

static HOT uint64_t read_records(void *argument)
{
    struct file *f = argument;
    uint64_t sum = 0;
    for (unsigned i = 0; i < RECORDS; i += f->a_call) {
        if (pread(f->fd, f->buffer, (size_t)f->a_call * SIZE, (off_t)i * SIZE) <= 0)
            return 0;
        for (unsigned k = 0; k < f->a_call; k++)
            sum += *(const uint64_t *)(f->buffer + (size_t)k * SIZE);
    }
    f->sum += sum;
    return RECORDS;
}

int main(int argc, char **argv)
{
    static struct file f;
    f.fd = memfd_create("records", 0);
    f.a_call = variant(argc, argv) ? 2048 : 1;
    for (unsigned i = 0; i < RECORDS * SIZE; i += sizeof f.buffer)
        if (write(f.fd, f.buffer, sizeof f.buffer) < 0)
            return 1;
    return run_kernel("read_records", argc, argv, read_records, &f);
}
