/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The images whose procedures the page explains. Each is opened once, and the static cycles of all of them are
 * asked for together. Starting the scheduling model and unpacking debug information take longer than most
 * procedures. */
#pragma once

#include "cli/procedure/analysed_image.h"
#include "cli/procedure/calc.h"
#include "cli/profile/profile.h"

#define PAGE_IMAGES_MAX 8 /* kept open: later ones take the place of the last */

struct page_image {
    const struct profile_image *image;
    struct cs_image_code *code;           /* NULL: can't be read */
    struct cs_culprit_evidence *evidence; /* NULL, with the scheduler: no culprits */
    struct cs_scheduler *scheduler;
    struct analysed_image analysed; /* once page_image_analysed was asked */
};

struct page_images {
    struct page_image at[PAGE_IMAGES_MAX];
    unsigned n;
    struct cs_experiments *experiments;
};

/* `flow` NULL: no culprits. The answer is good until the next call. */
struct page_image *page_images_open(struct page_images *images, const struct parsed *args, struct profile *p,
                                    const struct profile_image *image, const struct cs_edge_flow *flow);
/* Its samples of the main event and its edges, gathered once; NULL: can't be read. */
struct analysed_image *page_image_analysed(struct page_image *one, struct profile *p,
                                           const struct cs_edge_flow *flow);
/* For the first `n` rows that page_row_explained says: what explaining them will ask the model. */
void page_images_ahead(struct page_images *images, const struct parsed *args, struct profile *p,
                       const struct profile_rows *rows, unsigned n, const struct cs_edge_flow *flow);
/* A procedure of a file, or a JIT method whose code was kept. */
bool page_row_explained(const struct profile_row *row);
void page_images_close(struct page_images *images);
