/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What an account of cycles comes to: a first cause, or none. The folders hold how it is made, and none includes this one:
 *   classify/  a stall, and which instruction is responsible
 *   evidence/  what a store has about an image
 *   account/   the cycles of each instruction of a procedure
 *
 * Files of this module:
 *   verdict        whether the evidence carries a first cause
 *   verdict_model  constants of these alone
 *   flat           a program of many small functions, as one
 *   flat_verdict   its first cause
 *   removed        what a loop's time lost without a thing
 *   spin           a loop that only another thread can end
 *
 * Whether the bursts of a procedure carry a verdict. The cause with the largest share must be first, and not
 * by the chance of which moments bursts met. */
#pragma once

#include "analysis/culprit/account/cycle_account.h"

enum { CS_VERDICT_SEVERAL_MAX = 4 };

struct cs_culprit_verdict {
    enum cs_culprit_cause first, second; /* by share, static and dynamic together; CS_N_CAUSES: none, or what
                                            nothing explains */
    double first_share, second_share;    /* of the procedure's time */
    enum cs_culprit_cause named;         /* the first of them that is a cause */
    double named_share;
    enum cs_culprit_cause rival; /* the next largest; what nothing explains only if the named is first */
    double rival_share;
    double bursts; /* that saw the code whose time this is; weighted by that time */
    double needed; /* to tell the first from the second */
    double misfit; /* samples that code would need more than it has by the model, of the procedure's */
    /* What nothing explains has more than twice the named cause's time, or, where the schedule alone speaks for that, more. */
    bool obscure;
    bool slight; /* the named cause has too little of the time: CS_MODEL_VERDICT_LEAST */
    /* Most of the time goes to operations at the core's full width. A cause that the schedule alone speaks for has less than
     * the schedule may be off: CS_MODEL_SCHEDULE_OFF_MAX. */
    bool at_width;
    double work; /* what those operations take, of the procedure's time */
    bool timed;  /* a clock or a counter gave the cycles, not the model alone */
    bool
        sketched; /* a static cause that the generic core alone speaks for, with less than that core may be off */
    /* First only because timed bursts lift the scale: by the fit it has no more than the second. No number of bursts tells
     * them apart then. */
    bool lifted;
    /* A verdict at the most executions that timed bursts allow, and none at as many as they say; what has no cause then. */
    bool stretched;
    double unknown_as_timed;
    /* A static cause where another thread writes lines of this code. The fit took what that costs for cycles of the schedule:
     * nothing timed it, or it may be as much. Or a chain through memory, or a lock, where false sharing of its line may cost
     * as much. Or sharing, which at the least that such a line costs wouldn't be first. */
    bool contended;
    /* A static cause where returns that are guessed wrong may cost half as much (CS_MODEL_RETURNS_DOUBT): behind them the
     * model's latencies are no waits. Or these returns, which at the least that they cost wouldn't be first: some processors
     * learn such returns. */
    bool returns;
    /* Denormal numbers would look like the named cause: arithmetic has most of the samples, and nothing says what it
     * should take. Bursts didn't look for them; or they met them, which leaves no verdict. */
    bool values_unknown, denormal;
    bool
        unconfirmed; /* most of it is named only because nothing rules it out: bursts saw none of these accesses */
    bool refuted; /* without the named cause its loop is as fast, by experiment (removed.h) */
    bool counted; /* counted events speak for most of the first cause */
    bool enough;  /* none of those above but values_unknown, and bursts >= needed or counted */
    unsigned
        n_several; /* where the first can't be told: causes that share the time, most first. None has half of it, and there
                           are bursts enough to say that; 0 = no such verdict */
    enum cs_culprit_cause several[CS_VERDICT_SEVERAL_MAX];
    double several_share[CS_VERDICT_SEVERAL_MAX];
};

/* Pure: bursts that it takes to tell two shares of the same time apart, each burst being one draw. */
double cs_culprit_bursts_needed(double first_share, double second_share);

struct cs_culprit_verdict cs_culprit_verdict(const struct cs_cycle_account *account);
