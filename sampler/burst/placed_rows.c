/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sampler/burst/placed_rows.h"

#include "store/base/array.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PAGES 256

struct placed_page {
    uint64_t page; /* address / 4096 + 1, 0 = free */
    struct cs_placed_rows_image *image;
    uint64_t delta; /* address - offset */
};

struct cs_placed_rows {
    struct cs_sampler *sampler;
    const struct cs_placed_rows_kind *kinds;
    unsigned n_kinds;
    struct cs_placed_rows_image **images;
    unsigned n_images, capacity;
    struct placed_page pages[PAGES]; /* of the process at hand */
    pid_t pid;
    uint64_t time_ns;
    uint64_t unplaced;
};

struct cs_placed_rows *cs_placed_rows_open(struct cs_sampler *sampler,
                                           const struct cs_placed_rows_kind *kinds, unsigned n)
{
    struct cs_placed_rows *rows = calloc(1, sizeof *rows);
    if (rows) {
        rows->sampler = sampler;
        rows->kinds = kinds;
        rows->n_kinds = n;
    }
    return rows;
}

void cs_placed_rows_close(struct cs_placed_rows *rows)
{
    for (unsigned i = 0; rows && i < rows->n_images; i++) {
        for (unsigned k = 0; k < rows->n_kinds; k++)
            cs_table_close(rows->images[i]->table[k]);
        free(rows->images[i]);
    }
    if (rows)
        free(rows->images);
    free(rows);
}

void cs_placed_rows_begin(struct cs_placed_rows *rows, pid_t pid, uint64_t time_ns)
{
    memset(rows->pages, 0, sizeof rows->pages);
    rows->pid = pid;
    rows->time_ns = time_ns;
    rows->unplaced = 0;
}

static struct cs_placed_rows_image *tables_of(struct cs_placed_rows *rows, const struct cs_store_image *image)
{
    for (unsigned i = 0; i < rows->n_images; i++)
        if (rows->images[i]->image == image)
            return rows->images[i];
    if (cs_array_room(rows->images, rows->n_images, rows->capacity) < 0)
        return NULL;
    struct cs_placed_rows_image *tables = calloc(1, sizeof *tables);
    if (tables) {
        tables->image = image;
        tables->rows = rows;
        rows->images[rows->n_images++] = tables;
    }
    return tables;
}

struct cs_placed_rows_image *cs_placed_rows_place(struct cs_placed_rows *rows, uint64_t addr,
                                                  uint64_t *offset)
{
    struct placed_page *page = &rows->pages[addr / 4096 % PAGES];
    if (page->page != addr / 4096 + 1) {
        const struct cs_store_image *image = NULL;
        uint64_t at = 0;
        page->page = addr / 4096 + 1;
        page->image = NULL;
        if (cs_sampler_locate(rows->sampler, rows->pid, addr, rows->time_ns, &image, &at) == 0)
            page->image = tables_of(rows, image);
        page->delta = addr - at;
        if (page->image && image->kind == CS_IMAGE_JIT)
            page->page = 0; /* methods of one page have offsets of their own */
    }
    *offset = addr - page->delta;
    rows->unplaced += !page->image;
    return page->image;
}

uint64_t cs_placed_rows_unplaced(const struct cs_placed_rows *rows)
{
    return rows->unplaced;
}

static struct cs_table *table_of(struct cs_placed_rows_image *image, unsigned kind)
{
    if (!image->table[kind])
        image->table[kind] = cs_table_open(image->rows->kinds[kind].schema);
    return image->table[kind];
}

int cs_placed_rows_add(struct cs_placed_rows_image *image, unsigned kind, const uint64_t *row)
{
    struct cs_table *table = table_of(image, kind);
    return table ? cs_table_add(table, row) : -ENOMEM;
}

int64_t cs_placed_rows_name(struct cs_placed_rows_image *image, unsigned kind,
                            const struct cs_placed_rows_image *named)
{
    struct cs_table *table = table_of(image, kind);
    return table ? cs_table_text(table, image == named ? "" : named->image->id) : -ENOMEM;
}

int cs_placed_rows_add_edge(struct cs_placed_rows_image *from, unsigned kind, uint64_t offset,
                            const struct cs_placed_rows_image *to, uint64_t to_offset, uint64_t count)
{
    int64_t name = cs_placed_rows_name(from, kind, to);
    uint64_t row[] = {offset, (uint64_t)name, to_offset, count, 1, count * count};
    return name < 0 ? -ENOMEM : cs_placed_rows_add(from, kind, row);
}

size_t cs_placed_rows_n(const struct cs_placed_rows_image *image, unsigned kind)
{
    assert(kind < sizeof image->table / sizeof *image->table);
    return image->table[kind] ? cs_table_rows(image->table[kind]) : 0;
}

int cs_placed_rows_merge(struct cs_placed_rows *rows, struct cs_store *store, struct cs_error *err)
{
    for (unsigned i = 0; i < rows->n_images; i++)
        for (unsigned k = 0; k < rows->n_kinds; k++) {
            struct cs_table *table = rows->images[i]->table[k];
            struct cs_store_profile_head head = {.unit = ""};
            if (!table)
                continue;
            strncpy(head.event, rows->kinds[k].event, sizeof head.event - 1);
            int rc = cs_store_merge(store, rows->images[i]->image, &head, table, err);
            if (rc < 0)
                return rc;
            cs_table_close(table);
            rows->images[i]->table[k] = NULL;
        }
    return 0;
}
