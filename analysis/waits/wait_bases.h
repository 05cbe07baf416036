/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Kinds of waits that the kernel's part has one name for. */
#pragma once

#include "analysis/waits/wait_groups.h"

/* Which of them a reason and its system call belong to; -1: none. */
int cs_wait_base_of(const char *reason, const char *call);
/* Their totals are divided as the waits that were kept are: their sum stays exact. */
void cs_wait_refine_totals(struct cs_wait_groups *groups);
