/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the compiler left of the source in an image. Here: DWARF, source lines and inlined calls. Internal to
 * image/: others use cs_image_frames_at.
 *
 * Files of this module:
 *   frame           one level of inlining: function, file, line
 *   inflated        debug sections compressed by zstd
 *   line_program    the line of one address, without the whole table
 *   lines           source lines and inlined calls
 *   made_lines      source lines of JIT code that was kept
 *   tag_points      the compiler plugin's table of tags
 *
 * Units are indexed by address on the first question. A unit's tree of functions is walked once, when the
 * first address in it is asked for. */
#pragma once

#include "image/debug/frame.h"

#include <libelf.h>
#include <stdbool.h>
#include <stdint.h>

struct lines;

/* NULL when there is no DWARF in it (or memory is short). */
struct lines *lines_open(Elf *elf);
void lines_close(struct lines *lines);
uint64_t lines_bytes(const struct lines *lines); /* of debug sections that were decompressed */
/* The first .dwo file that lines_frames looked for in vain; NULL: none. */
const char *lines_absent(const struct lines *lines);
/* The line table's answer alone: file and line of the innermost frame, no function. */
bool lines_line(struct lines *lines, uint64_t offset, struct cs_image_frame *frame);
unsigned lines_frames(struct lines *lines, uint64_t offset, struct cs_image_frame *frames, unsigned capacity);
