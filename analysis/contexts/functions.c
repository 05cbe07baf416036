/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Image by image, so that each is opened once; offset by offset, so that each is looked up once however many contexts
 * have it. A function is its name in its image and the line that declares it. The same function inlined and called is
 * one, two files' static functions of a name are two. */
#include "analysis/contexts/functions.h"

#include "image/shared_code.h"
#include "store/base/array.h"
#include "store/base/order.h"
#include "store/base/text.h"
#include "store/catalog.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#define INLINES_MAX 64
#define NAME_MAX_SHOWN 1024
#define RARE 1000 /* an image with less than 1 / RARE of the samples */

static const char *copy(struct cs_calls *calls, const char *text)
{
    int64_t n = cs_table_text(calls->names, text);
    return n < 0 ? NULL : cs_table_string(calls->names, (uint64_t)n);
}

static int64_t add_function(struct cs_calls *calls, const struct cs_store_image *image, const char *linkage,
                            uint64_t start, uint64_t declared)
{
    char shown[NAME_MAX_SHOWN], brief[NAME_MAX_SHOWN] = "";
    if (*linkage) {
        cs_image_demangle(linkage, shown, sizeof shown);
        cs_image_short_name(linkage, brief, sizeof brief);
    } else {
        const char *base = image ? cs_base_name(image->path) : "[other]";
        snprintf(shown, sizeof shown, *base == '[' ? "%s" : "[%s]", base);
        memcpy(brief, shown, sizeof brief);
    }
    struct cs_call_function f = {.name = copy(calls, shown),
                                 .brief = copy(calls, brief),
                                 .linkage = copy(calls, linkage),
                                 .image = image,
                                 .start = start,
                                 .declared = declared,
                                 .known = *linkage && image && image->kind != CS_IMAGE_UNKNOWN};
    if (!f.name || !f.brief || !f.linkage ||
        cs_array_room(calls->functions, calls->n_functions, calls->capacity) < 0)
        return -ENOMEM;
    calls->functions[calls->n_functions] = f;
    return calls->n_functions++;
}

int64_t cs_call_function_number(struct cs_calls *calls, const struct cs_store_image *image,
                                const char *linkage, uint64_t start, uint64_t declared)
{
    char key[64];
    int64_t name = cs_table_text(calls->names, linkage);
    if (name < 0)
        return -ENOMEM;
    /* Two procedures of a name are two functions; an inlined one (start 0) is the first that is declared where it is. */
    for (unsigned same = 0;; same++) {
        snprintf(key, sizeof key, "%p %u %" PRId64, (const void *)image, same, name);
        int64_t number = cs_table_text(calls->keys, key);
        if (number < 0)
            return -ENOMEM;
        if (number == calls->n_functions)
            return add_function(calls, image, linkage, start, declared);
        assert(number < calls->n_functions);
        struct cs_call_function *f = &calls->functions[number];
        if (start && f->start ? f->start != start : declared && f->declared && f->declared != declared)
            continue;
        f->start = f->start ? f->start : start;
        f->declared = f->declared ? f->declared : declared;
        return number;
    }
}

struct place {
    uint32_t image, node;
    uint64_t offset;
};

CS_ORDER(by_place, struct place, cs_order(a->image, b->image), cs_order(a->offset, b->offset),
         cs_order(a->node, b->node))

struct naming {
    struct cs_calls *calls;
    const struct cs_store_image *image;
    struct cs_image_code *code;
    bool inlines, rare; /* rare: the image at hand */
    CS_ARRAY(uint32_t) pool;
};

/* Units may spell the path of a header differently: the file's own name counts. */
static uint64_t declaration(const struct cs_image_frame *frame)
{
    const char *file = frame->first_file ? cs_base_name(frame->first_file) : "";
    return frame->first_line ? XXH3_64bits_withSeed(file, strlen(file), frame->first_line) | 1 : 0;
}

static int push(struct naming *n, const char *linkage, uint64_t start, const struct cs_image_frame *frame)
{
    int64_t number =
        cs_call_function_number(n->calls, n->image, linkage, start, frame ? declaration(frame) : 0);
    if (number < 0 || cs_array_reserve(&n->pool, n->pool.n + 1) < 0)
        return -ENOMEM;
    n->pool.at[n->pool.n++] = (uint32_t)number;
    return 0;
}

