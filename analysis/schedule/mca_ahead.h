/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Questions asked ahead: who told of them goes on while others ask the model. Internal to this module. Several
 * schedulers of one model may tell the same one: their paths share calls. A caller of what is below holds the lock
 * mca_ahead_lock, which also guards the caches. The thread in the background touches its job and the list's lock.
 */
#pragma once

#include "analysis/schedule/mca_job.h"

struct mca_ahead;

/* NULL: no memory. */
struct mca_ahead *mca_ahead_open(const struct mca_target *target);
/* For one more that tells; NULL: it asks another model. Neither this nor close is called under the lock. */
struct mca_ahead *mca_ahead_share(struct mca_ahead *ahead, const struct mca_target *target);
/* What was told for `cache` has no place any more. The last one's: what nobody began to ask is dropped, the calls at work
 * are waited for. */
void mca_ahead_close(struct mca_ahead *ahead, const struct schedule_cache *cache);
void mca_ahead_lock(struct mca_ahead *ahead);
void mca_ahead_unlock(struct mca_ahead *ahead);
/* Copies the path; its answer goes into `cache`. Asks when there are enough for a call. 0 or -ENOMEM. */
int mca_ahead_tell(struct mca_ahead *ahead, const struct cs_schedule_path *path,
                   struct schedule_cache *cache);
/* Asks for what was told and is not yet asked for; doesn't wait. */
void mca_ahead_start(struct mca_ahead *ahead);
/* Takes answers into their caches; where there is none yet, waits for one. False: nothing is outstanding. */
bool mca_ahead_wait(struct mca_ahead *ahead);
