/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Mappings are read while the process lives and kept when it ends: a value is resolved by the last mapping that had
 * the address. Files are opened when a value is first asked for. */
#include "cli/observe/addresses.h"
#include "image/code.h"
#include "image/debug/tag_points.h"
#include "sampler/images/images.h"
#include "store/base/array.h"
#include "store/base/order.h"
#include "store/base/text.h"

#include <inttypes.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

struct mapping {
    uint64_t start, end, pgoff;
    struct cs_mapped_image *image;
};

struct opened { /* by the image's index */
    bool tried;
    struct cs_image_code *code;
    struct cs_image_tag_points *points;
};

struct known {
    uint64_t value, standing, offset;
    const struct cs_mapped_image *image; /* NULL = lies nowhere */
    char *text;
};

struct addresses {
    uint64_t exe_base; /* 0 = not known */
    struct cs_images *images;
    struct mapping *mappings;
    size_t n_mappings;
    struct opened *opened;
    unsigned n_opened;
    void *known; /* tree by value */
};

struct addresses *addresses_open(void)
{
    struct addresses *a = calloc(1, sizeof *a);
    if (a && (a->images = cs_images_open("/proc")) == NULL) {
        free(a);
        a = NULL;
    }
    return a;
}

static void free_known(void *p)
{
    struct known *k = p;
    free(k->text);
    free(k);
}

void addresses_close(struct addresses *a)
{
    if (!a)
        return;
    tdestroy(a->known, free_known);
    for (unsigned i = 0; i < a->n_opened; i++) {
        cs_image_close(a->opened[i].code);
        cs_image_tag_points_close(a->opened[i].points);
    }
    free(a->opened);
    free(a->mappings);
    cs_images_close(a->images);
    free(a);
}

/* ---- where images lie ---- */

static void add_mapping(struct addresses *a, const struct mapping *m)
{
    for (size_t i = 0; i < a->n_mappings; i++)
        if (memcmp(&a->mappings[i], m, sizeof *m) == 0)
            return;
    if (cs_array_resize(a->mappings, a->n_mappings + 1) < 0)
        return;
    a->mappings[a->n_mappings++] = *m;
}

void addresses_read_mappings(struct addresses *a, pid_t pid)
{
    char path[64], *row = NULL;
    size_t size = 0;
    snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
    FILE *maps = a ? fopen(path, "re") : NULL;
    if (!maps)
        return;
    while (getline(&row, &size, maps) > 0) {
        struct cs_mapped_file file = {.pid = pid, .build_id = ""};
        int at = 0;
        char *end = strchr(row, '\n');
        if (end)
            *end = '\0';
        if (sscanf(row, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64 " %" SCNx32 ":%" SCNx32 " %" SCNu64 " %n",
                   &file.start, &file.end, &file.pgoff, &file.major, &file.minor, &file.inode, &at) != 6 ||
            row[at] != '/' || strncmp(row + at, "/memfd:", 7) == 0)
            continue;
        char *gone = strstr(row + at, " (deleted)");
        if (gone && gone[10] == '\0')
            *gone = '\0';
        file.path = row + at;
        const struct mapping m = {file.start, file.end, file.pgoff, cs_images_of_file(a->images, &file)};
        if (m.image && m.image->placeable)
            add_mapping(a, &m);
    }
    free(row);
    fclose(maps);
}

void addresses_of(struct addresses *a, const struct cs_reader *reader)
{
    const uint64_t after = a && reader ? cs_reader_address(reader, UINT64_MAX) : 0; /* base - -1 */
    if (after)
        a->exe_base = after - 1;
}

/* The last one seen: it may have taken the place of another. */
static const struct mapping *mapping_of(const struct addresses *a, uint64_t address)
{
    for (size_t i = a->n_mappings; i-- > 0;)
        if (address >= a->mappings[i].start && address < a->mappings[i].end)
            return &a->mappings[i];
    return NULL;
}

/* ---- what lies there ---- */

static const struct opened *open_image(struct addresses *a, const struct cs_mapped_image *image)
{
    if (image->index >= a->n_opened) {
        if (cs_array_resize(a->opened, image->index + 1) < 0)
            return NULL;
        memset(a->opened + a->n_opened, 0, (image->index + 1 - a->n_opened) * sizeof *a->opened);
        a->n_opened = image->index + 1;
    }
    struct opened *o = &a->opened[image->index];
    struct cs_error ignored = {0};
    if (!o->tried) {
        o->tried = true;
        if (cs_image_open(&image->image, NULL, &o->code, &ignored) == 0 && cs_image_path(o->code)[0] &&
            cs_image_tag_points_open(cs_image_path(o->code), &o->points, &ignored) < 0)
            o->points = NULL;
    }
    return o;
}