/* The procedure at an offset, then what was inlined there, outermost first. */
static int name_offset(struct naming *n, uint64_t offset)
{
    struct cs_image_frame frames[INLINES_MAX];
    const struct cs_image_procedure *p = n->code ? cs_image_procedure_at(n->code, offset) : NULL;
    unsigned depth =
        n->inlines && !n->rare && n->code ? cs_image_frames_at(n->code, offset, frames, INLINES_MAX) : 0;
    int rc = push(n,
                  p       ? p->name
                  : depth ? frames[depth - 1].function
                          : "",
                  p ? p->start : 0, depth ? &frames[depth - 1] : NULL);
    for (unsigned k = depth; rc == 0 && k > 1; k--) /* frames[depth - 1] is the procedure */
        if (*frames[k - 2].function)
            rc = push(n, frames[k - 2].function, 0, &frames[k - 2]);
    return rc;
}

static void leave_code(struct naming *n)
{
    if (n->code && n->inlines && !n->rare && !*n->calls->trouble)
        (void)cs_image_lacks_inlines(n->code, n->calls->trouble, sizeof n->calls->trouble);
    cs_image_close(n->code);
    n->code = NULL;
}

static int open_code(struct naming *n, struct cs_store *store, const char *id, struct cs_error *err)
{
    leave_code(n);
    n->image = *id ? cs_catalog_image(n->calls->catalog, id) : NULL;
    int rc = n->image ? cs_image_open_shared(n->image, store, &n->code, err) : 0;
    if (rc == 0 && n->code && !*n->calls->trouble && !*n->image->build_id && n->image->kind == CS_IMAGE_ELF)
        snprintf(n->calls->trouble, sizeof n->calls->trouble, "%s", cs_image_trouble(n->code));
    return rc;
}

/* Of the image whose places begin here. */
static bool is_rare(const struct cs_contexts *contexts, const struct place *place, const struct place *end)
{
    const uint32_t image = place->image;
    double samples = 0;
    for (; place < end && place->image == image; place++)
        samples += (double)cs_contexts_at(contexts, place->node)->self;
    return samples < (double)cs_contexts_at(contexts, CS_CONTEXTS_ROOT)->self / RARE;
}

int cs_call_frames_of(struct cs_calls *calls, struct cs_store *store, const struct cs_contexts *contexts,
                      bool inlines, struct cs_call_frames *frames, uint32_t **pool, struct cs_error *err)
{
    uint32_t n = cs_contexts_count(contexts);
    struct naming naming = {.calls = calls, .inlines = inlines};
    struct place *places = calloc(n, sizeof *places);
    size_t *first = calloc(n, sizeof *first); /* in the pool, which moves as it grows */
    int rc = places && first ? 0 : cs_fail(err, ENOMEM, "out of memory for %" PRIu32 " call contexts", n);
    for (uint32_t i = 1; rc == 0 && i < n; i++) {
        const struct cs_context *c = cs_contexts_at(contexts, i);
        places[i - 1] = (struct place){c->image, i, c->offset};
    }
    if (rc == 0)
        cs_sort(places, n - 1, by_place);
    for (uint32_t i = 0; rc == 0 && i + 1 < n; i++) {
        const struct place *p = &places[i], *before = i ? &places[i - 1] : NULL;
        bool same_image = before && before->image == p->image;
        if (!same_image) {
            rc = open_code(&naming, store, cs_contexts_image_id(contexts, p->image), err);
            naming.rare = is_rare(contexts, p, places + n - 1);
        }
        if (rc == 0 && same_image && before->offset == p->offset) {
            first[p->node] = first[before->node];
            frames[p->node].n = frames[before->node].n;
        } else if (rc == 0) {
            first[p->node] = naming.pool.n;
            if (name_offset(&naming, p->offset) < 0)
                rc = cs_fail(err, ENOMEM, "out of memory for the names of call contexts");
            frames[p->node].n = (unsigned)(naming.pool.n - first[p->node]);
        }
    }
    for (uint32_t i = 1; rc == 0 && i < n; i++)
        frames[i].functions = naming.pool.at + first[i];
    *pool = naming.pool.at;
    leave_code(&naming);
    free(places);
    free(first);
    return rc;
}
