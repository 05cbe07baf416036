/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sampler/burst/rights.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

struct rights {
    unsigned uid[4]; /* real, effective, saved, file system */
    uint64_t capabilities;
    struct stat namespace;
};

/* `which`: of the capabilities, "CapPrm:" what it may have, "CapEff:" what it has. */
static bool read_rights(const char *process, const char *which, struct rights *out)
{
    char path[64], line[256];
    unsigned found = 0;
    snprintf(path, sizeof path, "/proc/%s/status", process);
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    while (fgets(line, sizeof line, file)) {
        found +=
            sscanf(line, "Uid: %u %u %u %u", &out->uid[0], &out->uid[1], &out->uid[2], &out->uid[3]) == 4;
        if (!strncmp(line, which, strlen(which)))
            found += sscanf(line + strlen(which), "%" SCNx64, &out->capabilities) == 1;
    }
    fclose(file);
    snprintf(path, sizeof path, "/proc/%s/ns/user", process);
    /* Where there are no user namespaces, all are in the same. */
    if (stat(path, &out->namespace) < 0 && errno != ENOENT)
        return false;
    return found == 2;
}

int cs_burst_rights(pid_t pid, struct cs_error *err)
{
    struct rights ours = {0}, its = {0};
    char process[16];
    snprintf(process, sizeof process, "%d", (int)pid);
    if (!read_rights("self", "CapEff:", &ours))
        return cs_fail(err, EPERM, "bursts: /proc/self/status tells no rights of this process");
    if (!read_rights(process, "CapPrm:", &its)) {
        bool gone = errno == ENOENT || errno == ESRCH;
        return cs_fail(err, gone ? ESRCH : EPERM, "process %d: %s", (int)pid,
                       gone ? "it has ended" : "its rights can't be read, so there are no bursts of it");
    }
    for (unsigned i = 0; i < 4; i++)
        if (its.uid[i] != ours.uid[1])
            return cs_fail(err, EPERM,
                           "process %d belongs to user %u: bursts follow only processes of the profiler's "
                           "own user (%u); "
                           "run the profiler as that user, or use --no-bursts",
                           (int)pid, its.uid[i], ours.uid[1]);
    if (its.namespace.st_ino != ours.namespace.st_ino || (ours.capabilities & ~its.capabilities))
        return cs_fail(
            err, EPERM,
            "process %d has fewer rights than the profiler (capabilities or user namespace): bursts of it "
            "are refused; run the profiler with the process's own rights, or use --no-bursts",
            (int)pid);
    return 0;
}
