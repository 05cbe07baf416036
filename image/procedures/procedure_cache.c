/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An entry is a head, then arrays of fixed width in the machine's own byte order, then strings of ours:
 *
 *     head | ranges, nested, ascending | procedures | parts of those that have several | strings
 *
 * Addresses are relative to the lowest. A name is an offset into the image, the debug file or the strings.
 * About 45 bytes a procedure. */
#include "image/procedures/procedure_cache.h"
#include "store/base/bisect.h"
#include "store/base/cache.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VERSION 4 /* changes with the layout and with what procedures.c makes */
/* An image with fewer in a smaller file is read as quickly. */
#define PROCEDURES_MIN 64
#define IMAGE_BYTES_MIN (256u << 10)
#define KEY_MAX 256
#define BYTES_MAX ((uint64_t)256 << 20)

enum name_base { NAME_IMAGE, NAME_DEBUG, NAME_OURS, NAME_ADDRESS };

struct head {
    uint64_t base;
    uint32_t n_ranges, n_procedures, n_parts, strings_size;
};

struct entry_range {
    uint32_t low, size, id, parent;
};
struct entry_procedure {
    uint32_t start, size, name, first_part, n_parts;
    uint8_t source, base, unused[2];
};
struct entry_part {
    uint32_t start, size;
};

struct procedure_cache {
    struct cs_cache_entry entry;
    const struct head *head;
    const struct entry_range *ranges;
    const struct entry_procedure *procedures;
    const struct entry_part *parts;
    const char *strings;
    const struct elf_file *image, *debug;
};

static size_t size_of(const struct head *h)
{
    return sizeof *h + (size_t)h->n_ranges * sizeof(struct entry_range) +
           (size_t)h->n_procedures * sizeof(struct entry_procedure) +
           (size_t)h->n_parts * sizeof(struct entry_part) + h->strings_size;
}

/* All that an entry depends on; false where there is to be none. */
static bool key_of(const struct elf_file *image, const struct elf_file *debug, char key[KEY_MAX])
{
    snprintf(key, KEY_MAX, "procedures %d of %s, %zu bytes of %lld ns, debug %zu bytes of %lld ns", VERSION,
             image->build_id, image->size, (long long)image->changed_ns, debug ? debug->size : 0,
             debug ? (long long)debug->changed_ns : 0LL);
    return image->mapped && image->build_id[0];
}

struct procedure_cache *procedure_cache_open(const struct elf_file *image, const struct elf_file *debug)
{
    char key[KEY_MAX];
    struct cs_cache folder;
    struct cs_cache_entry entry;
    cs_cache_init(&folder, NULL, "procedures", BYTES_MAX);
    if (!key_of(image, debug, key) || !cs_cache_load(&folder, key, &entry))
        return NULL;
    const struct head *head = entry.bytes;
    struct procedure_cache *cache =
        entry.n >= sizeof *head && size_of(head) == entry.n ? calloc(1, sizeof *cache) : NULL;
    if (!cache) {
        cs_cache_entry_fini(&entry);
        return NULL;
    }
    *cache = (struct procedure_cache){.entry = entry, .head = head, .image = image, .debug = debug};
    cache->ranges = (const void *)(head + 1);
    cache->procedures = (const void *)(cache->ranges + head->n_ranges);
    cache->parts = (const void *)(cache->procedures + head->n_procedures);
    cache->strings = (const void *)(cache->parts + head->n_parts);
    return cache;
}

void procedure_cache_close(struct procedure_cache *cache)
{
    if (!cache)
        return;
    cs_cache_entry_fini(&cache->entry);
    free(cache);
}

size_t procedure_cache_n(const struct procedure_cache *cache)
{
    return cache->head->n_procedures;
}

size_t procedure_cache_n_parts(const struct procedure_cache *cache)
{
    return cache->head->n_parts;
}

uint32_t procedure_cache_first_part(const struct procedure_cache *cache, uint32_t i)
{
    return cache->procedures[i].first_part;
}

uint32_t procedure_cache_find(const struct procedure_cache *cache, uint64_t offset)
{
    if (offset < cache->head->base || offset - cache->head->base > UINT32_MAX)
        return CS_IMAGE_RANGE_NONE;
    /* first range that starts above `at` */
    uint32_t at = (uint32_t)(offset - cache->head->base);
    uint32_t low = cs_bisect(cache->head->n_ranges, i, cache->ranges[i].low <= at);
    for (uint32_t i = low; i-- > 0;) {
        const struct entry_range *r = &cache->ranges[i];
        if (at - r->low < r->size)
            return r->id < cache->head->n_procedures ? r->id : CS_IMAGE_RANGE_NONE;
        if (r->parent >= i) /* the top, or damaged */
            break;
        i = r->parent + 1;
    }
    return CS_IMAGE_RANGE_NONE;
}

static const char *text_at(const char *text, size_t size, uint32_t offset)
{
    return offset < size && memchr(text + offset, 0, size - offset) ? text + offset : NULL;
}

bool procedure_cache_get(const struct procedure_cache *cache, uint32_t i,
                         struct cs_image_procedure *procedure)
{
    assert(i < procedure_cache_n(cache));
    const struct entry_procedure *e = &cache->procedures[i];
    const char *name = e->base == NAME_IMAGE  ? text_at(cache->image->map, cache->image->size, e->name)
                       : e->base == NAME_OURS ? text_at(cache->strings, cache->head->strings_size, e->name)
                       : e->base == NAME_DEBUG && cache->debug
                           ? text_at(cache->debug->map, cache->debug->size, e->name)
                           : NULL;
    bool parts_fit = e->n_parts == 1 || (e->n_parts && e->first_part <= cache->head->n_parts &&
                                         e->n_parts <= cache->head->n_parts - e->first_part);
    if ((!name && e->base != NAME_ADDRESS) || !parts_fit || e->source > CS_IMAGE_FROM_STORE)
        return false;
    *procedure = (struct cs_image_procedure){.name = name,
                                             .start = cache->head->base + e->start,
                                             .size = e->size,
                                             .source = (enum cs_image_procedure_source)e->source,
                                             .n_parts = e->n_parts};
    return true;
}

