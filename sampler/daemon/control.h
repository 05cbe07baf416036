/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The daemon's control socket: one request a connection, a line of text. The answer begins with "ok" or
 * "failed", a newline, then text to the end. Only the owner of the daemon and root are served. The socket is
 * in a directory of mode 0700, has mode 0600, and the kernel's word on the peer's user is checked. */
#pragma once

#include "store/base/error.h"

#include <stdbool.h>
#include <stddef.h>

#define CS_DAEMON_CONTROL_PATH_MAX 100 /* sun_path is short */
#define CS_DAEMON_CONTROL_REQUEST_MAX 256
#define CS_DAEMON_CONTROL_ANSWER_MAX 8192

/* $RUNTIME_DIRECTORY/control (systemd), /run/cyclescope/control for root, else $XDG_RUNTIME_DIR/cyclescope or
 * /tmp/cyclescope-UID. */
void cs_daemon_control_default_path(char path[CS_DAEMON_CONTROL_PATH_MAX]);

struct cs_daemon_control {
    int fd, lock; /* listening socket; lock file that says who owns the path */
    char path[CS_DAEMON_CONTROL_PATH_MAX];
};

/* -EADDRINUSE when a daemon is there already. */
int cs_daemon_control_open(struct cs_daemon_control *control, const char *path, struct cs_error *err);
void cs_daemon_control_close(struct cs_daemon_control *control);
/* Waits for a connection and its request. The connection, or -ECONNABORTED: its peer was silent or not allowed to ask. Any other
 * error: there will be none any more. */
int cs_daemon_control_accept(struct cs_daemon_control *control, char request[CS_DAEMON_CONTROL_REQUEST_MAX]);
/* Answers and closes the connection. */
void cs_daemon_control_reply(int fd, bool well, const char *text);
/* Nobody connects from now on; who waits for a connection returns. */
void cs_daemon_control_hang_up(struct cs_daemon_control *control);

/* The other end. 0: *well tells how it went, `text` is the answer. -ENOENT or -ECONNREFUSED: no daemon. */
int cs_daemon_control_ask(const char *path, const char *request, char text[CS_DAEMON_CONTROL_ANSWER_MAX],
                          bool *well, struct cs_error *err);
