/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which signals of the target a loop reads, and from which thread's line. Waits for the target to define
 * them. */
#pragma once

#include "observer/observer.h"
#include "signals/reader/reader.h"

struct cs_observe_choice {
    struct cs_seen_signal tags[CS_TAGS_MAX], counters[CS_COUNTERS_MAX];
    unsigned n_tags, n_counters;
    char left_names[160]; /* of these, separated by commas */
    unsigned left_out;    /* signals that exist and found no room, when none was named */
};

/* Whether any signal is named that the target (not the os source) must define, or that the os source gives.
 */
bool cs_observe_choose_needs_target(const struct cs_observe_options *options);
bool cs_observe_choose_needs_os(const struct cs_observe_options *options);
bool cs_observe_choose_is_os(const struct cs_seen_signal *signal);
/* The tags of the os source, for a target that publishes nothing. */
void cs_observe_choose_os_tags(const struct cs_observe_options *options, struct cs_observe_choice *choice);
/* That which tells threads apart, unless it is there; false: no room. */
bool cs_observe_choose_add_thread(struct cs_observe_choice *choice);
/* Opens the target's segment and finds the wished signals in it; options->over ends the waiting. */
int cs_observe_choose_signals(const struct cs_observe_options *options, struct cs_observe_target *target,
                              struct cs_reader **reader, struct cs_observe_choice *choice,
                              struct cs_error *err);
/* The line of the wished thread, else of the one whose signals change most. */
int cs_observe_choose_line(const struct cs_observe_options *options, const struct cs_reader *reader,
                           const struct cs_observe_choice *choice, struct cs_observe_target *target,
                           uint32_t *line, pid_t *thread, unsigned *threads, struct cs_error *err);
