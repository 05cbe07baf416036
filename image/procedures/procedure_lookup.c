/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Looking things up in a list of procedures, whether it was read or lies in the cache. From a cache each
 * procedure is taken when first asked for: a report of samples needs one in ten. */
#include "image/procedures/procedure_cache.h"
#include "image/procedures/procedures.h"
#include "store/base/bisect.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MADE_BLOCK 16384 /* bytes */

/* Room for a string of ours: from a block of many, as a stripped library needs thousands. */
static char *name_room(struct procedures *p, size_t n)
{
    if (!p->made || n > p->made->capacity - p->made->used) {
        size_t capacity = n > MADE_BLOCK ? n : MADE_BLOCK;
        struct made_names *block = malloc(sizeof *block + capacity);
        if (!block)
            return NULL;
        *block = (struct made_names){p->made, 0, capacity};
        p->made = block;
    }
    char *at = p->made->text + p->made->used;
    p->made->used += n;
    return at;
}

const char *procedures_join_name(struct procedures *p, const char *text, const char *end)
{
    char *name = name_room(p, strlen(text) + strlen(end) + 1);
    if (name)
        strcpy(stpcpy(name, text), end);
    return name;
}

/* "sub_1a2b": written by hand, as printf would be most of the time of reading an image. */
const char *procedures_address_name(struct procedures *p, uint64_t address)
{
    char digits[17];
    int n = 16;
    digits[n] = 0;
    do
        digits[--n] = "0123456789abcdef"[address & 15];
    while ((address >>= 4) != 0);
    return procedures_join_name(p, "sub_", digits + n);
}

void procedures_fini(struct procedures *p)
{
    for (struct made_names *next; p->made; p->made = next) {
        next = p->made->next;
        free(p->made);
    }
    procedure_cache_close(p->cache);
    free(p->list);
    free(p->parts);
    free(p->by_name);
    cs_image_ranges_fini(&p->ranges);
    *p = (struct procedures){0};
}

int procedures_init_cached(struct procedures *p, struct procedure_cache *cache)
{
    size_t n = procedure_cache_n(cache);
    *p = (struct procedures){.cache = cache, .n = n};
    p->list = calloc(n + 1, sizeof *p->list);
    /* parts[i] is procedure i's when it has but one; those of several come behind */
    p->parts = calloc(n + procedure_cache_n_parts(cache) + 1, sizeof *p->parts);
    if (p->list && p->parts)
        return 0;
    procedures_fini(p);
    return -ENOMEM;
}

static bool fill(struct procedures *p, uint32_t i)
{
    struct cs_image_procedure *to = &p->list[i];
    if (to->name)
        return true;
    struct cs_image_procedure found;
    if (!procedure_cache_get(p->cache, i, &found))
        return false;
    struct cs_image_part *parts =
        &p->parts[found.n_parts == 1 ? i : p->n + procedure_cache_first_part(p->cache, i)];
    for (unsigned k = 0; k < found.n_parts; k++)
        parts[k] = procedure_cache_part(p->cache, i, k);
    found.parts = parts;
    if (!found.name)
        found.name = procedures_address_name(p, found.start);
    if (found.name)
        *to = found;
    return found.name != NULL;
}

void procedures_fill(struct procedures *p)
{
    for (uint32_t i = 0; p->cache && !p->filled && i < p->n; i++)
        if (!fill(p, i)) /* no entry that passed its checksum has one */
            p->list[i] = (struct cs_image_procedure){.name = "", .n_parts = 1, .parts = &p->parts[i]};
    p->filled = true;
}

const struct cs_image_procedure *procedures_at(struct procedures *p, uint64_t offset)
{
    if (p->cache) {
        uint32_t found = procedure_cache_find(p->cache, offset);
        return found == CS_IMAGE_RANGE_NONE || !fill(p, found) ? NULL : &p->list[found];
    }
    uint32_t i = cs_image_ranges_find(&p->ranges, offset);
    return i == CS_IMAGE_RANGE_NONE ? NULL : &p->list[p->ranges.range[i].id];
}

static int by_plain_name(const void *a, const void *b, void *list)
{
    const struct cs_image_procedure *l = list;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    int order = strcmp(l[x].name, l[y].name);
    return order ? order : (x > y) - (x < y);
}

/* The first look-up by name sorts: reports that only place samples never need it. */
static bool sort_names(struct procedures *p)
{
    if (p->by_name)
        return true;
    procedures_fill(p);
    p->by_name = malloc((p->n + 1) * sizeof *p->by_name);
    for (size_t i = 0; p->by_name && i < p->n; i++)
        p->by_name[i] = (uint32_t)i;
    if (p->by_name)
        qsort_r(p->by_name, p->n, sizeof *p->by_name, by_plain_name, p->list);
    return p->by_name != NULL;
}

const struct cs_image_procedure *procedures_named(struct procedures *p, const char *name, unsigned i,
                                                  unsigned *n_found)
{
    if (n_found)
        *n_found = 0;
    if (!sort_names(p))
        return NULL;
    size_t low = cs_bisect(p->n, k, strcmp(p->list[p->by_name[k]].name, name) < 0);
    unsigned n = 0;
    const struct cs_image_procedure *found = NULL;
    for (; low < p->n && strcmp(p->list[p->by_name[low]].name, name) == 0; low++)
        if (n++ == i)
            found = &p->list[p->by_name[low]];
    if (n_found)
        *n_found = n;
    return found;
}
