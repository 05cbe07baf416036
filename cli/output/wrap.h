/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Text within a width: used by output.c, table.c and --help. Widths are in characters (code points); colours
 * (ESC [ ... m) take none. Pure but for the stream. */
#pragma once

#include <stddef.h>
#include <stdio.h>

unsigned text_width(const char *text);

/* Prints `text` (no newline in it) broken at blanks; the first line begins in column `from`, the others are
 * indented by `indent`. A word that is wider than the line stands alone. No newline at the end. Returns the
 * number of lines. width 0 = all on one line. */
size_t text_wrap(FILE *to, const char *text, unsigned width, unsigned from, unsigned indent);

/* A paragraph or more, as in --help: a line that begins with a blank and an empty line stand as they are,
 * others are joined and broken again. Ends with a newline. */
void text_flow(FILE *to, const char *text, unsigned width);
