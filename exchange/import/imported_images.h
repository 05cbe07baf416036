/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Images of a recording and what was counted in each, until all has been read and the store takes it.
 *
 * Branch stacks (LBR) become two profiles: "lbr-edges" (taken branches) and "lbr-ranges" (straight runs between the
 * target of one branch and the next branch). Edges that fall through follow from the ranges once the code is
 * decoded. */
#pragma once

#include "exchange/import/perfdata.h"
#include "image/file/segments.h"
#include "store/store.h"

enum cs_import_table { CS_IMPORT_POINTS, CS_IMPORT_STACKS, CS_IMPORT_ACCESSES, CS_IMPORT_TABLES };
enum cs_import_branches { CS_IMPORT_EDGES, CS_IMPORT_RANGES, CS_IMPORT_MISPREDICTS, CS_IMPORT_BRANCH_TABLES };

struct cs_imported_image {
    struct cs_store_image image;
    enum cs_store_image_kind asked; /* before the executable was looked for */
    bool same_file;
    char *path, build_id[CS_IMAGE_BUILD_ID_MAX], told[CS_IMAGE_BUILD_ID_MAX]; /* told: by the recording */
    uint64_t base; /* of a kernel: address of _text */
    struct cs_image_segments layout;
    struct cs_table **tables; /* [event * CS_IMPORT_TABLES + kind] */
    uint64_t *period_sums;    /* [event] */
    unsigned n_events;
    struct cs_table *branches[CS_IMPORT_BRANCH_TABLES];
};

struct cs_imported_images {
    struct cs_imported_image *at;
    unsigned n, capacity;
};

struct cs_import_times { /* of a counter */
    uint64_t enabled_ns, running_ns;
};

enum cs_store_image_kind cs_imported_kind(const char *path, bool kernel);
/* The one of this path, kind and build-id ("" = not told): 0, and its index; or -ENOMEM. `same_file`: the file that is at the
 * path now is known to be the one that ran, whatever its build-id. */
int cs_imported_images_add(struct cs_imported_images *images, const char *path, enum cs_store_image_kind kind,
                           const char *build_id, bool same_file, uint64_t base, unsigned *index);
void cs_imported_images_fini(struct cs_imported_images *images);
/* Where samples of `event`, one of `n`, are summed; NULL when memory is short. */
struct cs_table *cs_imported_table(struct cs_imported_image *image, unsigned event, unsigned n,
                                   enum cs_import_table kind);
struct cs_table *cs_imported_branches(struct cs_imported_image *image, enum cs_import_branches which);
/* `times` by event. */
int cs_imported_image_merge(const struct cs_imported_image *image, const struct cs_perfdata *in,
                            const struct cs_import_times *times, unsigned n_times, struct cs_store *store,
                            struct cs_error *err);
