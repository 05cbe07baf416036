/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The alarm that goes off while a thread runs its own code, and what else of signals may end calls early. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Threads of a program other than the one that stands, and whose calls would end with EINTR.
 *
 * Linux tells a process of a child's end by SIGCHLD. Where nobody handles it, it isn't sent, unless the thread that forked
 * is traced; and where that one stands, another thread is woken for it. So a thread that has children isn't stopped there. The same
 * goes for every signal that a program ignores and that is sent to all of it, when its first thread is traced. */
struct others_woken {
    bool by_children, by_signals;
    uint64_t by_quiet; /* signals that show it only when one comes, bit = number - 1 */
};
/* A signal of this number and si_code stopped the thread. After one that was sent to the whole program, and that would have woken
 * others, there are no bursts of the first thread for a second, and for twice as long after each further one, up to 64 s. */
void alarm_saw_signal(const struct others_woken *woken, int number, int32_t code, uint64_t time_ns);
bool alarm_rests(const struct others_woken *woken, uint64_t time_ns);
/* The number of a signal that does nothing to the thread; 0: there is none now; negative: the thread is gone.
 * `urgent_is_quiet`: so is SIGURG where it is handled; then *deliver says that it must reach the thread. */
int alarm_quiet_signal(uint32_t tid, bool urgent_is_quiet, bool *deliver, struct others_woken *woken);
/* Sets the alarm: the descriptor of an event, whose closing ends it, or negative errno. */
int alarm_set(uint32_t tid, uint32_t lead_ns, int quiet_signal);
/* False, too, where the kernel doesn't tell a thread's children. */
bool has_children(uint32_t tid);
/* A signal, this or another, is on its way to the thread. */
bool signal_is_pending(uint32_t tid);
