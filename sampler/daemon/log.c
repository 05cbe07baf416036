/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Each sentence is remembered by its hash for an hour, whatever its numbers; the oldest of 16 makes way. */
#include "sampler/daemon/log.h"
#include "store/base/clock.h"
#include "store/base/text.h"

#include <assert.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

#define SILENCE_NS (3600ull * 1000000000ull)

static uint64_t hash_of(const char *sentence)
{
    char words[1024];
    size_t n = 0;
    for (const char *c = sentence; *c && n < sizeof words; c++)
        if (*c < '0' || *c > '9')
            words[n++] = *c;
    return XXH3_64bits(words, n);
}

bool cs_daemon_log_admits(struct cs_daemon_log_memory *memory, const char *sentence, uint64_t now_ns,
                          unsigned *repeated)
{
    assert(sentence);
    const uint64_t hash = hash_of(sentence);
    unsigned oldest = 0;
    *repeated = 0;
    for (unsigned i = 0; i < CS_DAEMON_LOG_KEPT; i++) {
        if (memory->kept[i].written_ns < memory->kept[oldest].written_ns)
            oldest = i;
        if (memory->kept[i].hash != hash || !memory->kept[i].written_ns)
            continue;
        if (now_ns - memory->kept[i].written_ns < SILENCE_NS) {
            memory->kept[i].repeated++;
            return false;
        }
        *repeated = memory->kept[i].repeated;
        oldest = i;
        break;
    }
    memory->kept[oldest].hash = hash;
    memory->kept[oldest].written_ns = now_ns ? now_ns : 1;
    memory->kept[oldest].repeated = 0;
    return true;
}

void cs_daemon_log_open(struct cs_daemon_log *log, const char *path)
{
    cs_daemon_log_close(log);
    log->path = path;
}

/* The file is opened when something is to be written, so that an empty one is never left lying about. */
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
    log->fd = open(log->path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
    return log->fd > 0 ? log->fd : STDERR_FILENO;
}

void cs_daemon_log_write(struct cs_daemon_log *log, const char *sentence)
{
    struct tm utc;
    char line[1024], when[32], again[48] = "";
    unsigned repeated;
    if (!cs_daemon_log_admits(&log->memory, sentence, cs_monotonic_ns(), &repeated))
        return;
    if (repeated)
        snprintf(again, sizeof again, " (%u time%s more since)", repeated, repeated == 1 ? "" : "s");
    time_t wall = time(NULL);
    gmtime_r(&wall, &utc);
    strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", &utc);
    char clean[801]; /* names of files and programs stand in it, and somebody reads it on a terminal */
    cs_text_clean(clean, sizeof clean, sentence, strlen(sentence));
    int n = snprintf(line, sizeof line - 1, "%s %s%s", when, clean, again);
    line[n++] = '\n';
    ssize_t written = write(descriptor(log), line, (size_t)n);
    (void)written; /* there is nobody else to tell */
}

void cs_daemon_notify(struct cs_daemon_log *log, const char *format, ...)
{
    char sentence[900];
    va_list args;
    va_start(args, format);
    vsnprintf(sentence, sizeof sentence, format, args);
    va_end(args);
    cs_daemon_log_write(log, sentence);
}

void cs_daemon_log_close(struct cs_daemon_log *log)
{
    if (log->fd > 0)
        close(log->fd);
    log->fd = -1;
}