static char *text_of_point(const struct cs_image_tag_point *p)
{
    char function[512], *text;
    cs_image_demangle(p->function, function, sizeof function);
    int n = p->loop ? asprintf(&text, "%s loop %u (%s:%u)", function, p->loop, cs_base_name(p->file), p->line)
                    : asprintf(&text, "%s (%s:%u)", function, cs_base_name(p->file), p->line);
    return n < 0 ? NULL : text;
}

#define FRAMES 16

/* The innermost frame there; of a function's start the function itself, where it is declared, as tag points have it: what was
 * inlined into its first instructions isn't what a tag of it means. */
static bool frame_of(struct cs_image_code *code, const struct cs_image_procedure *p, uint64_t offset,
                     struct cs_image_frame *out)
{
    struct cs_image_frame frames[FRAMES];
    const unsigned n = cs_image_frames_at(code, offset, frames, FRAMES);
    if (n == 0)
        return false;
    *out = frames[0];
    if (offset == p->start && n <= FRAMES && frames[n - 1].first_line) {
        *out = frames[n - 1];
        out->line = out->first_line;
    }
    return out->file[0] != '\0';
}

static char *text_of_code(const struct opened *o, const struct cs_mapped_image *image, uint64_t offset)
{
    const struct cs_image_procedure *p = o && o->code ? cs_image_procedure_at(o->code, offset) : NULL;
    struct cs_image_frame frame;
    char function[512], *text;
    int n;
    if (!p)
        n = asprintf(&text, "%s+0x%" PRIx64, cs_base_name(image->image.path), offset);
    else if (frame_of(o->code, p, offset, &frame))
        n = asprintf(&text, "%s (%s:%u)", cs_image_demangle(p->name, function, sizeof function),
                     cs_base_name(frame.file), frame.line);
    else
        n = asprintf(&text, "%s+0x%" PRIx64, cs_image_demangle(p->name, function, sizeof function),
                     offset - p->start);
    return n < 0 ? NULL : text;
}

CS_ORDER(by_value, struct known, cs_order(a->value, b->value))

static struct known *remember(struct addresses *a, const struct known *known)
{
    struct known *copy = malloc(sizeof *copy);
    if (!copy)
        return NULL;
    *copy = *known;
    copy->text = known->text ? strdup(known->text) : NULL;
    struct known **at = tsearch(copy, &a->known, by_value);
    if (!at || *at != copy)
        free_known(copy);
    return at ? *at : NULL;
}

static uint64_t standing(const struct addresses *a, const struct cs_mapped_image *image, uint64_t offset)
{
    const struct mapping *exe = a->exe_base ? mapping_of(a, a->exe_base) : NULL;
    if (exe && exe->image == image)
        return cs_image_vaddr(&image->layout, exe->pgoff) - offset;
    return 1ull << 62 | XXH3_64bits_withSeed(image->image.id, strlen(image->image.id), offset) >> 2;
}

static const struct known *know(struct addresses *a, uint64_t value)
{
    struct known new = {.value = value, .standing = value}, **found;
    if (!a)
        return NULL;
    if ((found = tfind(&new, &a->known, by_value)) != NULL)
        return *found;
    const uint64_t address = (int64_t)value >= 0 ? value : a->exe_base ? a->exe_base - value : 0;
    const struct mapping *m = address ? mapping_of(a, address) : NULL;
    const uint64_t offset = m ? cs_image_vaddr(&m->image->layout, address - m->start + m->pgoff) : UINT64_MAX;
    if (offset == UINT64_MAX)
        return remember(a, &new);
    const struct opened *o = open_image(a, m->image);
    const struct cs_image_tag_point *p = o && o->points ? cs_image_tag_points_at(o->points, offset) : NULL;
    new.image = m->image;
    new.offset = p ? p->region : offset;
    new.standing = standing(a, m->image, new.offset);
    new.text = p ? text_of_point(p) : text_of_code(o, m->image, offset);
    const struct known *kept = remember(a, &new);
    new.value = new.standing;
    if (kept && kept->value != new.standing)
        remember(a, &new);
    free(new.text);
    return kept;
}

uint64_t addresses_standing(struct addresses *a, uint64_t value)
{
    const struct known *k = know(a, value);
    return k ? k->standing : value;
}

const char *addresses_text(struct addresses *a, uint64_t value)
{
    const struct known *k = know(a, value);
    return k ? k->text : NULL;
}

bool addresses_place(struct addresses *a, uint64_t value, struct cs_store_image *image, uint64_t *offset)
{
    const struct known *k = know(a, value);
    if (!k || !k->image)
        return false;
    *image = k->image->image;
    *offset = k->offset;
    return true;
}
