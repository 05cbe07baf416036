/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The alarm that goes off while a thread runs its own code. */
#ifndef CS_SAMPLER_BURST_HOLDER_ALARM_H
#define CS_SAMPLER_BURST_HOLDER_ALARM_H

#include <stdbool.h>
#include <stdint.h>

/* The number of a signal that does nothing to the thread; 0: there is none now; negative: the thread is gone.
 * `urgent_is_quiet`: so is SIGURG where it is handled; then *deliver says that it must reach the thread. */
int alarm_quiet_signal(uint32_t tid, bool urgent_is_quiet, bool *deliver);
/* Sets the alarm: the descriptor of an event, whose closing ends it, or negative errno. */
int alarm_set(uint32_t tid, uint32_t lead_ns, int quiet_signal);
/* A signal is on its way to the thread. */
bool signal_is_pending(uint32_t tid);
/* Linux tells a process of a child's end by SIGCHLD. Where nobody handles it, it isn't sent, unless the thread that
 * forked is traced; and where that one stands, another thread is woken for it. Some of that one's calls then end with
 * EINTR. So where this holds, threads that have children aren't stopped (false where the kernel doesn't tell them). */
bool children_wake_others(uint32_t tid);
bool has_children(uint32_t tid);

#endif