struct cs_image_part procedure_cache_part(const struct procedure_cache *cache, uint32_t i, unsigned part)
{
    assert(i < procedure_cache_n(cache) && part < cache->procedures[i].n_parts);
    const struct entry_procedure *e = &cache->procedures[i];
    if (e->n_parts == 1)
        return (struct cs_image_part){cache->head->base + e->start, e->size};
    const struct entry_part *p = &cache->parts[e->first_part + part];
    return (struct cs_image_part){cache->head->base + p->start, p->size};
}

static bool within(const struct elf_file *file, const char *name, uint32_t *offset)
{
    uintptr_t from = file ? (uintptr_t)file->map : 0, at = (uintptr_t)name;
    if (!file || at < from || at - from >= file->size || at - from > UINT32_MAX)
        return false;
    *offset = (uint32_t)(at - from);
    return true;
}

struct writing {
    const struct procedures *p;
    const struct elf_file *image, *debug;
    struct head head;
    struct entry_range *ranges;
    struct entry_procedure *procedures;
    struct entry_part *parts;
    char *strings;
};

static uint32_t relative(const struct writing *w, uint64_t address)
{
    return (uint32_t)(address - w->head.base);
}

static void put_name(struct writing *w, const struct cs_image_procedure *from, struct entry_procedure *to)
{
    if (from->source == CS_IMAGE_FROM_CFI && strncmp(from->name, "sub_", 4) == 0)
        to->base = NAME_ADDRESS;
    else if (within(w->image, from->name, &to->name))
        to->base = NAME_IMAGE;
    else if (within(w->debug, from->name, &to->name))
        to->base = NAME_DEBUG;
    else {
        size_t n = strlen(from->name) + 1;
        to->base = NAME_OURS;
        to->name = w->head.strings_size;
        if (w->strings)
            memcpy(w->strings + w->head.strings_size, from->name, n);
        w->head.strings_size += (uint32_t)n;
    }
}

/* Without arrays it only counts: what an entry takes is known after the first pass. */
static void put_procedures(struct writing *w)
{
    w->head.n_parts = w->head.strings_size = 0;
    for (size_t i = 0; i < w->p->n; i++) {
        const struct cs_image_procedure *from = &w->p->list[i];
        struct entry_procedure to = {.start = relative(w, from->start),
                                     .size = (uint32_t)from->size,
                                     .first_part = w->head.n_parts,
                                     .n_parts = from->n_parts,
                                     .source = (uint8_t)from->source};
        put_name(w, from, &to);
        if (w->procedures)
            w->procedures[i] = to;
        for (unsigned k = 0; from->n_parts > 1 && k < from->n_parts; k++, w->head.n_parts++)
            if (w->parts)
                w->parts[w->head.n_parts] =
                    (struct entry_part){relative(w, from->parts[k].start), (uint32_t)from->parts[k].size};
    }
}

/* All addresses and sizes in 32 bits, from the lowest on. */
static bool spans_little(const struct procedures *p, uint64_t *base)
{
    uint64_t low = UINT64_MAX, high = 0;
    for (uint32_t i = 0; i < p->ranges.n; i++) {
        low = p->ranges.range[i].low < low ? p->ranges.range[i].low : low;
        high = p->ranges.range[i].high > high ? p->ranges.range[i].high : high;
    }
    for (size_t i = 0; i < p->n; i++)
        for (unsigned k = 0; k < p->list[i].n_parts; k++) {
            const struct cs_image_part *part = &p->list[i].parts[k];
            if (part->size > UINT32_MAX)
                return false;
            low = part->start < low ? part->start : low;
            high = part->start > high ? part->start : high;
        }
    *base = low;
    return low <= high && high - low < UINT32_MAX;
}

void procedure_cache_write(const struct procedures *p, const struct elf_file *image,
                           const struct elf_file *debug)
{
    char key[KEY_MAX];
    struct cs_cache folder;
    struct writing w = {.p = p, .image = image, .debug = debug};
    if ((p->n < PROCEDURES_MIN && image->size < IMAGE_BYTES_MIN) || p->n > UINT32_MAX / 2 ||
        !spans_little(p, &w.head.base) || !key_of(image, debug, key))
        return;
    w.head.n_ranges = p->ranges.n;
    w.head.n_procedures = (uint32_t)p->n;
    put_procedures(&w);
    size_t size = size_of(&w.head);
    struct head *entry = calloc(1, size);
    if (!entry)
        return;
    w.ranges = (void *)(entry + 1);
    w.procedures = (void *)(w.ranges + w.head.n_ranges);
    w.parts = (void *)(w.procedures + w.head.n_procedures);
    w.strings = (char *)(w.parts + w.head.n_parts);
    for (uint32_t i = 0; i < p->ranges.n; i++) {
        const struct cs_image_range *r = &p->ranges.range[i];
        w.ranges[i] =
            (struct entry_range){relative(&w, r->low), (uint32_t)(r->high - r->low), r->id, r->parent};
    }
    put_procedures(&w);
    *entry = w.head;
    cs_cache_init(&folder, NULL, "procedures", BYTES_MAX);
    (void)cs_cache_save(&folder, key, &(struct iovec){entry, size}, 1);
    free(entry);
}
