/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Line by line; a file of /proc is as long as the process makes it. */
#include "sampler/images/proc_maps.h"
#include "store/base/foreign.h"
#include "store/base/kernel_files.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* But maps, these wait for nobody. */
static FILE *open_of(const char *proc, pid_t pid, const char *name)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%d/%s", proc, (int)pid, name);
    return fopen(path, "re");
}

int cs_proc_command(const char *proc, pid_t pid, char *name, size_t size)
{
    assert(size > 0);
    FILE *f = open_of(proc, pid, "comm");
    if (!f)
        return -errno;
    name[0] = '\0';
    if (fgets(name, (int)size, f))
        name[strcspn(name, "\n")] = '\0';
    fclose(f);
    return 0;
}

uid_t cs_proc_user(const char *proc, pid_t pid, pid_t *inner)
{
    char line[256];
    unsigned real, effective;
    uid_t user = (uid_t)-1;
    FILE *f = open_of(proc, pid, "status");
    if (inner)
        *inner = pid;
    while (f && fgets(line, sizeof line, f)) {
        if (sscanf(line, "Uid: %u %u", &real, &effective) == 2)
            user = effective;
        const char *last = inner && strncmp(line, "NSpid:", 6) == 0 ? strrchr(line, '\t') : NULL;
        if (last)
            *inner = (pid_t)strtol(last, NULL, 10);
    }
    if (f)
        fclose(f);
    return user;
}

uint64_t cs_proc_started(const char *proc, pid_t pid)
{
    char text[1024];
    cs_kernel_text(text, sizeof text, "%s/%d/stat", proc, (int)pid);
    const char *began = cs_stat_field(text, 22);
    return began ? strtoull(began, NULL, 10) : 0;
}

int cs_proc_mappings(const char *proc, pid_t pid, int (*each)(void *arg, const struct cs_mapped_file *file),
                     void *arg)
{
    char path[256], *line = NULL;
    size_t capacity = 0;
    int rc = 0;
    char before_path[4200];
    struct cs_mapped_file before = {.inode = 0};
    snprintf(path, sizeof path, "%s/%d/maps", proc, (int)pid);
    FILE *f = cs_foreign_proc(path);
    if (!f)
        return -errno;
    while (rc == 0 && getline(&line, &capacity, f) > 0) {
        struct cs_mapped_file file = {.pid = pid, .build_id = ""};
        char rights[8];
        int at = 0;
        if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %x:%x %" SCNu64 " %n", &file.start,
                   &file.end, rights, &file.pgoff, &file.major, &file.minor, &file.inode, &at) < 7 ||
            at == 0)
            continue;
        line[strcspn(line, "\n")] = '\0';
        file.path = line + at;
        if (file.inode == 0 && before.inode != 0 && before.end == file.start)
            file.before = &before;
        const bool told = rights[2] != 'x' || strcmp(file.path, "[vsyscall]") == 0;
        rc = told ? 0 : each(arg, &file);
        if (file.inode != 0 && strlen(file.path) < sizeof before_path) {
            before = file;
            before.path = strcpy(before_path, file.path);
        }
    }
    free(line);
    fclose(f);
    return rc;
}

int cs_proc_processes(const char *proc, void (*each)(void *arg, pid_t pid), void *arg)
{
    DIR *dir = opendir(proc);
    if (!dir)
        return -errno;
    for (struct dirent *d; (d = readdir(dir)) != NULL;) {
        char *end;
        long pid = strtol(d->d_name, &end, 10);
        if (*end == '\0' && pid > 0 && pid < CS_PROC_PID_MAX)
            each(arg, (pid_t)pid);
    }
    closedir(dir);
    return 0;
}
