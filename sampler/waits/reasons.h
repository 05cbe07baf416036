/* SPDX-License-Identifier: GPL-2.0-or-later */
/* System calls and the reasons of waits. Pure. */
#ifndef CS_SAMPLER_WAITS_REASONS_H
#define CS_SAMPLER_WAITS_REASONS_H

#include "sampler/waits/wait_records.h"

/* Of a thread that sleeps in this system call. */
enum cs_wait_reason cs_wait_reason_of_call(int call);
/* "futex"; "" where it isn't one of ours. */
const char *cs_wait_call_name(int call);
/* "lock", "run-queue", ...: stable, for files. */
const char *cs_wait_reason_name(enum cs_wait_reason reason);
/* What a descriptor's mode makes of CS_WAIT_DESCRIPTOR and its like; others stay. */
enum cs_wait_reason cs_wait_reason_by_mode(enum cs_wait_reason reason, unsigned mode);

#endif
