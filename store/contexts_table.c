/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Trees of contexts from tables and into tables. A row names its parent by number, and rows come in the order
 * of those numbers. So they are found by them, from the root outwards. */
#include "store/contexts_tree.h"

#include "store/base/array.h"
#include "store/base/bisect.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { PARENT, IMAGE, OFFSET, SAMPLES };

/* Rows that have the parent `key`: the first of them, and how many. Rows ascend by parent. */
static size_t rows_of(struct cs_table *table, uint64_t key, size_t *n)
{
    size_t low = cs_bisect(cs_table_rows(table), i, cs_table_row(table, i)[PARENT] < key);
    size_t high = low;
    while (high < cs_table_rows(table) && cs_table_row(table, high)[PARENT] == key)
        high++;
    *n = high - low;
    return low;
}

struct taking {
    struct cs_contexts *tree;
    struct cs_table *table;
    bool *taken; /* by row: it has a place. A number that two rows share places its children once */
    CS_ARRAY(uint32_t) waiting; /* nodes whose children are to be found */
};

static int take_row(struct taking *t, size_t r, uint32_t parent)
{
    const uint64_t *row = cs_table_row(t->table, r);
    int64_t image = cs_contexts_image(t->tree, cs_table_string(t->table, row[IMAGE]));
    int64_t node = image < 0 ? image : cs_contexts_child(t->tree, parent, (uint32_t)image, row[OFFSET]);
    if (node < 0 || cs_array_reserve(&t->waiting, t->waiting.n + 1) < 0)
        return -ENOMEM;
    cs_contexts_add(t->tree, (uint32_t)node, row[SAMPLES]);
    t->waiting.at[t->waiting.n++] = (uint32_t)node;
    t->taken[r] = true;
    return 0;
}

static int take_descendants(struct taking *t)
{
    int rc = 0;
    while (rc == 0 && t->waiting.n) {
        uint32_t node = t->waiting.at[--t->waiting.n];
        size_t n, first = rows_of(t->table, t->tree->nodes[node].key, &n);
        for (size_t r = first; rc == 0 && r < first + n; r++)
            rc = t->taken[r] ? 0 : take_row(t, r, node);
    }
    return rc;
}

static int take_contexts(struct cs_contexts *tree, struct cs_table *table)
{
    size_t n = cs_table_rows(table), n_top, first = rows_of(table, 0, &n_top);
    struct taking t = {.tree = tree, .table = table, .taken = calloc(n + 1, sizeof(bool))};
    int rc = t.taken ? 0 : -ENOMEM;
    for (size_t r = first; rc == 0 && r < first + n_top; r++)
        rc = take_row(&t, r, CS_CONTEXTS_ROOT);
    rc = rc < 0 ? rc : take_descendants(&t);
    for (size_t r = 0; rc == 0 && r < n; r++) {
        int64_t other = t.taken[r] ? 0 : cs_contexts_child(tree, CS_CONTEXTS_ROOT, 0, 0);
        if (other > 0 && (rc = take_row(&t, r, (uint32_t)other)) == 0)
            rc = take_descendants(&t);
        rc = other < 0 ? -ENOMEM : rc;
    }
    cs_array_free(&t.waiting);
    free(t.taken);
    return rc;
}

/* An address within the call instead of the one behind it; a method known by its name only stays. */
static uint64_t call_of(uint64_t offset)
{
    bool beginning = offset >> 63 && !(offset & 0xffffff);
    return offset && !beginning ? offset - 1 : offset;
}

/* "id+hex;id+hex", leaf first. */
static int take_stack(struct cs_contexts *tree, const char *frames, uint64_t samples)
{
    uint32_t node = CS_CONTEXTS_ROOT;
    for (const char *end = frames + strlen(frames), *start; end > frames; end = start - 1) {
        start = end;
        while (start > frames && start[-1] != ';')
            start--;
        char id[CS_IMAGE_ID_MAX] = "";
        const char *mark = memchr(start, '+', (size_t)(end - start));
        if (mark && (size_t)(mark - start) < sizeof id)
            memcpy(id, start, (size_t)(mark - start));
        uint64_t offset = *id ? strtoull(mark + 1, NULL, 16) : 0;
        int64_t image = cs_contexts_image(tree, id);
        if (start > frames && *id)
            offset = call_of(offset);
        int64_t next = image < 0 ? image : cs_contexts_child(tree, node, (uint32_t)image, offset);
        if (next < 0)
            return -ENOMEM;
        node = (uint32_t)next;
        if (start == frames)
            break;
    }
    cs_contexts_add(tree, node, samples);
    return 0;
}

int cs_contexts_take(struct cs_contexts *tree, struct cs_table *table)
{
    if (cs_schema_equal(cs_table_schema(table), &cs_schema_contexts))
        return take_contexts(tree, table);
    if (!cs_schema_equal(cs_table_schema(table), &cs_schema_stacks))
        return -EINVAL;
    int rc = 0;
    for (size_t r = 0; rc == 0 && r < cs_table_rows(table); r++) {
        const uint64_t *row = cs_table_row(table, r);
        rc = take_stack(tree, cs_table_string(table, row[0]), row[1]);
    }
    return rc;
}

bool cs_contexts_of(const struct cs_store_profile_ref *ref, char event[64])
{
    static const char suffix[] = "-stacks";
    bool stacks = ref->kind == CS_KIND_STACKS;
    size_t n = strnlen(ref->head->event, sizeof ref->head->event - 1);
    if (!stacks && ref->kind != CS_KIND_CONTEXTS)
        return false;
    if (stacks && n > sizeof suffix &&
        memcmp(ref->head->event + n - (sizeof suffix - 1), suffix, sizeof suffix - 1) == 0)
        n -= sizeof suffix - 1;
    memcpy(event, ref->head->event, n);
    event[n] = '\0';
    return true;
}

int cs_contexts_put(const struct cs_contexts *tree, struct cs_table *table)
{
    for (uint32_t i = 1; i < tree->n; i++) {
        const struct cs_context *c = &tree->nodes[i];
        int64_t text = cs_table_text(table, cs_contexts_image_id(tree, c->image));
        if (text < 0 || cs_table_add(table, (uint64_t[]){tree->nodes[c->parent].key, (uint64_t)text,
                                                         c->offset, c->self}) < 0)
            return -ENOMEM;
    }
    return 0;
}

int cs_contexts_fold_table(struct cs_table *table, uint32_t most)
{
    if (cs_table_rows(table) <= most)
        return 0;
    struct cs_contexts *tree = cs_contexts_open();
    int rc = tree ? take_contexts(tree, table) : -ENOMEM;
    rc = rc < 0 ? rc : cs_contexts_fold(tree, most);
    if (rc == 0) {
        cs_table_clear(table);
        rc = cs_contexts_put(tree, table);
    }
    cs_contexts_close(tree);
    return rc;
}
