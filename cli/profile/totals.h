/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows of procedures with the totals of the store's call chains. */
#pragma once

#include "analysis/contexts/calls.h"
#include "cli/profile/profile.h"

/* Rows BY_PROCEDURE in the order of totals, those that only called included. 0 or -ENOMEM. */
int profile_rows_sort_by_total(struct profile_rows *rows, const struct profile *profile,
                               const struct cs_calls *calls);
/* The same rows; samples of the main event become totals. */
int profile_rows_take_totals(struct profile_rows *rows, const struct profile *profile,
                             const struct cs_calls *calls);
