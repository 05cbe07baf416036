/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What to look at first: from the row with most samples to a line of source that its reader can change.
 *
 * A procedure without source of its own (libc's, say) runs because somebody calls it: returns that bursts
 * followed tell who, from caller to caller, until one has source. Where no bursts were taken it is the first
 * row that has source. Reads debug information and edge profiles of these few images only. */
#ifndef CS_CLI_LOOK_H
#define CS_CLI_LOOK_H

#include "cli/profile/profile.h"

struct look {
    enum {
        LOOK_NOWHERE, /* nothing near the top has source */
        LOOK_OWN,     /* the top row's hottest line */
        LOOK_CALLER,  /* the line that calls the top row, through others perhaps */
        LOOK_LATER,   /* the hottest line of a later row */
    } how;
    const struct profile_row *row; /* the row that has the line, NULL when it has no samples itself */
    char function[256];            /* innermost function at the line */
    char file[1024];               /* as the debug information has it */
    unsigned line;
    double part, whole; /* samples on the line, of its row; LOOK_CALLER: returns there, of all followed */
};

/* Best effort: what can't be read is as if it weren't there. */
void look_first(struct profile *profile, const struct profile_rows *rows, struct look *out);
/* In words; `top` is the row with most samples. Empty for LOOK_NOWHERE. */
void look_sentence(const struct look *look, const struct profile_row *top, char *text, size_t room);
/* The file's name alone: enough for `list`. */
const char *look_file(const struct look *look);

#endif
