/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Processes that got other rights: by an exec of a set-uid program, or of one that may not be read. The kernel ends a user's
 * events of threads there and tells nobody. Seen if they live for a second. */
#pragma once

struct cs_sampler;

/* Looks once a second, until it has told of one. */
void cs_session_look_for_other_rights(struct cs_sampler *sampler);
