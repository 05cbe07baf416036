/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The daemon's remarks, one line each with UTC time. A sentence that comes again within an hour is counted,
 * not written, so that a full disk does not fill it further. The file is opened again on request (SIGHUP)
 * and whenever it has been moved or removed (log rotation). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define CS_DAEMON_LOG_KEPT 16

/* What was written lately. Pure: the time comes in. */
struct cs_daemon_log_memory {
    struct {
        uint64_t hash, written_ns;
        unsigned repeated;
    } kept[CS_DAEMON_LOG_KEPT];
};
/* Whether to write the sentence now; *repeated = how often it was swallowed since it was last written. */
bool cs_daemon_log_admits(struct cs_daemon_log_memory *memory, const char *sentence, uint64_t now_ns,
                          unsigned *repeated);

struct cs_daemon_log {
    const char *path; /* NULL or "" = standard error */
    int fd;
    struct cs_daemon_log_memory memory;
};

void cs_daemon_log_open(struct cs_daemon_log *log, const char *path);
void cs_daemon_log_write(struct cs_daemon_log *log, const char *sentence);
void cs_daemon_notify(struct cs_daemon_log *log, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void cs_daemon_log_close(struct cs_daemon_log *log);
