/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "observer/source/variables.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

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
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/mem", (int)pid);
    v->memory = open(path, O_RDONLY | O_CLOEXEC);
    if (v->memory < 0)
        return cs_fail(err, errno,
                       "may not read the memory of process %d: %s; it belongs to another user, or "
                       "/proc/sys/kernel/yama/ptrace_scope forbids it",
                       (int)pid, strerror(errno));
    if (!cs_variables_read(v)) {
        int code = errno;
        cs_variables_close(v);
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
