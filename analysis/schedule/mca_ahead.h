/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Questions asked ahead: who told of them goes on while others ask the model. Internal to this room.
 * Threads: the calls below are the owner's alone; what runs beside touches its job and the list's lock. */
#ifndef CS_ANALYSIS_SCHEDULE_MCA_AHEAD_H
#define CS_ANALYSIS_SCHEDULE_MCA_AHEAD_H

#include "analysis/schedule/mca_job.h"

struct mca_ahead;

/* `target` and `cache` outlive it. NULL: no memory. */
struct mca_ahead *mca_ahead_open(const struct mca_target *target, struct schedule_cache *cache);
/* What nobody began to ask is dropped, the calls at work are waited for. */
void mca_ahead_close(struct mca_ahead *ahead);
/* Copies the path. Asks when there are enough for a call. 0 or -ENOMEM. */
int mca_ahead_tell(struct mca_ahead *ahead, const struct cs_schedule_path *path);
/* Asks for what was told and is not yet asked for; doesn't wait. */
void mca_ahead_start(struct mca_ahead *ahead);
/* Takes answers into the cache; where there is none yet, waits for one. False: nothing is outstanding. */
bool mca_ahead_wait(struct mca_ahead *ahead);

#endif
