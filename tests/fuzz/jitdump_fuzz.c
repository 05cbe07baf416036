/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fuzz target: any bytes as a jitdump file, read while it grows: once when half is there, once when all is.
 * Sources: sampler/images/jitdump.c */
#include "sampler/images/jitdump.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define RECORD_MIN 16 /* its prefix */
#define HEADER_MAX 4096

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static bool count(void *arg, const struct cs_jitdump_record *code)
{
    if (code->name)
        assert(strlen(code->name) < 4096);
    ++*(size_t *)arg;
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    uint64_t at = 0;
    size_t seen = 0, halves[] = {size / 2, size - size / 2};
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    if (fd < 0)
        return 0;
    for (int i = 0; i < 2; i++) {
        uint64_t before = at;
        if (write(fd, bytes, halves[i]) != (ssize_t)halves[i])
            break;
        bytes += halves[i];
        assert(cs_jitdump_read(fd, &at, count, &seen) <= 0);
        assert(at >= before && at <= size + HEADER_MAX); /* a header may promise more than is there yet */
    }
    assert(seen <= size / RECORD_MIN);
    close(fd);
    return 0;
}
