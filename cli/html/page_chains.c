/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Call chains for the page's flame graph, a tree a process. */
#include "analysis/contexts/calls.h"
#include "cli/html/page.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NODES_MAX 20000u /* of a page: more are no wider than a pixel */

/* The functions that the trees name, each once: [brief name, name, index of its image or -1, has a name]. */
struct naming {
    const struct cs_calls *calls;
    int *number; /* by function; -1: not yet */
    json_t *functions, *images;
    const struct cs_store_image **image;
    size_t n_images;
};

static int image_number(struct naming *n, const struct cs_store_image *image)
{
    for (size_t i = 0; image && i < n->n_images; i++)
        if (n->image[i] == image)
            return (int)i;
    if (!image)
        return -1;
    n->image[n->n_images] = image;
    json_array_append_new(n->images, json_text(image_name(image)));
    return (int)n->n_images++;
}

static int function_number(struct naming *n, uint64_t function)
{
    const struct cs_call_function *f = &n->calls->functions[function];
    if (n->number[function] < 0) {
        n->number[function] = (int)json_array_size(n->functions);
        json_array_append_new(n->functions, json_pack("[o, o, i, i]", json_text(f->brief), json_text(f->name),
                                                      image_number(n, f->image), (int)f->known));
    }
    return n->number[function];
}

/* Parents before children: number of the parent (0 = outermost), function, inlined, own samples; and so on. */
static json_t *nodes_json(struct naming *n, uint32_t top, int *place)
{
    const struct cs_contexts *tree = n->calls->tree;
    json_t *nodes = json_array();
    int last = 0;
    place[top] = 0;
    for (uint32_t i = top; (i = cs_contexts_next(tree, top, i, NULL));) {
        const struct cs_context *c = cs_contexts_at(tree, i);
        place[i] = ++last;
        json_array_append_new(nodes, json_integer(place[c->parent]));
        json_array_append_new(nodes, json_integer(function_number(n, c->offset)));
        json_array_append_new(nodes, json_integer(c->image == CS_CALL_INLINED));
        json_array_append_new(nodes, json_integer((json_int_t)c->self));
    }
    return nodes;
}

static json_t *chains_json(struct cs_calls *calls)
{
    struct naming n = {.calls = calls, .functions = json_array(), .images = json_array()};
    uint32_t count = cs_contexts_count(calls->tree);
    json_t *trees = json_array();
    int *place = calloc(count, sizeof *place);
    n.number = malloc(calls->n_functions * sizeof *n.number);
    n.image = malloc((calls->n_functions + 1) * sizeof *n.image);
    if (n.number)
        memset(n.number, 0xff, calls->n_functions * sizeof *n.number);
    for (uint32_t c = cs_contexts_at(calls->tree, 0)->first_child; c && place && n.number && n.image;
         c = cs_contexts_at(calls->tree, c)->next_sibling) {
        const struct cs_call_function *process = cs_calls_function(calls, c);
        if (cs_contexts_at(calls->tree, c)->total)
            json_array_append_new(
                trees,
                json_pack("{s:o, s:o}", "label",
                          json_text(strcmp(process->name, CS_CALLS_UNLABELLED) == 0 ? "" : process->name),
                          "nodes", nodes_json(&n, c, place)));
    }
    free(place);
    free(n.number);
    free(n.image);
    return json_pack("{s:o, s:o, s:o}", "functions", n.functions, "images", n.images, "trees", trees);
}

/* Of each row: samples in it and in what it called, null where it is on no chain. Rare chains are kept without their inner
 * frames: a procedure has at least its own. */
static void rows_with_calls(json_t *page, const struct cs_calls *calls, const struct profile_rows *rows,
                            unsigned event)
{
    json_t *list = json_object_get(page, "rows");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const struct profile_row *r = &rows->row[i];
        json_t *row = json_array_get(list, i);
        const struct cs_call_function *f =
            r->image && r->name ? cs_calls_of_procedure(calls, r->image->image.id, r->start) : NULL;
        uint64_t total = f && f->total > r->samples[event] ? f->total : r->samples[event];
        if (f)
            json_array_set_new(row, json_array_size(row) - 2, json_integer((json_int_t)total));
    }
    json_object_set_new(page, "with_chains", json_integer((json_int_t)calls->total));
}

int page_calls(json_t *page, const char *member, struct cs_calls *calls, struct cs_error *err)
{
    if (cs_contexts_fold(calls->tree, NODES_MAX) < 0)
        return cs_fail(err, ENOMEM, "out of memory for call contexts");
    cs_contexts_sum(calls->tree);
    json_object_set_new(page, member, calls->total ? chains_json(calls) : json_null());
    return 0;
}

int page_chains(json_t *page, struct cs_calls *calls, const struct profile_rows *rows, unsigned event,
                struct cs_error *err)
{
    if (calls->total)
        rows_with_calls(page, calls, rows, event);
    return page_calls(page, "chains", calls, err);
}

int page_chains_of(json_t *page, const char *member, const char *path, const struct cs_calls_wanted *wanted,
                   struct cs_error *err)
{
    struct cs_store *store = NULL;
    struct cs_calls calls = {0};
    int rc = cs_store_open(path, CS_STORE_READ, &store, err);
    rc = rc < 0 ? rc : cs_calls_open(&calls, store, wanted, err);
    rc = rc < 0 ? rc : page_calls(page, member, &calls, err);
    cs_calls_close(&calls);
    cs_store_close(store);
    return rc;
}
