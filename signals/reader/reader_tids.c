/* SPDX-License-Identifier: MIT */
/* Thread numbers of an inner PID namespace as the caller sees them: the NSpid rows under /proc/PID/task. */
#include "signals/reader/reader_open.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The innermost number in /proc/PID/task/NAME/status, 0 if it is gone. */
static unsigned long innermost(pid_t pid, const char *name)
{
    char path[64 + 256], row[512];
    snprintf(path, sizeof path, "/proc/%d/task/%.20s/status", (int)pid, name);
    FILE *status = fopen(path, "re");
    unsigned long last = 0;
    while (status && fgets(row, sizeof row, status)) {
        if (strncmp(row, "NSpid:", 6) != 0)
            continue;
        for (char *p = row + 6, *end;; p = end) {
            const unsigned long n = strtoul(p, &end, 10);
            if (end == p)
                break;
            last = n;
        }
    }
    if (status)
        fclose(status);
    return last;
}

pid_t cs_reader_tid(const struct cs_reader *reader, uint32_t tid)
{
    char path[64];
    if (reader->pid == 0)
        return 0;
    snprintf(path, sizeof path, "/proc/%d/task", (int)reader->pid);
    if (!reader->nested)
        return (pid_t)tid;
    pid_t found = 0;
    DIR *dir = opendir(path);
    for (const struct dirent *e; dir && found == 0 && (e = readdir(dir)) != NULL;)
        if (e->d_name[0] != '.' && innermost(reader->pid, e->d_name) == tid)
            found = (pid_t)strtol(e->d_name, NULL, 10);
    if (dir)
        closedir(dir);
    return found;
}
