/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the observer saw: observe, hist, tags, timeline, signals.
 *
 * Files of this module:
 *   observe            the subcommand observe
 *   events             the events of observe -e
 *   own_session        the observer in a session of its own
 *   observed           what was seen, printed
 *   observed_source    where it comes from: a log or a store
 *   series             what counters and ratios are called, and their units
 *   histogram_rows     bins as rows and bars
 *   overlay            distributions beside each other
 *   hist               the subcommand hist
 *   measured_sections  what a program measured of itself
 *   tags               the subcommand tags
 *   lengths            how long values of a tag stood
 *   timeline           the subcommand timeline
 *   thread_lines       ... of the threads of a recording
 *   thread_names       names of threads, of ended ones too
 *   signals            the subcommand signals
 *   variables          plain variables of a program, where they lie
 *   addresses          what address tags mean
 *
 * What an observer saw, in the form that `observe`, `hist` and `tags` print. It comes from a run that just
 * ended, a log, or a store.
 */
#pragma once

#include "cli/output/output.h"
#include "observer/sample/sink.h"

#include <stddef.h>

struct observed {
    const struct cs_sink *sink;
    const char *program;
    double hz; /* TSC cycles a second */
    const char *tags[CS_TAGS_MAX], *counters[CS_COUNTERS_MAX];
    bool raw;        /* show the counters that ratios are made of, too */
    bool timed_each; /* the clock was read at each sample */
    uint64_t asked_cycles;
    /* Name of a tag's value, or NULL. */
    const char *(*name)(void *arg, unsigned tag, uint64_t value);
    void *arg;
};

/* Achieved period and gaps, and what filtering kept and dropped. */
void observed_summary(struct output *out, const struct observed *o);
void observed_filtering(struct output *out, const struct observed *o);
/* One row a value of tag `tag`, by cycles; `top` 0 = all. */
void observed_tags(struct output *out, const struct observed *o, unsigned tag, uint64_t top);
/* Histogram of a series (series.h): of all kept intervals, or of those with one value of the first tag. */
void observed_histogram(struct output *out, const struct observed *o, unsigned series, const uint64_t *value);
/* "parse", or the number where it has no name, or what the special values mean. */
void observed_value(const struct observed *o, unsigned tag, uint64_t value, char *to, size_t size);

/* ---- drawing ---- */
/* A bar of `share` of `width` cells in eighths of a block, into `to` (3 * width + 1 bytes). */
void bar_draw(char *to, double share, unsigned width);
struct histogram_row {
    double least, most; /* of the value */
    double share;       /* of all */
};
/* Joins bins into at most `rows` rows between the 0.1th and 99.9th percentile; `edge(bin)` gives the least
 * value of a bin. Returns the number of rows; *outside is the share that lies beyond them. */
unsigned histogram_rows(const double *bins, unsigned n_bins, double (*edge)(unsigned bin), unsigned rows,
                        struct histogram_row *out, double *outside);
