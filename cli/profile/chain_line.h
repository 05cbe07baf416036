/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The line of source that call chains blame, for hottest_line. */
#ifndef CS_CLI_PROFILE_CHAIN_LINE_H
#define CS_CLI_PROFILE_CHAIN_LINE_H

#include "cli/profile/profile.h"
#include "store/catalog.h"
#include "store/contexts.h"

struct chain_line {
    char function[256], file[1024]; /* as in struct hottest_line */
    unsigned line;
    bool begins;
    double samples; /* on the line or below it */
};

/* The line with most samples; false: no frame has source. */
bool chain_line_find(const struct profile *profile, const char *label, struct chain_line *out);
/* Fills of_node, one for each node of the tree, by place, which is asked once for each place of an image; 0 where that can't be
 * opened, and in the kernel unless `kernel`. The places where samples fell are what those are charged to, unless the event is
 * precise. False: no memory. */
bool chain_line_places(const struct cs_catalog *catalog, struct cs_store *store,
                       const struct cs_contexts *tree, bool precise, bool kernel, uint32_t *of_node,
                       uint32_t (*line_at)(void *arg, struct cs_image_code *code, uint64_t offset),
                       void *arg);
/* The innermost frame at `offset` whose source is the reader's own and at hand. */
bool chain_line_frame(struct cs_image_code *code, uint64_t offset, struct cs_image_frame *found);

#endif
