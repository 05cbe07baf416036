/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The point profiles of a store and their sums. The folders hold the reports of them, and none is included here:
 *   called/  time in libraries and in the kernel, by the line that caused it
 *   lines/   samples and waits of lines
 *   phases/  the subcommand phases
 *   prof/    the subcommand prof
 *
 * Files of this module:
 *   profile          the point profiles of a store, by event and image
 *   profile_sum      samples by image, procedure, line, process or tag
 *   ask_debuginfod   images whose files or names only a server still has
 *   nameless         samples without a name, and what would name them
 *   call_columns     calls that were counted, as columns
 *   totals           rows with what procedures called
 *   more_evidence    what a user can do where nobody followed the code
 *
 * The point profiles of a store, gathered for a report: which events, which images, and their samples summed
 * by image, procedure, line, process or tag.
 *
 *     struct profile p;
 *     if (profile_open(&p, store_location(args), &(struct profile_filter){0}, &err) < 0) return failed(&err);
 *     struct profile_rows rows;
 *     if (profile_sum(&p, BY_PROCEDURE, &rows, &err) == 0) ... rows.row[i].samples[p.main_event] ...
 *     profile_rows_fini(&rows); profile_close(&p);
 *
 * profile_open reads heads only; profile_sum loads tables image by image on all CPUs, and forgets them again.
 */
#pragma once

#include "cli/command/recordings.h"
#include "cli/output/image_name.h"
#include "image/code.h"
#include "store/base/map.h"
#include "store/store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROFILE_SAMPLES_FEW 100 /* of a procedure: its share is known within a fifth of its value */

struct profile_filter {     /* NULL = all */
    const char *image;      /* path, base name or build-id prefix */
    const char *label;      /* process */
    const char *epoch;      /* as recordings_open takes it: NULL = the newest recording */
    const char *main_event; /* what shares are of, else cycles, cpu-clock, or the one with most profiles */
    bool chains;            /* the report is of chains, waits or labels */
};

struct profile_event {
    char name[64], unit[16];
    uint64_t samples; /* filled by profile_sum; with those of idle CPUs */
    uint64_t period_sum, enabled_ns, running_ns;
    unsigned n_profiles;
    bool precise; /* its samples are at the instruction itself, not at the next */
};

struct profile_part { /* one file of the store */
    unsigned event;
    const struct cs_store_profile_ref *ref;
};

struct profile_image {
    struct cs_store_image image; /* strings are the store's */
    struct profile_part *parts;
    unsigned n_parts, capacity;
    bool fileless; /* filled by profile_sum by names: neither its file nor a copy was found */
};

struct profile {
    struct cs_store *store;
    struct recordings recordings; /* what of the store is read */
    bool one_image;               /* the filter asked for an image */
    struct profile_event *events;
    unsigned n_events, main_event, events_capacity;
    struct profile_image *images;
    size_t n_images, images_capacity;
    struct cs_map by_id; /* images */
    const struct cs_store_profile_ref *
        *edges; /* "burst-edges" and branch records of what the filter lets pass */
    size_t n_edges, edges_capacity;
    const char **epochs;
    unsigned n_epochs, epochs_capacity;
};

int profile_open(struct profile *profile, const char *path, const struct profile_filter *filter,
                 struct cs_error *err);
void profile_close(struct profile *profile);
/* NULL: it has no samples of such an image. */
const struct profile_image *profile_image_of(const struct profile *profile, const char *id);
/* Fails with a sentence where the recording has no code at all, only what the observer saw under tags. */
int profile_needs_code(const struct profile *profile, struct cs_error *err);
/* Calls visit(offset, samples) for the points of one event of an image (event < 0: all events), part by part,
 * each ascending. */
int profile_points(const struct profile_image *image, int event,
                   void (*visit)(unsigned event, const char *label, uint64_t offset, uint64_t samples,
                                 void *arg),
                   void *arg, struct cs_error *err);
/* The instruction that a sample of an event is charged to in reports of lines (cs_image_charged). */
uint64_t profile_charged(const struct profile *profile, unsigned event, struct cs_image_code *code,
                         uint64_t offset);
/* The samples of one event of an image as one table, NULL when it has none. The caller closes it. */
int profile_merged(const struct profile_image *image, unsigned event, struct cs_table **out,
                   struct cs_error *err);
struct cs_edge_flow;
/* All edges of the store, solved: on a terminal with a bar, because the first time takes seconds.
 */
int profile_edge_flow(const struct profile *profile, struct cs_edge_flow **out, struct cs_error *err);
/* The code of an image, closed as cs_image_open's. The first images stay open until profile_close: symbols are read and
 * debug information is unpacked once, whoever looks. NULL: no memory. */
struct cs_image_code *profile_code(const struct profile *profile, const struct profile_image *image);
/* Index of an event, -1 when there is none. */
int profile_event_index(const struct profile *profile, const char *name);
/* The observer's profile counts cycles, not samples. */
bool profile_is_observed(const struct profile_event *event);
/* Each event of it, not one of many: cyclescope count's. */
bool profile_is_counted(const struct profile_event *event);
/* "samples", "TSC cycles", "counted" */
const char *profile_unit(const struct profile_event *event);
/* Events that other reports need and a table of samples doesn't: where bursts began. */
bool profile_is_inner(const char *event);

enum profile_by { BY_IMAGE, BY_PROCEDURE, BY_LINE, BY_PROCESS, BY_TAG };

struct profile_row {
    const struct profile_image *image; /* NULL when the row is of several images (BY_PROCESS) */
    char *name;        /* procedure as the linker knows it, process, tag; NULL = no name known, or BY_IMAGE */
    char *file;        /* BY_LINE; NULL unknown */
    unsigned line;     /* BY_LINE; 0 unknown */
    unsigned begin;    /* BY_LINE: the line that its function begins at; 0 unknown */
    uint64_t start;    /* of the procedure, the tag's value */
    bool readable;     /* BY_PROCEDURE: its instructions are in a file, or were kept (made code) */
    uint64_t *samples; /* by event */
};

struct profile_rows {
    struct profile_row *row; /* descending by samples of main_event, then of all events, then by name */
    size_t n, capacity;
    uint64_t *total;  /* by event */
    uint64_t unknown; /* of main_event, in images of kind CS_IMAGE_UNKNOWN */
    uint64_t idle;    /* of main_event, in the kernel's idle loop: in no row and no total (BY_PROCEDURE) */
    unsigned n_events;
    char trouble[512]; /* why an image of kind ELF has no names of its own file; "" = none */
};

/* Also fills events[].samples. */
int profile_sum(struct profile *profile, enum profile_by by, struct profile_rows *rows, struct cs_error *err);
/* The same, but only the first `most` rows are in order (0 = all): sorting a hundred thousand takes longer
 * than summing them. */
int profile_sum_top(struct profile *profile, enum profile_by by, size_t most, struct profile_rows *rows,
                    struct cs_error *err);
void profile_rows_fini(struct profile_rows *rows);
