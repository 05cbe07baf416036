/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Joins sampler/burst/paths.h, which notes where threads are, and analysis/interpret/abstract_run.h, which says where they go. */
#pragma once

#include "sampler/burst/paths.h"

struct path_follower;

int path_follower_open(struct path_follower **out, struct cs_error *err);
void path_follower_close(struct path_follower *follower);
/* For struct cs_paths_config: `arg` is the follower. Sessions may change, one at a time. */
void follow_path(void *arg, struct cs_sampler *sampler, const struct cs_thread_state *state,
                 struct cs_followed_path *path);
