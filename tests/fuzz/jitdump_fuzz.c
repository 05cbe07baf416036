/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fuzz target: any bytes as a jitdump file, read while it grows: once when half is there, once when all is. The bytes
 * also serve as the record of a method's lines.
 * Sources: sampler/dynamic/jitdump*.c store/base/bytes.c */
#include "sampler/dynamic/jitdump.h"
#include "sampler/dynamic/jitdump_lines.h"

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

static void read_lines(const uint8_t *bytes, size_t size, const char *method)
{
    struct cs_jitdump_lines lines = {0};
    (void)cs_jitdump_lines_read(&lines, bytes, size, method, 4096);
    assert(lines.n <= CS_JITDUMP_LINES_MAX && lines.n_files <= CS_JITDUMP_LINES_FILES);
    for (size_t i = 0; i < lines.n; i++)
        assert(lines.rows[i].file < lines.files.used && (i == 0 || lines.rows[i - 1].at < lines.rows[i].at));
    cs_jitdump_lines_fini(&lines);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    read_lines(bytes, size, "f");
    read_lines(bytes, size, "JS:*turns /srv/of/long/path/turns.js:4:15");
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
