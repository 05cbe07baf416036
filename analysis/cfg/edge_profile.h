/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The edges that were seen of one image (bursts, LBR, an imported file), over all epochs, to look up by
 * source and by target. Constant after cs_edge_profile_make. */
#pragma once

#include "store/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cs_seen_edge {
    uint64_t from, to;      /* offsets in this image; `from` is the transferring instruction's first byte */
    double count;           /* times it was taken */
    double bursts;          /* how many bursts saw it */
    double squares;         /* sum over bursts of count² */
    const char *to_image;   /* id of the image it goes to, NULL = this one */
    const char *from_image; /* id of the image it comes from, NULL = this one */
};

struct cs_edge_profile {
    struct cs_seen_edge *by_from; /* the n_own that start in this image, ascending by from, then to; then
                                   * those that come from other images */
    uint32_t *by_to;              /* indexes of by_from: those that end in this image, ascending by to */
    size_t n, n_own, n_by_to;
};

/* Copies the edges; the names of images stay the caller's. */
int cs_edge_profile_make(const struct cs_seen_edge *edges, size_t n, struct cs_edge_profile **out,
                         struct cs_error *err);
void cs_edge_profile_close(struct cs_edge_profile *profile);

/* Index of the first edge whose source is at or after `from`; n_own when there is none. */
size_t cs_edge_profile_from(const struct cs_edge_profile *profile, uint64_t from);
/* Index in by_to of the first edge whose target is at or after `to`. */
size_t cs_edge_profile_to(const struct cs_edge_profile *profile, uint64_t to);
