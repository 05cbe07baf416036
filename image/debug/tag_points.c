/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "image/debug/tag_points.h"
#include "image/file/elf.h"
#include "store/base/order.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define RECORD_BYTES 24

struct cs_image_tag_points {
    struct elf_file *image, *debug;
    struct cs_image_tag_point *list;
    size_t n;
};

/* A section's bytes, decompressed; libelf keeps them. */
static const uint8_t *contents(const struct elf_file *file, const char *name, size_t *n)
{
    const struct elf_section *s = file ? elf_file_section(file, name) : NULL;
    if (!s)
        return NULL;
    if (!(s->header.sh_flags & SHF_COMPRESSED))
        return elf_file_contents(file, s, n);
    if (elf_compress(s->section, 0, 0) < 0)
        return NULL;
    const Elf_Data *data = elf_rawdata(s->section, NULL);
    *n = data ? data->d_size : 0;
    return data ? data->d_buf : NULL;
}

static uint64_t number(const uint8_t *p, unsigned bytes)
{
    uint64_t value = 0;
    while (bytes-- > 0)
        value = value << 8 | p[bytes];
    return value;
}

static const char *text_at(const uint8_t *texts, size_t n, uint64_t at)
{
    return at < n && memchr(texts + at, 0, n - at) ? (const char *)texts + at : "";
}

CS_ORDER(by_region, struct cs_image_tag_point, strcmp(a->function, b->function), cs_order(a->loop, b->loop),
         cs_order(a->line, b->line), strcmp(a->file, b->file), cs_order(a->offset, b->offset))

CS_ORDER(by_offset, struct cs_image_tag_point, cs_order(a->offset, b->offset))

static bool same_region(const struct cs_image_tag_point *a, const struct cs_image_tag_point *b)
{
    return a->loop == b->loop && a->line == b->line && strcmp(a->function, b->function) == 0 &&
           strcmp(a->file, b->file) == 0;
}

static int read_points(struct cs_image_tag_points *points)
{
    size_t n = 0, n_texts = 0;
    const struct elf_file *file = points->image;
    const uint8_t *records = contents(file, ".debug_cyclescope_tags", &n);
    if (!records && (points->debug = elf_file_find_debug(file)) != NULL) {
        file = points->debug;
        records = contents(file, ".debug_cyclescope_tags", &n);
    }
    const uint8_t *texts = contents(file, ".debug_cyclescope_str", &n_texts);
    points->n = records && texts ? n / RECORD_BYTES : 0;
    if (points->n == 0)
        return 0;
    points->list = calloc(points->n, sizeof *points->list);
    if (!points->list)
        return -ENOMEM;
    for (size_t i = 0; i < points->n; i++) {
        const uint8_t *r = records + i * RECORD_BYTES;
        points->list[i] = (struct cs_image_tag_point){.offset = number(r, 8),
                                                      .file = text_at(texts, n_texts, number(r + 8, 4)),
                                                      .function = text_at(texts, n_texts, number(r + 12, 4)),
                                                      .line = (unsigned)number(r + 16, 4),
                                                      .loop = (unsigned)number(r + 20, 2),
                                                      .depth = r[22]};
    }
    cs_sort(points->list, points->n, by_region);
    for (size_t i = 0; i < points->n; i++) {
        struct cs_image_tag_point *p = &points->list[i];
        p->region = i > 0 && same_region(p, p - 1) ? p[-1].region : p->offset;
    }
    cs_sort(points->list, points->n, by_offset);
    return 0;
}

int cs_image_tag_points_open(const char *path, struct cs_image_tag_points **out, struct cs_error *err)
{
    struct cs_image_tag_points *points = calloc(1, sizeof *points);
    if (!points)
        return cs_fail(err, ENOMEM, "no memory for the tag points of %s", path);
    int rc = elf_file_open(path, &points->image, err);
    if (rc == 0 && read_points(points) < 0)
        rc = cs_fail(err, ENOMEM, "no memory for the tag points of %s", path);
    if (rc < 0) {
        cs_image_tag_points_close(points);
        return rc;
    }
    *out = points;
    return 0;
}

void cs_image_tag_points_close(struct cs_image_tag_points *points)
{
    if (!points)
        return;
    elf_file_close(points->debug);
    elf_file_close(points->image);
    free(points->list);
    free(points);
}

const struct cs_image_tag_point *cs_image_tag_points_at(const struct cs_image_tag_points *points,
                                                        uint64_t offset)
{
    assert(points);
    const struct cs_image_tag_point key = {.offset = offset};
    return cs_find(&key, points->list, points->n, by_offset);
}
