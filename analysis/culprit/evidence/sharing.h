/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What bursts saw of lines that threads take from each other, of one instruction. */
#pragma once

#include "analysis/culprit/classify/culprit.h"
#include "store/table/table.h"

/* Fills the two members of `f` about sharing; its `executions` are known. `table`: of schema sharing, or NULL. */
void culprit_take_sharing(struct cs_table *table, uint64_t offset, struct cs_culprit_memory *f);
