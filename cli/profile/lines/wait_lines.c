/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Groups of waits know functions. The recorded call chains have addresses: of each chain that belongs to a group, the
 * address within its function under which a thread waited. */
#include "cli/profile/lines/wait_lines.h"

#include "image/code.h"
#include "store/base/order.h"
#include "store/catalog.h"
#include "store/table/wait_schemas.h"

#include <stdlib.h>
#include <string.h>

#define FRAMES_MAX 16

struct chain { /* of the group */
    uint64_t key, ns;
};

struct finding {
    const struct cs_wait_groups *waits;
    const struct cs_wait_group *group;
    CS_ARRAY(struct chain) chains;
    struct wait_lines *lines;
};

static bool is_of_group(const struct finding *f, struct cs_table *table, const uint64_t *row)
{
    const struct cs_calls *waits = &f->waits->waits;
    const uint64_t context = row[CS_WAITS_CONTEXT];
    const char *kind = cs_wait_kind(waits, cs_table_string(table, row[CS_WAITS_REASON]), context,
                                    cs_table_string(table, row[CS_WAITS_OBJECT]));
    return cs_wait_place(waits, cs_calls_node(waits, context), NULL) == f->group->function &&
           strcmp(kind, f->group->kind) == 0;
}

static int take_chains(struct finding *f, struct cs_store *store)
{
    const struct cs_query query = {.kind = CS_KIND_WAITS, .event = CS_WAITS_EVENT};
    const struct cs_catalog *catalog;
    const struct cs_store_profile_ref *ref;
    struct cs_error ignored = {0};
    int rc = cs_store_catalog(store, &catalog, &ignored);
    for (size_t at = 0; rc == 0 && (ref = cs_catalog_next(catalog, &query, &at));) {
        struct cs_table *table = NULL;
        rc = cs_store_load(ref, &table, &ignored);
        for (size_t i = 0; rc == 0 && i < cs_table_rows(table); i++) {
            const uint64_t *row = cs_table_row(table, i);
            struct chain *chain = is_of_group(f, table, row) ? cs_array_add(&f->chains) : NULL;
            if (chain)
                *chain = (struct chain){row[CS_WAITS_CONTEXT], row[CS_WAITS_NS]};
        }
        cs_table_close(table);
    }
    return rc;
}

CS_ORDER(by_key, struct chain, cs_order(a->key, b->key))

/* One for each key. */
static void join_chains(struct finding *f)
{
    size_t kept = 0;
    cs_sort(f->chains.at, f->chains.n, by_key);
    for (size_t i = 0; i < f->chains.n; i++)
        if (kept && f->chains.at[kept - 1].key == f->chains.at[i].key)
            f->chains.at[kept - 1].ns += f->chains.at[i].ns;
        else
            f->chains.at[kept++] = f->chains.at[i];
    f->chains.n = kept;
}

static void add_line(struct wait_lines *lines, const struct cs_image_frame *frame, uint64_t offset,
                     uint64_t ns)
{
    const char *file = frame->line && frame->file ? frame->file : "";
    size_t i = 0;
    while (i < lines->all.n &&
           (lines->all.at[i].line != frame->line || strcmp(lines->all.at[i].file, file) != 0))
        i++;
    struct wait_line *line = i < lines->all.n ? &lines->all.at[i] : cs_array_add(&lines->all);
    if (line && !line->file && !(line->file = strdup(file))) {
        lines->all.n--;
        return;
    }
    if (!line)
        return;
    line->line = frame->line;
    line->ns += ns;
    if (ns > line->longest_ns) {
        line->longest_ns = ns;
        line->address = offset;
    }
}

/* The function's frame at `offset`, where it may have been inlined; the line of a call in it, if it called. */
static bool frame_within(struct cs_image_code *code, const struct cs_call_function *function, uint64_t offset,
                         struct cs_image_frame *found)
{
    struct cs_image_frame frames[FRAMES_MAX];
    char brief[512];
    const struct cs_image_procedure *p = cs_image_procedure_at(code, offset);
    const unsigned n = cs_image_frames_at(code, offset, frames, FRAMES_MAX);
    for (unsigned i = 0; i < n; i++)
        if (strcmp(cs_image_short_name(frames[i].function, brief, sizeof brief), function->brief) == 0) {
            *found = frames[i];
            return true;
        }
    if (n && p && p->start == function->start)
        *found = frames[n - 1];
    return n && p && p->start == function->start;
}

/* The innermost frame of the group's function on the chain that ends at `node`. */
static void take_node(struct finding *f, const struct cs_contexts *tree, uint32_t node,
                      struct cs_image_code *code, uint64_t ns)
{
    const struct cs_call_function *function = f->group->function;
    struct cs_image_frame frame;
    for (; node; node = cs_contexts_at(tree, node)->parent) {
        const struct cs_context *c = cs_contexts_at(tree, node);
        if (strcmp(cs_contexts_image_id(tree, c->image), function->image->id) == 0 &&
            frame_within(code, function, c->offset, &frame)) {
            add_line(f->lines, &frame, c->offset, ns);
            return;
        }
    }
}

void wait_lines_add(struct wait_lines *lines, struct cs_store *store, const struct cs_wait_groups *waits,
                    const struct cs_wait_group *group)
{
    struct finding f = {.waits = waits, .group = group, .lines = lines};
    const struct cs_calls_wanted wanted = {.event = CS_WAITS_EVENT};
    struct cs_chains chains;
    struct cs_image_code *code = NULL;
    struct cs_error ignored = {0};
    if (!group->function || !group->function->image || group->function->image->kind == CS_IMAGE_KERNEL ||
        cs_chains_open(&chains, store, &wanted, &ignored) < 0)
        return;
    const struct cs_contexts *tree = chains.trees[0].contexts;
    if (take_chains(&f, store) == 0 && cs_image_open(group->function->image, store, &code, &ignored) == 0) {
        join_chains(&f);
        for (uint32_t i = 1; i < cs_contexts_count(tree); i++) {
            const struct chain key = {.key = cs_contexts_at(tree, i)->key},
                               *chain = cs_find(&key, f.chains.at, f.chains.n, by_key);
            if (chain)
                take_node(&f, tree, i, code, chain->ns);
        }
    }
    cs_image_close(code);
    cs_chains_close(&chains);
    cs_array_free(&f.chains);
}

const struct wait_line *wait_lines_longest(const struct wait_lines *lines)
{
    const struct wait_line *most = NULL;
    for (size_t i = 0; i < lines->all.n; i++)
        if (!most || lines->all.at[i].ns > most->ns)
            most = &lines->all.at[i];
    return most && most->line ? most : NULL;
}

void wait_lines_fini(struct wait_lines *lines)
{
    for (size_t i = 0; i < lines->all.n; i++)
        free(lines->all.at[i].file);
    cs_array_free(&lines->all);
}
