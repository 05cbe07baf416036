/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A procedure (or a source file) with the samples of its lines and instructions: what `list` prints and the
 * HTML page shows.
 *
 * Files of this module:
 *   annotate      samples of lines and instructions
 *   line_totals   samples of lines with what they called
 *   hottest_line  from the hottest row to a line of source
 *   inlined       functions without code of their own
 *   wait_lines    the lines where threads waited */
#pragma once

#include "analysis/contexts/calls.h"
#include "cli/output/source.h"
#include "cli/profile/profile.h"
#include "store/base/text.h"

struct annotated_line {
    bool code;         /* an instruction belongs to it */
    uint64_t *samples; /* by event; NULL = none */
    uint64_t total;    /* of the main event, in it and in what it called: after annotate_totals */
};

struct annotated_insn {
    uint64_t offset;
    uint64_t *samples; /* by event; NULL = none */
    unsigned line;     /* of the procedure's own source, 0 unknown */
    unsigned charged;  /* the line that took the time of samples here (cs_image_charged) */
    unsigned length;
    char text[96];
};

struct annotation {
    const struct profile_image *image;
    char *name; /* linkage name; NULL for a file */
    char *file; /* NULL = no line information */
    struct source source;
    unsigned n_events, first, last; /* lines from first to last have code or samples */
    struct annotated_line *line;    /* index = line number; n_line of them */
    size_t n_line;
    struct annotated_insn *insn; /* none for a file */
    size_t n_insns;
    uint64_t *total;   /* samples by event */
    uint64_t in_all;   /* samples of the main event with what was called, each once; 0: no call chains */
    char trouble[256]; /* a sentence for the reader, "" = none */
};

/* The row of `rows` (BY_PROCEDURE) that the name fits best (cs_image_name_fits), the hottest of such; the hottest one of
 * an ELF image for NULL. */
const struct profile_row *find_procedure(const struct profile_rows *rows, const char *name);

/* What to type for it: its short name where find_procedure() finds the row by that, else the whole one. */
const char *typed_name(const struct profile_rows *rows, const struct profile_row *row, char *text,
                       size_t capacity);

/* What may have been meant by a name that no row bears. */
struct cs_did_you_mean procedure_meant(const struct profile_rows *rows, const char *name);

/* `code` may be shared by many calls for one image. */
int annotate_procedure(const struct profile *profile, const struct profile_row *row,
                       struct cs_image_code *code, const char *source_root, struct annotation *out,
                       struct cs_error *err);
/* All lines of a source file that have samples; `name` is a path or its end. -ENOENT where no samples fell on
 * it. */
int annotate_file(struct profile *profile, const struct cs_calls_wanted *wanted, const char *name,
                  const char *source_root, struct annotation *out, struct cs_error *err);
/* Fills in_all and the lines' totals of a procedure from the store's call chains, if there are any. */
int annotate_totals(const struct profile *profile, const struct cs_calls_wanted *wanted,
                    struct annotation *annotation, const char *file, struct cs_error *err);
/* Is `name` the end of that path? */
bool annotation_is_file(const char *path, const char *name);
/* The instruction that `offset` is in; NULL: none. */
struct annotated_insn *annotation_insn(const struct annotation *annotation, uint64_t offset);
/* A line, with room for it; NULL: beyond all bounds. */
struct annotated_line *annotation_line(struct annotation *annotation, unsigned line);
void annotation_fini(struct annotation *annotation);
