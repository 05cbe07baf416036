/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which filtering fits what is read (dte/dte.h tells why). */
#pragma once

#include "dte/dte.h"

/* Counters in memory only: no band; readings of more than 1 us are disturbed (a line crosses in 30 to 200
 * ns). Where a reading usually takes longer (`usual_cycles`: a system call for each variable) those of more than three
 * times as long are. */
static inline void cs_observe_memory_rule(struct cs_dte_rule *rule, double cycles_per_second,
                                          uint64_t usual_cycles)
{
    uint64_t slow = (uint64_t)(cycles_per_second * 1e-6);
    rule->band_q32 = CS_DTE_NO_BAND;
    rule->slow_cycles = slow > 3 * usual_cycles ? slow : 3 * usual_cycles;
}
