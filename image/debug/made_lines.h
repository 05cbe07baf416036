/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Source lines of JIT code, from the copy that was kept with a recording (store/base/kept_lines.h). Internal to image/. */
#pragma once

#include "image/debug/frame.h"
#include "image/file/elf.h"

#include <stdint.h>

/* File, line and column at `offset`; returns the method's own file, that of its first line. NULL: no line, or no file, is known there.
 * Texts live as long as the file is open. */
const char *made_line_at(const struct elf_file *made, uint64_t offset, struct cs_image_frame *frame);
