/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The cause that grew in a function that is to blame. Of instructions and waits it is what they are. Of pace it is calc's, from
 * recordings with bursts: base.causes.store, next to base.store. Where that isn't, base.store itself may have bursts.
 *
 * Files of this module:
 *   cause          the cause that grew: asks calc
 *   cause_compare  ... and compares its answers of base and head
 *   surely_grew    is it evidence against layout? By each recording by itself
 *   unproven       is it layout? By the causes that grew */
#pragma once

#include "cli/gate/verdict/verdict.h"

/* Is it slower, or is layout unproven, by a function without a cause? */
bool gate_wants_causes(const struct gate *gate);
/* Without such stores, or without enough evidence, none is named. */
void gate_find_causes(struct gate *gate);
/* The verdict where the pace grew and the work didn't: a cause that grew makes it slower, one of places is layout, none can't
 * tell. */
void gate_settle_layout(struct gate *gate);
