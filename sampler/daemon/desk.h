/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The desk is a thread that serves the control socket. So a status is answered while the main thread waits for something else.
 * The desk asks the main thread for a new status and waits CS_DAEMON_DESK_PATIENCE_MS. After that it gives the status that was
 * published last, with its age. It answers "stop" at once and sends SIGTERM. All other requests are queued for the main thread.
 *
 *     main thread, each turn:  cs_daemon_desk_serve(desk, answer, daemon)
 *
 * May be used by daemon.c. Functions: main thread. */
#pragma once

#include "sampler/daemon/control.h"

#define CS_DAEMON_DESK_PATIENCE_MS 200

struct cs_daemon_desk;

/* Returns its answer to a request, "status" among them; says whether it went well. */
typedef bool cs_daemon_answer_fn(const char *request, char text[CS_DAEMON_CONTROL_ANSWER_MAX], void *arg);

/* All signals must be blocked that the main thread takes by a descriptor. *wake: readable when there is something to serve. */
int cs_daemon_desk_open(struct cs_daemon_control *control, struct cs_daemon_desk **desk, int *wake,
                        struct cs_error *err);
/* Serves what waits; publishes a status if one was asked for, or something was done. */
void cs_daemon_desk_serve(struct cs_daemon_desk *desk, cs_daemon_answer_fn *answer, void *arg);
void cs_daemon_desk_publish(struct cs_daemon_desk *desk, cs_daemon_answer_fn *answer, void *arg);
/* Requests that weren't served are refused. NULL: nothing happens. */
void cs_daemon_desk_close(struct cs_daemon_desk *desk);
