/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/base/kernel_files.h"
#include "store/base/array.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#define LINE_BYTES 4200 /* of a cgroup, with its path */

static int open_path(const char *format, va_list args)
{
    char path[PATH_MAX];
    const int n = vsnprintf(path, sizeof path, format, args);
    return n > 0 && (size_t)n < sizeof path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
}

/* Closes it, too. */
static size_t read_once(int fd, char *text, size_t size)
{
    assert(size > 0);
    const ssize_t got = fd >= 0 ? read(fd, text, size - 1) : 0;
    const size_t n = got > 0 ? (size_t)got : 0;
    if (fd >= 0)
        close(fd);
    text[n] = '\0';
    return n;
}

size_t cs_kernel_text(char *text, size_t size, const char *path, ...)
{
    va_list args;
    va_start(args, path);
    const int fd = open_path(path, args);
    va_end(args);
    return read_once(fd, text, size);
}

bool cs_kernel_line(char *rest, size_t size, const char *key, const char *path, ...)
{
    char line[LINE_BYTES];
    const size_t n = strlen(key);
    va_list args;
    va_start(args, path);
    const int fd = open_path(path, args);
    va_end(args);
    FILE *f = fd >= 0 ? fdopen(fd, "r") : NULL;
    bool found = false;
    while (f && !found && fgets(line, sizeof line, f))
        found = strncmp(line, key, n) == 0;
    if (f)
        fclose(f);
    else if (fd >= 0)
        close(fd);
    const char *at = found ? line + n + strspn(line + n, " \t") : "";
    snprintf(rest, size, "%.*s", (int)strcspn(at, "\n"), at);
    return found;
}

long cs_kernel_number(long otherwise, const char *path, ...)
{
    char text[32], *end;
    va_list args;
    va_start(args, path);
    const int fd = open_path(path, args);
    va_end(args);
    (void)read_once(fd, text, sizeof text);
    const long number = strtol(text, &end, 10);
    return end == text ? otherwise : number;
}

const char *cs_stat_field(const char *stat, unsigned n)
{
    const char *at = strrchr(stat, ')');
    assert(n >= 3);
    for (unsigned i = 2; at && i < n; i++) {
        at = strchr(at, ' ');
        at += at != NULL;
    }
    return at;
}

int cs_tasks_of(pid_t pid, pid_t **tids)
{
    char path[48];
    size_t n = 0, capacity = 0;
    int rc = 0;
    *tids = NULL;
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *dir = opendir(path);
    if (!dir)
        return -errno;
    for (const struct dirent *e; rc == 0 && (e = readdir(dir)) != NULL;) {
        const pid_t tid = (pid_t)strtol(e->d_name, NULL, 10);
        rc = tid > 0 ? cs_array_room(*tids, n, capacity) : 0;
        if (tid > 0 && rc == 0)
            (*tids)[n++] = tid;
    }
    closedir(dir);
    if (rc == 0)
        return (int)n;
    free(*tids);
    *tids = NULL;
    return rc;
}
