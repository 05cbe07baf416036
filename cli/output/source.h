/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lines of a source file. A file that can't be read has none; `trouble` then says why. */
#pragma once

#include <stddef.h>

struct source {
    char *text, **line; /* line[0] is line 1; no newlines, tabs become blanks */
    size_t n_lines;
    char trouble[256];
};

/* `path` as the debug information has it; where it isn't there, its last parts are tried below `root` (NULL =
 * the current directory). */
void source_read(struct source *source, const char *path, const char *root);
void source_fini(struct source *source);
/* Line number `line` (from 1), "" where there is none. */
const char *source_line(const struct source *source, unsigned line);
