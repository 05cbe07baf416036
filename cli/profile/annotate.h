/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A procedure (or a source file) with the samples of its lines and instructions: what `list` prints and the
 * HTML page shows. */
#ifndef CS_CLI_PROFILE_ANNOTATE_H
#define CS_CLI_PROFILE_ANNOTATE_H

#include "cli/output/source.h"
#include "cli/profile/profile.h"

struct annotated_line {
    bool code;         /* an instruction belongs to it */
    uint64_t *samples; /* by event; NULL = none */
};

struct annotated_insn {
    uint64_t offset;
    uint64_t *samples; /* by event; NULL = none */
    unsigned line;     /* of the procedure's own source, 0 unknown */
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
    char trouble[256]; /* a sentence for the reader, "" = none */
};

/* The row of `rows` (BY_PROCEDURE) with that name, mangled or not; the hottest one of an ELF image for NULL.
 */
const struct profile_row *find_procedure(const struct profile_rows *rows, const char *name);

/* `code` may be shared by many calls for one image. */
int annotate_procedure(const struct profile *profile, const struct profile_row *row,
                       struct cs_image_code *code, const char *source_root, struct annotation *out,
                       struct cs_error *err);
/* All lines of a source file that have samples; `name` is a path or its end. -ENOENT where no samples fell on
 * it. */
int annotate_file(struct profile *profile, const char *name, const char *source_root, struct annotation *out,
                  struct cs_error *err);
void annotation_fini(struct annotation *annotation);

#endif
