/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a store knows of one image, ready for the analysis: its code, its samples, all edges seen.
 * Shared by the subcommands that look into procedures. */
#pragma once

#include "analysis/frequency/evidence.h"
#include "cli/profile/profile.h"

struct analysed_image {
    const struct profile_image *image; /* NULL: the store has nothing of it (a file was named) */
    struct cs_image_code *code;
    struct cs_frequency_evidence found;
};

/* Samples of the profile's main event. `flow` must outlive it. */
int analysed_image_open(struct analysed_image *ev, struct profile *profile, const struct profile_image *image,
                        const struct cs_edge_flow *flow, struct cs_error *err);
void analysed_image_close(struct analysed_image *ev);

/* The procedure that a user names (NAME, 0xADDRESS or IMAGE:NAME): in the image that has most samples in
 * procedures of that name. Opens that image's evidence. */
int analysed_procedure_open(struct analysed_image *ev, struct profile *profile, const char *name,
                            const struct cs_edge_flow *flow, const struct cs_image_procedure **procedure,
                            struct cs_error *err);
