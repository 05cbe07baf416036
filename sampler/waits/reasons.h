/* SPDX-License-Identifier: GPL-2.0-or-later */
/* System calls and the reasons of waits. Pure. */
#pragma once

#include "sampler/waits/wait_records.h"

#include <stdint.h>

/* Of a thread that sleeps in this system call. */
enum cs_wait_reason cs_wait_reason_of_call(int call);
enum cs_wait_look cs_wait_look_of_call(int call);
/* "futex"; "" where it isn't one of ours. */
const char *cs_wait_call_name(int call);
/* What the descriptors make of a wait for one: above the lowest four bits of a reason. */
enum cs_wait_refined {
    CS_WAIT_PLAIN,
    CS_WAIT_FOR_CONNECTIONS = 1 << 4, /* a listening socket: "accept" */
    CS_WAIT_FOR_CLIENT = 2 << 4,      /* somebody who has nothing to ask: "client" */
    CS_WAIT_FOR_EVENTS = 3 << 4,      /* nothing that is under way: "events" */
    CS_WAIT_FOR_SOCKET = 4 << 4,
    CS_WAIT_FOR_PIPE = 5 << 4,
    CS_WAIT_FOR_RESOLVER = 6 << 4,
    CS_WAIT_FOR_TIME = 7 << 4,      /* poll and select of nothing: "sleep" */
    CS_WAIT_FOR_FILE_LOCK = 8 << 4, /* flock and fcntl */
};

/* "lock", "run-queue", "poll:socket", ...: stable, for files. Behind a colon stands what it was refined to. */
const char *cs_wait_reason_name(unsigned reason);
/* An enum cs_wait_reason with its cs_wait_refined; `tick_ns` is the kernel's jiffy. */
unsigned cs_wait_reason_of_record(const struct cs_wait_record *record, uint64_t tick_ns);
