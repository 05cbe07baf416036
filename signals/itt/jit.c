/* SPDX-License-Identifier: MIT */
/* The JIT profiling API: a JIT compiler's static part loads the library that INTEL_JIT_PROFILER64 names and tells it of
 * each method. Each becomes a line of /tmp/perf-PID.map, the file that profilers read such names from. */
#include "signals/itt/itt.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

enum { METHOD_LOADED = 13, METHOD_LOADED_2 = 21, METHOD_LOADED_3 = 22 };
enum { PROFILING_ON = 1 };

/* All versions begin alike; what follows isn't read. */
struct method {
    unsigned id;
    const char *name;
    const void *code;
    unsigned size;
};

EXPORT unsigned Initialize(void);
EXPORT int NotifyEvent(int event, const void *data);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int map = -1;
static pid_t owner; /* a forked child has a map of its own */

unsigned Initialize(void)
{
    return PROFILING_ON;
}

/* A file of our own: never through somebody's link, nor into what somebody put there. */
static int open_map(const char *path)
{
    struct stat is;
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    if (fd >= 0 &&
        (fstat(fd, &is) != 0 || !S_ISREG(is.st_mode) || is.st_uid != geteuid() || is.st_nlink != 1)) {
        close(fd);
        fd = -1;
    }
    return fd;
}

int NotifyEvent(int event, const void *data)
{
    const struct method *m = data;
    if ((event != METHOD_LOADED && event != METHOD_LOADED_2 && event != METHOD_LOADED_3) || !m || !m->code)
        return 1;
    char line[ITT_NAME_BYTES + 64], name[ITT_NAME_BYTES];
    snprintf(name, sizeof name, "%s", m->name ? m->name : "");
    for (char *c = name; *c; c++)
        if (*c == '\n' || *c == '\r')
            *c = ' ';
    int n = snprintf(line, sizeof line, "%lx %x %s\n", (unsigned long)(uintptr_t)m->code, m->size, name);
    pthread_mutex_lock(&lock);
    if (map < 0 || owner != getpid()) {
        if (map >= 0)
            close(map);
        char path[64];
        owner = getpid();
        snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)owner);
        map = open_map(path);
    }
    bool written = map >= 0 && write(map, line, (size_t)n) == n;
    pthread_mutex_unlock(&lock);
    return written;
}
