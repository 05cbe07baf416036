/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The service: a sampling session that never ends.
 *
 * Files of this module:
 *   account           what it may use of CPU time and of the disk
 *   control           the control socket, both ends
 *   daemon            the loop
 *   desk              the thread that serves the socket
 *   due               when to merge and to begin an epoch
 *   log               the daemon's clock and its remarks
 *   session           the sampling session, opened, merged and closed
 *   settings          configuration file and options
 *   state             what these files share
 *   status            what the daemon tells about itself
 *
 * The daemon: a sampling session that never ends, merges on a timer and begins epochs. It keeps the store
 * and its own memory within bounds, and answers on a control socket (dcpi-1997 section 4.3). May be used by
 * cli/. Nothing is printed but the log.
 *
 * What can go wrong, and what then:
 *   a merge fails (disk full, directory read-only)    samples stay in memory, tried again after 1, 2, 4 ... s
 *   the store or the epoch was removed                a new epoch, then merged: nothing is lost
 *   a profile on disk is damaged                      it stays as it is, a new epoch begins
 *   its memory passes the bound                       merges early; still too much: the session starts anew
 *   ... and the store can't be written either         the pending samples are dropped and counted as lost
 *   it used more CPU time than its budget             it rests until that is made up for
 *   its store grew by the day's bound                 without chains and waits first, then it rests
 *   the session fails                                 started anew, after 1, 2, 4 ... s
 *   SIGKILL, power cut                                at most what was sampled since the last merge
 *   the wall clock is stepped                         nothing: time is monotonic
 * Each says so in one sentence in the log. */
#pragma once

#include "sampler/burst/paths.h"
#include "store/base/error.h"

#include <sys/types.h>

struct cs_daemon_setting_given {
    const char *name, *value;
};

struct cs_daemon_start {
    const char *config_file;                     /* read at start and on SIGHUP; NULL = none */
    const struct cs_daemon_setting_given *given; /* options: they win over the file; ends with a NULL name */
    const char *socket_path;                     /* NULL = the default one */
    /* Called once when sampling runs (tell the parent, systemd). */
    void (*ready)(void *arg);
    void *arg;
    /* Starts a process that sends what is new in the store to a server; its remarks go to `log`. Returns its
     * id or <0. NULL = can't. */
    pid_t (*send)(const char *store, const char *url, int log);
    /* Interprets paths; NULL = can't. */
    cs_follow_path_fn follow_path;
    void *follow_arg;
};

/* Runs until it is told to stop (SIGTERM, SIGINT, `stop`). Requests of the socket: "status" (lines of
 * "key value"), "flush", "epoch", "stop". */
int cs_daemon_run(const struct cs_daemon_start *start, struct cs_error *err);
