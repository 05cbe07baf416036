/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Profiles in the formats of other tools.
 *
 * Files of this module:
 *   export          what all exporters see
 *   chains          call chains of a store, for those that write samples
 *   table           csv, json
 *   stacks          folded, speedscope
 *   firefox         the Firefox Profiler's format
 *   pprof           profile.proto
 *   otlp            OpenTelemetry's profiles
 *   push            pprof in the messages of Pyroscope and Parca
 *   protobuf        the wire format of both
 *   places          locations, functions, lines and the period of both
 *   llvm            LLVM's text profile
 *   gcov            AutoFDO's gcov profile
 *   bolt            BOLT's profile
 *   bolt_names      functions as BOLT calls them
 *   source_profile  how often source locations ran
 *   source_loss     what of it the format cannot hold
 *
 * An exporter is a file with one descriptor; the table in export.c lists them. All of them see the same
 * thing: the store's profiles of the chosen event and image, merged over epochs and labels. They are points,
 * stacks and edges per image, with the image's code for names and lines.
 *
 * A new exporter NAME needs
 *
 *  1. a file here, in the list above, with `const struct cs_exporter cs_export_NAME` (struct cs_exporter says
 *     what its `write` does),
 *  2. in export.c: a name in the `extern` line, and a line in the table cs_exporters,
 *  3. its name in the help of --format and a line in the long help (cli/exchange/export.c), and its name in
 *     cli/completion.c. These are text, repeated by hand; command_line.sh compares them,
 *  4. a row in docs/exchange.md; scripts/options-page writes docs/options.md,
 *  5. its name in the loops of tests over formats (`grep -rl firefox tests/integration`), and in
 *     export_formats.sh a check of its total.
 */
#pragma once

#include "analysis/frequency/edge_flow.h"
#include "image/code.h"
#include "store/contexts.h"
#include "store/store.h"

#include <stdio.h>

struct cs_exported_profile {
    char event[64], unit[16];
    enum cs_kind kind;
    const char *kind_name;
    uint64_t period_sum;    /* of all its samples, in `unit` ("ns", "cycles", "events"): store.h */
    struct cs_table *table; /* merged over epochs and labels */
    struct cs_table
        *bare; /* of points, where some epochs or labels have call chains: those of the others; else NULL */
    bool chained; /* of points: some have chains, so that `bare` counts instead */
};

struct cs_exported_image {
    struct cs_store_image image; /* strings are the store's */
    struct cs_image_code *code;
    struct cs_exported_profile *profiles;
    unsigned n_profiles;
    bool wanted; /* passed the filter; others are only called from */
};

struct cs_export_chains { /* of one event */
    char event[64];
    struct cs_contexts *tree;
};

/* Who wants to know how far it is: `unit` is "images", "solutions", "procedures", "branches" or "rows", in
 * which `done` and `total` count; another unit is another stage. NULL: nobody. */
struct cs_export_watch {
    void (*tell)(const char *unit, uint64_t done, uint64_t total, void *arg);
    void *arg;
};

struct cs_export {
    struct cs_store *store; /* for what spans images: edges */
    struct cs_exported_image *images;
    unsigned n_images;
    struct cs_exported_image contexts; /* the pseudo-image of profiles of contexts */
    struct cs_export_chains *chains;   /* call chains by event, also of older stores and imports */
    unsigned n_chains;
    struct cs_table *chained; /* its first n_noted texts: the epochs, labels and events that have chains */
    size_t n_noted;
    bool filtered;        /* by image */
    bool chosen;          /* an event was asked for: also one that is no sample, as "burst-starts" */
    const char *service;  /* what receivers call the source of the profiles; NULL: nothing */
    char host[256];       /* where they were taken; "": unknown, or several */
    int64_t began;        /* the oldest recording, seconds since 1970; 0 = not known */
    uint64_t duration_ns; /* of all recordings together; 0 = not known */
    struct cs_export_watch watch;
    uint64_t rows_done, rows_total; /* of all profiles; an exporter that passes twice doubles the total */
    /* What an exporter has to say of its work: what the format couldn't hold; "" nothing. `write` fills it,
     * with one line; the subcommand prints it: on standard output where the format goes to a file (--to), else
     * on standard error. */
    char note[512];
};

