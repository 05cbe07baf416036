/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The line of source that call chains blame, for hottest_line. */
#pragma once

#include "analysis/contexts/chains.h"
#include "cli/profile/profile.h"
#include "store/catalog.h"

struct chain_line {
    char function[256], file[1024]; /* as in struct hottest_line */
    unsigned line;
    bool begins;
    double samples; /* on the line or below it */
};

/* The line with most samples; false: no frame has source. */
bool chain_line_find(const struct profile *profile, const struct cs_chains *chains, struct chain_line *out);
/* What line_at says of each place of the chains, by chain_line_place; 0 where the image can't be opened, and in the kernel unless
 * `kernel`. `nodes` (NULL: all): the nodes of the first tree whose places are asked for. A place where samples fell is what those are charged to, unless the event is precise. The caller frees it. NULL: no
 * memory. */
uint32_t *chain_line_places(const struct cs_catalog *catalog, struct cs_store *store,
                            const struct cs_chains *chains, const bool *nodes, bool precise, bool kernel,
                            uint32_t (*line_at)(void *arg, struct cs_image_code *code, uint64_t offset),
                            void *arg);
static inline size_t chain_line_place(const struct cs_chain_tree *tree, uint32_t node, bool precise)
{
    return 2 * (size_t)tree->place[node] + (cs_contexts_at(tree->contexts, node)->self && !precise);
}
/* Code that a runtime made or interprets: its name says where its function begins. False: it doesn't, or that is a library of
 * the interpreter. */
bool chain_line_named(struct cs_image_code *code, uint64_t offset, struct chain_line *found);
/* The innermost frame at `offset` whose source is the reader's own and at hand. */
bool chain_line_frame(struct cs_image_code *code, uint64_t offset, struct cs_image_frame *found);
