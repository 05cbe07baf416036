/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a store knows of one image, ready for the analysis: its code, its samples, all control transfers seen.
 * Shared by the subcommands that look into procedures. */
#ifndef CS_CLI_EVIDENCE_H
#define CS_CLI_EVIDENCE_H

#include "analysis/frequency/frequency.h"
#include "cli/profile/profile.h"

struct image_evidence {
    const struct profile_image *image; /* NULL: the store has nothing of it (a file was named) */
    struct cs_code *code;
    struct cs_edge_profile *edges; /* of this image, for cs_cfg_build */
    struct cs_evidence e;          /* for cs_frequency_estimate */
    uint64_t *offsets;
    double *counts;
    double samples; /* sum */
};

/* Samples of the profile's main event. `transfers` must outlive it. */
int image_evidence_open(struct image_evidence *ev, struct profile *profile, const struct profile_image *image,
                        const struct cs_transfers *transfers, struct cs_error *err);
void image_evidence_close(struct image_evidence *ev);

/* The procedure that a user names (NAME, 0xADDRESS or IMAGE:NAME): in the image that has most samples in
 * procedures of that name. Opens that image's evidence. */
int procedure_evidence_open(struct image_evidence *ev, struct profile *profile, const char *name,
                            const struct cs_transfers *transfers, const struct cs_procedure **procedure,
                            struct cs_error *err);

#endif
