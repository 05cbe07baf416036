/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What can be sampled, and how many events at once. */
#pragma once

#define CS_SAMPLER_EVENTS_MAX 16 /* a table entry has 4 bits for the event (hot_table.h) */

enum cs_sampler_target {
    CS_TARGET_ALL,    /* every process of the machine */
    CS_TARGET_PID,    /* a process and what it starts from now on */
    CS_TARGET_COMMAND /* a command that the session starts, and what that starts */
};
