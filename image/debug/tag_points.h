/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of tag points that the compiler plugin left in an ELF file (signals/plugin/point.h). It says
 * which method or loop the tag written at an offset names. The sections are read from the file, else from its
 * separate debug file; both are believed only within their bounds.
 *
 * A *region* is a method outside its loops, or one loop. It has several points (entry, back from calls); the
 * one with the lowest offset stands for all of them. */
#pragma once

#include "store/base/error.h"

#include <stddef.h>
#include <stdint.h>

struct cs_image_tag_points;

struct cs_image_tag_point {
    uint64_t offset;             /* ELF virtual address */
    uint64_t region;             /* offset of the point that stands for its region */
    const char *file, *function; /* as the compiler knew them: file as given to it, linkage name */
    unsigned line, loop, depth;  /* loop 0 = the method itself, whose line is its declaration's */
};

/* Fails when the file can't be read or is no ELF file; a file without the table has no points. */
int cs_image_tag_points_open(const char *path, struct cs_image_tag_points **out, struct cs_error *err);
void cs_image_tag_points_close(struct cs_image_tag_points *points);
/* The point at exactly that offset, NULL when there is none. */
const struct cs_image_tag_point *cs_image_tag_points_at(const struct cs_image_tag_points *points,
                                                        uint64_t offset);
