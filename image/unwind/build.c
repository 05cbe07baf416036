/* SPDX-License-Identifier: GPL-2.0-or-later */
/* There is a row where the rule changes, and one where a block begins. An image of 100 MB of code has few thousand
 * different rules and some four million rows. Linear but for the look-up of a rule by hash. */
#include "image/unwind/build.h"

#include "store/base/array.h"

#include <assert.h>
#include <xxhash.h>

static uint32_t offset_to_block(uint64_t offset)
{
    return (uint32_t)(offset >> CS_UNWIND_BLOCK_BITS);
}

size_t unwind_table_size(const struct cs_unwind_header *h)
{
    return sizeof *h + ((size_t)h->n_blocks + 1) * sizeof(__u32) +
           (size_t)h->n_rows * sizeof(struct cs_unwind_row) +
           (size_t)h->n_rules * sizeof(struct cs_unwind_rule);
}

static int rehash(struct unwind_build *b, size_t size)
{
    uint32_t *hashed = calloc(size, sizeof *hashed);
    if (!hashed)
        return -ENOMEM;
    for (uint32_t i = 0; i < b->header.n_rules; i++) {
        size_t at = XXH3_64bits(&b->rules[i], sizeof *b->rules) & (size - 1);
        while (hashed[at])
            at = (at + 1) & (size - 1);
        hashed[at] = i + 1;
    }
    free(b->hashed);
    b->hashed = hashed;
    b->hash_size = size;
    return 0;
}

/* Its place in rules; what comes after 65,536 different ones is unsupported. */
static uint32_t place_of(struct unwind_build *b, const struct cs_unwind_rule *rule)
{
    static const struct cs_unwind_rule unsupported = {.cfa = CS_UNWIND_UNSUPPORTED};
    size_t at = XXH3_64bits(rule, sizeof *rule) & (b->hash_size - 1);
    for (; b->hashed[at]; at = (at + 1) & (b->hash_size - 1))
        if (memcmp(&b->rules[b->hashed[at] - 1], rule, sizeof *rule) == 0)
            return b->hashed[at] - 1;
    if (b->header.n_rules == CS_UNWIND_RULES_MAX - 1 && memcmp(rule, &unsupported, sizeof *rule) != 0)
        return place_of(b, &unsupported);
    if (cs_array_room(b->rules, b->header.n_rules, b->rules_capacity) < 0 ||
        ((size_t)b->header.n_rules * 2 > b->hash_size && rehash(b, 2 * b->hash_size) < 0)) {
        b->failed = -ENOMEM;
        return 0;
    }
    for (at = XXH3_64bits(rule, sizeof *rule) & (b->hash_size - 1); b->hashed[at];)
        at = (at + 1) & (b->hash_size - 1);
    b->rules[b->header.n_rules] = *rule;
    b->hashed[at] = ++b->header.n_rules;
    return b->header.n_rules - 1;
}

int unwind_build_init(struct unwind_build *b, uint32_t machine, uint64_t start, uint64_t end)
{
    assert(start <= end);
    static const struct cs_unwind_rule none = {0};
    *b = (struct unwind_build){0};
    b->header.machine = machine;
    b->header.base = start & ~(uint64_t)(CS_UNWIND_BLOCK - 1);
    b->header.end = end - b->header.base;
    b->header.n_blocks = offset_to_block(b->header.end + CS_UNWIND_BLOCK - 1);
    b->first = calloc((size_t)b->header.n_blocks + 1, sizeof *b->first);
    if (!b->first || rehash(b, 1024) < 0) {
        unwind_build_fini(b);
        return -ENOMEM;
    }
    place_of(b, &none);
    b->last_rule = UINT32_MAX;
    return b->failed;
}

void unwind_build_fini(struct unwind_build *b)
{
    free(b->first);
    free(b->rows);
    free(b->rules);
    free(b->hashed);
    *b = (struct unwind_build){0};
}

static void add_row(struct unwind_build *b, uint64_t offset, uint32_t rule)
{
    if (b->failed || cs_array_room(b->rows, b->header.n_rows, b->rows_capacity) < 0) {
        b->failed = -ENOMEM;
        return;
    }
    b->rows[b->header.n_rows++] =
        (struct cs_unwind_row){(__u16)(offset & (CS_UNWIND_BLOCK - 1)), (__u16)rule};
}

void unwind_build_up_to(struct unwind_build *b, uint64_t to, const struct cs_unwind_rule *rule)
{
    uint64_t end = to < b->header.base ? 0 : to - b->header.base;
    end = end > b->header.end ? b->header.end : end;
    if (end <= b->next || b->failed)
        return;
    uint32_t place = place_of(b, rule);
    uint32_t rows_before = b->header.n_rows;
    if (place != b->last_rule && (b->next & (CS_UNWIND_BLOCK - 1)) != 0)
        add_row(b, b->next, place);
    for (uint32_t block = offset_to_block(b->next + CS_UNWIND_BLOCK - 1);
         (uint64_t)block << CS_UNWIND_BLOCK_BITS < end; block++) {
        b->first[block] = b->header.n_rows;
        add_row(b, 0, place);
    }
    if (rule->cfa == CS_UNWIND_UNSUPPORTED)
        b->header.unsupported += b->header.n_rows - rows_before;
    b->last_rule = place;
    b->next = end;
}

struct cs_unwind_header *unwind_build_table(struct unwind_build *b, size_t *n)
{
    static const struct cs_unwind_rule none = {0};
    unwind_build_up_to(b, b->header.base + b->header.end, &none);
    b->first[b->header.n_blocks] = b->header.n_rows;
    *n = unwind_table_size(&b->header);
    char *table = b->failed ? NULL : malloc(*n), *at = table;
    if (!table)
        return NULL;
    at = (char *)mempcpy(at, &b->header, sizeof b->header);
    at = (char *)mempcpy(at, b->first, ((size_t)b->header.n_blocks + 1) * sizeof *b->first);
    if (b->header.n_rows)
        at = (char *)mempcpy(at, b->rows, (size_t)b->header.n_rows * sizeof *b->rows);
    memcpy(at, b->rules, (size_t)b->header.n_rules * sizeof *b->rules);
    return (struct cs_unwind_header *)table;
}
