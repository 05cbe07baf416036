/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names for the kernel's samples of a recording: a store keeps the kernel's names itself, because the next boot
 * has other addresses. The list of symbols comes from the first of these that is of the recorded kernel:
 *
 *   /proc/kallsyms                    the running kernel has the recorded build-id, or its text lies where the
 *                                     recorded one did, on the same host (so: the same boot)
 *   ~/.debug/[kernel.kallsyms]/ID     perf's own copy
 *   vmlinux-RELEASE, System.map-RELEASE in the places where distributions put them; vmlinux must have the
 *                                     build-id, a System.map has none: the release is all there is
 *
 * Only the same boot's list names modules: elsewhere nobody knows where they lay. */
#pragma once

#include "exchange/import/imported_images.h"

/* Puts the names of the procedures that were sampled into the store. 0 or <0 with a sentence; that no list was found is no
 * error. */
int cs_import_name_kernel(struct cs_imported_images *images, const struct cs_perfdata *in,
                          struct cs_store *store, struct cs_error *err);
