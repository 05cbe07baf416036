/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether the bursts of a procedure carry a verdict. The cause with the largest share must be first, and not
 * by the chance of which moments bursts met. */
#pragma once

#include "analysis/culprit/cycle_account.h"

struct cs_culprit_verdict {
    enum cs_culprit_cause first, second; /* by share, static and dynamic together; CS_N_CAUSES: none, or what
                                            nothing explains */
    double first_share, second_share;    /* of the procedure's time */
    enum cs_culprit_cause named;         /* the first of them that is a cause */
    double named_share;
    double bursts; /* that saw the code whose time this is; weighted by that time */
    double needed; /* to tell the first from the second */
    double misfit; /* samples that code would need more than it has by the model, of the procedure's */
    bool obscure;  /* what nothing explains has more than twice the named cause's time */
    bool slight;   /* the named cause has too little of the time: CS_MODEL_VERDICT_LEAST */
    bool
        sketched; /* a static cause that the generic core alone speaks for, with less than that core may be off */
    bool counted; /* counted events speak for most of the first cause */
    bool enough;  /* none of the three above, and bursts >= needed or counted */
};

/* Pure: bursts that it takes to tell two shares of the same time apart, each burst being one draw. */
double cs_culprit_bursts_needed(double first_share, double second_share);

struct cs_culprit_verdict cs_culprit_verdict(const struct cs_cycle_account *account);