struct cs_exporter {
    const char *name; /* as --format has it */
    bool binary;      /* not to a terminal */
    /* Writes all of it to `to`, which the caller opens, flushes and closes. It may be a pipe: never seek.
     * 0, or a negative errno with its sentence in `err`: memory is out, or there is nothing that the format
     * can hold (ENODATA). Failures of `to` itself aren't its affair: the caller asks ferror. Counts of points
     * and stacks are samples; `period_sum` makes time or events of them. */
    int (*write)(struct cs_export *from, FILE *to, struct cs_error *err);
};

extern const struct cs_exporter *const cs_exporters[]; /* NULL-terminated */
/* Messages that only a receiver understands: not in the list. */
extern const struct cs_exporter cs_export_otlp, cs_export_pyroscope, cs_export_parca;

/* `event` and `image` (a path, its last part, or an id) choose; NULL = all. Fails when nothing is left.
 * `watch` may be NULL. */
int cs_export_open(struct cs_store *store, const char *event, const char *image,
                   const struct cs_export_watch *watch, struct cs_export *out, struct cs_error *err);
void cs_export_close(struct cs_export *from);
void cs_export_report_progress(const struct cs_export *from, const char *unit, uint64_t done, uint64_t total);
/* For who walks through the rows of profiles by itself: once for each row, whether it is written or not.
 * cs_export_each_stack does so already. Tells every 256th. */
void cs_export_row_done(struct cs_export *from);
/* The edges of the store, solved. */
int cs_export_edge_flow(struct cs_export *from, struct cs_edge_flow **out, struct cs_error *err);

struct cs_exported_image *cs_export_image(const struct cs_export *from,
                                          const char *id); /* NULL: there is none */
/* Name of the procedure at an offset for people; "libc.so.6+0x1234" where there is none. */
const char *cs_export_name(struct cs_exported_image *image, uint64_t offset, char *text, size_t capacity);
/* Whether a symbol can stand in a format that is lines of words without escapes: clean text without blanks.
 * Another one (no compiler makes it) would forge a line, or act on a terminal: leave out what bears it. To be
 * asked for each name that goes into such a format; formats that escape or count bytes needn't. */
bool cs_export_name_is_word(const char *name);

/* Calls `visit` for each call chain of a wanted image's samples, and for the points of what has no chains (a stack of
 * one frame); for counts that are no samples ("burst-starts", "wakers") only where that event was asked for. frames[0] is the leaf; offsets of callers lie within their calls. Non-zero stops and is
 * returned. */
struct cs_export_frame {
    struct cs_exported_image *image; /* NULL: not in the store; with offset 0: contexts too rare to be kept */
    uint64_t offset;
};
int cs_export_each_stack(struct cs_export *from,
                         int (*visit)(const char *event, const struct cs_export_frame *frames, size_t n,
                                      uint64_t samples, void *arg),
                         void *arg);

/* Time off the CPU: its counts are ns, not samples. */
bool cs_export_is_off_cpu(const char *event);
const char *cs_export_unit(const char *event);

/* The events that cs_export_each_stack speaks of, most samples first, time off the CPU last: what a viewer shows before it is
 * asked.
 * <0 where memory is out. */
#define CS_EXPORT_EVENTS_MAX 64
struct cs_export_events {
    char names[CS_EXPORT_EVENTS_MAX][64];
    uint64_t samples[CS_EXPORT_EVENTS_MAX];
    unsigned n;
};
int cs_export_events(struct cs_export *from, struct cs_export_events *events);
