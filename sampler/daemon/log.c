/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sampler/daemon/log.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

#define SILENCE_NS (3600ull * 1000000000ull)

bool cs_log_memory_admits(struct cs_log_memory *memory, const char *sentence, uint64_t now_ns,
                          unsigned *repeated)
{
    uint64_t hash = XXH3_64bits(sentence, strlen(sentence));
    unsigned oldest = 0;
    *repeated = 0;
    for (unsigned i = 0; i < CS_LOG_KEPT; i++) {
        if (memory->kept[i].said_ns < memory->kept[oldest].said_ns)
            oldest = i;
        if (memory->kept[i].hash != hash || !memory->kept[i].said_ns)
            continue;
        if (now_ns - memory->kept[i].said_ns < SILENCE_NS) {
            memory->kept[i].repeated++;
            return false;
        }
        *repeated = memory->kept[i].repeated;
        oldest = i;
        break;
    }
    memory->kept[oldest].hash = hash;
    memory->kept[oldest].said_ns = now_ns ? now_ns : 1;
    memory->kept[oldest].repeated = 0;
    return true;
}

void cs_daemon_log_open(struct cs_daemon_log *log, const char *path)
{
    cs_daemon_log_close(log);
    log->path = path;
}

/* The file is opened when something is to be said, so that an empty one is never left lying about. */
static int descriptor(struct cs_daemon_log *log)
{
    struct stat ours, there;
    if (!log->path || !log->path[0])
        return STDERR_FILENO;
    if (log->fd > 0 && fstat(log->fd, &ours) == 0 && stat(log->path, &there) == 0 &&
        ours.st_ino == there.st_ino && ours.st_dev == there.st_dev)
        return log->fd;
    if (log->fd > 0)
        close(log->fd);
    log->fd = open(log->path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0644);
    return log->fd > 0 ? log->fd : STDERR_FILENO;
}

void cs_daemon_log_say(struct cs_daemon_log *log, const char *sentence)
{
    struct timespec now;
    struct tm utc;
    char line[1024], when[32], again[48] = "";
    unsigned repeated;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (!cs_log_memory_admits(&log->memory, sentence,
                              (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec, &repeated))
        return;
    if (repeated)
        snprintf(again, sizeof again, " (%u times more since)", repeated);
    time_t wall = time(NULL);
    gmtime_r(&wall, &utc);
    strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", &utc);
    int n = snprintf(line, sizeof line - 1, "%s %.800s%s", when, sentence, again);
    line[n++] = '\n';
    ssize_t written = write(descriptor(log), line, (size_t)n);
    (void)written; /* there is nobody else to tell */
}

void cs_daemon_log_close(struct cs_daemon_log *log)
{
    if (log->fd > 0)
        close(log->fd);
    log->fd = -1;
}
