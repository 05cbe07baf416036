/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Accounts that were begun, finished on all CPUs and taken in order: results wait, a few at a time, for their turn.
 *
 *     finish_ahead_open(&f, begun, n, &err);
 *     for (i = 0; i < n; i++) finish_ahead_take(f, i, &account);
 *     finish_ahead_close(f);
 *
 * What is begun belongs to it from the call on. One owner; the images' evidence and scheduler are read and asked by its
 * threads until it is closed. */
#pragma once

#include "analysis/culprit/account/cycle_account.h"

struct finish_ahead;

/* Who takes among them; and accounts that are finished, or being finished, and wait to be taken. */
enum { FINISH_AHEAD_THREADS_MAX = 8, FINISH_AHEAD_WAITING_MAX = 16 };

/* `begun` (n, copied) may hold NULLs: nothing was begun there. */
int finish_ahead_open(struct finish_ahead **out, struct cs_cycle_account_begun *const *begun, size_t n,
                      struct cs_error *err);
/* The i-th account; each i once, ascending. Nonzero: there is none, -ENOENT where nothing was begun. */
int finish_ahead_take(struct finish_ahead *f, size_t i, struct cs_cycle_account **out);
/* NULL does nothing. What nobody took is dropped. */
void finish_ahead_close(struct finish_ahead *f);
