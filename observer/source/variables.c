/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "observer/source/variables.h"
#include "store/base/foreign.h"

#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The first time: a page that is never served ends here, and not the loop. */
static bool read_first(struct cs_variables *v)
{
    bool all = true;
    cs_foreign_limit(CS_FOREIGN_LIMIT_MS);
    for (unsigned i = 0; i < v->n && all; i++)
        all = cs_foreign_read(v->memory, v->at[i].addr, &v->words[i], v->at[i].bytes) ==
              (ssize_t)v->at[i].bytes;
    const int code = errno;
    cs_foreign_limit(0);
    errno = code;
    return all;
}

bool cs_variables_read(struct cs_variables *v)
{
    for (unsigned i = 0; i < v->n; i++) {
        uint64_t word = 0;
        unsigned bytes = v->at[i].bytes;
        if (pread(v->memory, &word, bytes, (off_t)v->at[i].addr) != (ssize_t)bytes)
            return false;
        v->words[i] = le64toh(word);
    }
    return true;
}

int cs_variables_open(struct cs_variables *v, pid_t pid, struct cs_error *err)
{
    assert(pid > 0 && v->n <= CS_VARIABLES_MAX);
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/mem", (int)pid);
    v->memory = open(path, O_RDONLY | O_CLOEXEC);
    if (v->memory < 0)
        return cs_fail(err, errno,
                       "may not read the memory of process %d: %s; it belongs to another user, or "
                       "/proc/sys/kernel/yama/ptrace_scope forbids it",
                       (int)pid, strerror(errno));
    if (!read_first(v) || !cs_variables_read(v)) {
        int code = errno;
        cs_variables_close(v);
        if (code == ETIMEDOUT)
            return cs_fail(err, code,
                           "process %d has a variable in memory that nobody serves (0x%" PRIx64
                           " or another): leave it out",
                           (int)pid, v->at[0].addr);
        return cs_fail(err, code, "process %d has no readable variable at 0x%" PRIx64, (int)pid,
                       v->at[0].addr);
    }
    return 0;
}

void cs_variables_close(struct cs_variables *v)
{
    if (v->memory >= 0)
        close(v->memory);
    v->memory = -1;
}
