/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Steps kept, in memory and between calls in one file: records of (key, n, steps, checksum), appended. The key
 * hashes the model's name and the path's texts. A damaged or foreign file is replaced; a cache that can't be
 * written is no error. Internal to this module. */
#pragma once

#include "analysis/schedule/schedule.h"

struct schedule_cache;

/* `file` NULL: in memory alone. NULL when memory is short; the calls below take NULL. */
struct schedule_cache *schedule_cache_open(const char *file, const char *model);
void schedule_cache_close(struct schedule_cache *cache);
/* *own: by the model, not by the generic core in its place. */
bool schedule_cache_get(struct schedule_cache *cache, const struct cs_schedule_path *path,
                        struct cs_schedule_step *steps, bool *own);
/* Those that aren't the model's own are kept in memory alone. */
void schedule_cache_put(struct schedule_cache *cache, const struct cs_schedule_path *path,
                        const struct cs_schedule_step *steps, bool own);
void schedule_cache_flush(struct schedule_cache *cache);
