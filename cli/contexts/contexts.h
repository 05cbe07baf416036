/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reports of call chains: who called, what was called, the whole tree.
 *
 * Files of this module:
 *   contexts   the chains of a store's main event, as the options say
 *   callers    the subcommands callers and callees
 *   tree       the subcommand tree
 *   waits      the subcommand waits
 *   critical_path  its --critical-path
 */
#pragma once

#include "analysis/contexts/call_counts.h"
#include "analysis/contexts/calls.h"
#include "cli/output/output.h"
#include "cli/profile/profile.h"

struct chains {
    struct profile profile;
    struct cs_calls calls;
    struct cs_call_counts counts; /* after chains_count */
    bool counted;
    double period; /* mean, of a sample: after chains_count */
    const char *event, *store;
    bool waits; /* the chains are of waits: counts are ns */
};

/* From the options store, event, process, epoch and no-inlines. Says what is wrong and returns an exit code; 0 = open. Without
 * `needs_chains` a store with edges alone will do. */
int chains_open(struct chains *chains, const struct parsed *args, bool needs_chains, bool by_label);
/* How often functions called one another, where bursts or branch records tell. */
int chains_count(struct chains *chains, const struct parsed *args, struct cs_error *err);
void chains_close(struct chains *chains);
/* The number of the function with that name; NULL is the one with most samples of its own. 0: said that there is none. */
uint32_t chains_function(const struct chains *chains, const char *name);
/* What a frame is called: its name (brief in text), and that it was inlined. */
const char *chains_frame(const struct chains *chains, const struct cs_contexts *tree, uint32_t node,
                         bool brief, char *text, size_t room);
const char *chains_image(const struct cs_call_function *function);
/* A line of what the shares are of, and JSON's "event", "total" and "with_chains". */
void chains_describe(const struct chains *chains, struct output *out);
