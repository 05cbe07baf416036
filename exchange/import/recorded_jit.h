/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of code without a file for a recording: perf-PID.map and jit-PID.dump. They are next to the recording, or where
 * the processes left them if it was made here. Files that anybody could have left there must be ours or root's, as perf
 * has it. One owner. */
#pragma once

#include "exchange/import/imported_images.h"

struct cs_recorded_jit;

/* `beside`: the recording's folder, NULL: there is none; copied. */
struct cs_recorded_jit *cs_recorded_jit_open(const char *beside);
void cs_recorded_jit_close(struct cs_recorded_jit *jit);

/* A process mapped `path`: it may be its jitdump file. */
void cs_recorded_jit_mapped(struct cs_recorded_jit *jit, uint32_t pid, const char *path);
/* The offset for an address in code that process `pid` made; `fallback` where no name is known. `made_here`: on this machine;
 * `time_ns` on the monotonic clock, UINT64_MAX: not known. */
uint64_t cs_recorded_jit_offset(struct cs_recorded_jit *jit, const struct cs_imported_image *image,
                                uint32_t pid, bool made_here, uint64_t time_ns, uint64_t addr,
                                uint64_t fallback);
/* The names that were met in image number `image`, for the store; NULL: none. */
struct cs_table *cs_recorded_jit_names(const struct cs_recorded_jit *jit,
                                       const struct cs_imported_image *image);
