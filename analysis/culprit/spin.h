/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Does a procedure spend its time in a loop that waits for another thread to change memory? Proven by its text. */
#pragma once

#include "analysis/culprit/account/cycle_account.h"

struct cs_culprit_spin {
    double samples; /* of the loop */
    uint64_t load;  /* of the word that it waits for, where there are several the one with most samples */
};

/* The loop of the hottest block. False: it isn't one, or nobody knows which blocks are a loop. */
bool cs_culprit_spin(const struct cs_cycle_account *account, enum cs_isa isa, struct cs_culprit_spin *spin);
