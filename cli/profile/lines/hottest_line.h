/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What to look at first: from the row with most samples to a line of source that its reader can change.
 *
 * A procedure without source of its own (libc's, say) runs because somebody calls it. Returns that bursts
 * followed lead from callee to caller, until one has source. Where no bursts were taken it is the first row
 * that has source. Reads debug information and edge profiles of these few images only. */
#pragma once

#include "analysis/contexts/chains.h"
#include "cli/profile/profile.h"

struct hottest_line {
    enum {
        HOTTEST_NOWHERE, /* nothing near the top has source */
        HOTTEST_OWN,     /* the top row's hottest line */
        HOTTEST_CALLER,  /* the line that calls the top row, through others perhaps */
        HOTTEST_LATER,   /* the hottest line of a later row */
        HOTTEST_CHAINS, /* the line that has most samples with what it calls, library code and runtimes too */
    } how;
    const struct profile_row *row; /* the row that has the line, NULL when it has no samples itself */
    char function[256];            /* innermost function at the line */
    char file[1024];               /* as the debug information has it */
    unsigned line;
    bool begins; /* HOTTEST_CHAINS: the function begins there: a runtime's code, of which no more is known */
    unsigned
        second_line; /* of the same file, so close that a sample's address can't tell the two apart; 0: none */
    double second_samples;
    double samples,
        of; /* samples on the line, of its row; HOTTEST_CHAINS: on the line or below it, of all; HOTTEST_CALLER: returns there, of all followed */
};

/* Best effort: what can't be read is as if it weren't there. `chains` are those of the main event. Of a profile of one image
 * (which call chains don't keep to) they aren't asked. */
void hottest_line_find(struct profile *profile, const struct profile_rows *rows,
                       const struct cs_chains *chains, struct hottest_line *out);
/* The line with most samples of a row's procedure: in inlined code it is the inlined function's own line. False: no
 * line has source at hand. */
bool hottest_line_of(const struct profile *profile, const struct profile_row *row, struct hottest_line *out);
/* In words; `top` is the row with most samples. Empty for HOTTEST_NOWHERE. */
void hottest_line_sentence(const struct hottest_line *hottest, const struct profile_row *top, char *text,
                           size_t capacity);
/* The file's name alone: enough for `list`. */
const char *hottest_line_file(const struct hottest_line *hottest);
