/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What lines cost with the calls they make: contexts have the address of each call. A line that is several times on a
 * chain (recursion) counts once, with its outermost frame. */
#include "cli/profile/called/chain_line.h"
#include "cli/profile/lines/annotate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FRAMES_MAX 16

/* Frames with a line, by node: 1 + its number; 0: not of the procedure or the file. */
static void lines_of_procedure(const struct annotation *a, const struct cs_contexts *tree, bool precise,
                               uint32_t *line)
{
    for (uint32_t i = 1; i < cs_contexts_count(tree); i++) {
        const struct cs_context *c = cs_contexts_at(tree, i);
        bool here = strcmp(cs_contexts_image_id(tree, c->image), a->image->image.id) == 0;
        const struct annotated_insn *insn = here ? annotation_insn(a, c->offset) : NULL;
        line[i] = !insn ? 0 : 1 + (c->self && !precise ? insn->charged : insn->line);
    }
}

struct of_file {
    struct annotation *a;
    const char *name; /* until it is found: what its path ends with */
};

static uint32_t line_in_file(void *arg, struct cs_image_code *code, uint64_t offset)
{
    struct of_file *f = arg;
    struct cs_image_frame frames[FRAMES_MAX];
    unsigned n = cs_image_frames_at(code, offset, frames, FRAMES_MAX);
    for (unsigned i = 0; i < n; i++) {
        if (!f->a->file && frames[i].line && annotation_is_file(frames[i].file, f->name))
            f->a->file = strdup(frames[i].file);
        if (f->a->file && frames[i].line && strcmp(frames[i].file, f->a->file) == 0)
            return annotation_line(f->a, frames[i].line) ? 1 + frames[i].line : 0;
    }
    return 0;
}

static void add_frames(struct annotation *a, const struct cs_contexts *tree, uint32_t *above,
                       const uint32_t *line)
{
    for (uint32_t i = 1; i < cs_contexts_count(tree); i++) {
        const struct cs_context *c = cs_contexts_at(tree, i);
        uint32_t outer = above[c->parent]; /* the nearest such frame on the way out */
        above[i] = line[i] ? i : outer;
        if (!line[i])
            continue;
        a->in_all += outer ? 0 : c->total;
        while (outer && line[outer] != line[i])
            outer = above[cs_contexts_at(tree, outer)->parent];
        if (!outer && line[i] - 1 < a->n_line)
            a->line[line[i] - 1].total += c->total;
    }
}

static void find_image(const struct profile *profile, struct annotation *a, const struct cs_contexts *tree,
                       const uint32_t *line)
{
    for (uint32_t i = 1; !a->image && i < cs_contexts_count(tree); i++)
        if (line[i])
            a->image = profile_image_of(profile, cs_contexts_image_id(tree, cs_contexts_at(tree, i)->image));
}

int annotate_totals(const struct profile *profile, const struct cs_calls_wanted *wanted, struct annotation *a,
                    const char *file, struct cs_error *err)
{
    struct cs_chains chains;
    const struct cs_catalog *catalog;
    int rc = cs_chains_open(&chains, profile->store, wanted, err);
    if (rc < 0)
        return rc;
    const struct cs_contexts *tree = chains.trees[0].contexts;
    uint32_t *above = calloc(cs_contexts_count(tree) + 1, sizeof *above),
             *line = calloc(cs_contexts_count(tree) + 1, sizeof *line);
    struct of_file of_file = {a, file};
    const bool precise = profile->events[profile->main_event].precise;
    bool placed = above && line;
    if (placed && file && (rc = cs_store_catalog(profile->store, &catalog, err)) == 0) {
        uint32_t *of_place =
            chain_line_places(catalog, profile->store, &chains, NULL, precise, false, line_in_file, &of_file);
        for (uint32_t i = 1; of_place && i < cs_contexts_count(tree); i++)
            line[i] = of_place[chain_line_place(&chains.trees[0], i, precise)];
        placed = of_place != NULL;
        free(of_place);
    } else if (placed && !file)
        lines_of_procedure(a, tree, precise, line);
    if (!placed)
        rc = cs_fail(err, ENOMEM, "out of memory for the call chains of %s", file ? file : a->name);
    if (rc == 0) {
        find_image(profile, a, tree, line);
        add_frames(a, tree, above, line);
    }
    free(above);
    free(line);
    cs_chains_close(&chains);
    return rc;
}
