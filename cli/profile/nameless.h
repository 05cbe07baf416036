/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Samples whose procedure has no name: how many, of which images, why, and what would name them. */
#pragma once

#include "cli/output/output.h"
#include "cli/profile/profile.h"

/* Of rows by procedure: samples of the main event without a name. */
uint64_t nameless_samples(const struct profile *profile, const struct profile_rows *rows);
/* A note for each image that matters. */
void nameless_explain(struct output *out, const struct profile *profile, const struct profile_rows *rows);

#define NAMELESS_REMEDY "Its debug package (-dbgsym, -debuginfo) or an unstripped build names them."
/* "sub_1a2b": after an address, from unwind tables. */
bool nameless_is_made_up(const char *name);
