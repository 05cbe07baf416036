/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows stand one after the other in the order of their first appearance. An open-addressing hash of the key
 * columns finds them. A permutation, brought up to date when somebody iterates, gives them in key order.
 * Invariant: no two rows have equal keys; at most half of the slots are taken. Rows that were adopted get slots
 * when another is added: most tables are only read. */
#include "store/table/table.h"

#include "store/base/array.h"
#include "store/base/hash_seed.h"
#include "store/table/dictionary.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define MANY_ROWS 65536

struct cs_table {
    struct cs_schema schema;
    uint64_t *rows; /* n_columns words a row */
    uint32_t *order;
    size_t n_rows, capacity;
    uint32_t *slots; /* row + 1, 0 = free */
    size_t n_slots;  /* power of two */
    bool sorted;     /* `order` is right */
    struct cs_dictionary texts;
};

static uint64_t hash(const uint64_t *row, unsigned n_keys)
{
    const uint64_t secret = cs_hash_seed;
    uint64_t h = secret;
    for (unsigned k = 0; k < n_keys; k++) {
        h = (h ^ row[k]) * secret;
        h ^= h >> 32;
    }
    return h * 0xd6e8feb86659fd93ull;
}

static size_t slot_of(const struct cs_table *table, const uint64_t *row)
{
    unsigned n_keys = table->schema.n_keys;
    size_t slot = (size_t)(hash(row, n_keys) >> 20) & (table->n_slots - 1);
    for (;; slot = (slot + 1) & (table->n_slots - 1)) {
        uint32_t taken = table->slots[slot];
        if (!taken || memcmp(table->rows + (size_t)(taken - 1) * table->schema.n_columns, row,
                             n_keys * sizeof *row) == 0)
            return slot;
    }
}

static uint64_t add_saturating(uint64_t a, uint64_t b)
{
    return a + b < a ? UINT64_MAX : a + b;
}

static void merge_values(const struct cs_schema *schema, uint64_t *into, const uint64_t *row)
{
    for (unsigned c = schema->n_keys; c < schema->n_columns; c++) {
        switch (schema->columns[c].kind) {
        case CS_MAX:
            into[c] = row[c] > into[c] ? row[c] : into[c];
            break;
        case CS_MIN:
            into[c] = row[c] < into[c] ? row[c] : into[c];
            break;
        case CS_SUM:
        case CS_KEY:
        case CS_KEY_TEXT:
            into[c] = add_saturating(into[c], row[c]);
            break;
        }
    }
}

/* Slots for so many rows; those that are there are put in. */
static int make_slots(struct cs_table *table, size_t capacity)
{
    assert(capacity >= table->n_rows);
    size_t n_slots = table->n_slots ? table->n_slots : 32;
    while (n_slots < 2 * capacity)
        n_slots *= 2;
    if (n_slots == table->n_slots)
        return 0;
    uint32_t *slots = calloc(n_slots, sizeof *slots);
    if (!slots)
        return -ENOMEM;
    free(table->slots);
    table->slots = slots;
    table->n_slots = n_slots;
    for (size_t i = 0; i < table->n_rows; i++)
        slots[slot_of(table, table->rows + i * table->schema.n_columns)] = (uint32_t)i + 1;
    return 0;
}

/* Also takes the space that sorting needs, so that reading rows never fails. */
static int make_room(struct cs_table *table, size_t capacity)
{
    if (cs_array_resize(table->rows, capacity * table->schema.n_columns) < 0 ||
        cs_array_resize(table->order, capacity) < 0)
        return -ENOMEM;
    table->capacity = capacity;
    return 0;
}

/* Large ones grow by less: their capacity is memory. */
static int grow(struct cs_table *table)
{
    size_t capacity = table->capacity;
    capacity = capacity < 16 ? 16 : capacity < MANY_ROWS ? 2 * capacity : capacity + capacity / 4;
    return make_room(table, capacity);
}

int cs_table_adopt(struct cs_table *table, uint64_t *rows, size_t n_rows)
{
    assert(rows && table->n_rows == 0);
    free(table->rows);
    table->rows = rows;
    table->n_rows = n_rows;
    int rc = n_rows > UINT32_MAX / 4 ? -ENOMEM : make_room(table, n_rows ? n_rows : 1);
    if (rc < 0)
        table->n_rows = 0;
    return rc;
}

int cs_table_add(struct cs_table *table, const uint64_t *row)
{
    if (table->n_rows == table->capacity && (table->n_rows >= UINT32_MAX / 4 || grow(table) < 0))
        return -ENOMEM;
    if (table->n_slots < 2 * table->capacity && make_slots(table, table->capacity) < 0)
        return -ENOMEM;
    size_t slot = slot_of(table, row), n_columns = table->schema.n_columns;
    if (table->slots[slot]) {
        merge_values(&table->schema, table->rows + (size_t)(table->slots[slot] - 1) * n_columns, row);
        return 0;
    }
    memcpy(table->rows + table->n_rows * n_columns, row, n_columns * sizeof *row);
    table->slots[slot] = (uint32_t)++table->n_rows;
    table->sorted = false;
    return 0;
}

struct cs_table *cs_table_open(const struct cs_schema *schema)
{
    assert(schema->n_keys <= schema->n_columns && schema->n_columns <= CS_TABLE_COLUMNS_MAX);
    struct cs_table *table = calloc(1, sizeof *table);
    if (table)
        table->schema = *schema;
    return table;
}

void cs_table_close(struct cs_table *table)
{
    if (table)
        cs_table_clear(table);
    free(table);
}

void cs_table_clear(struct cs_table *table)
{
    struct cs_table emptied = {.schema = table->schema};
    cs_dictionary_fini(&table->texts);
    free(table->rows);
    free(table->order);
    free(table->slots);
    *table = emptied;
}

const struct cs_schema *cs_table_schema(const struct cs_table *table)
{
    return &table->schema;
}

int64_t cs_table_text(struct cs_table *table, const char *text)
{
    return cs_dictionary_add(&table->texts, text, strlen(text));
}

const char *cs_table_string(const struct cs_table *table, uint64_t index)
{
    return index < table->texts.n ? table->texts.strings[index] : "";
}

size_t cs_table_texts(const struct cs_table *table)
{
    return table->texts.n;
}

bool cs_schema_equal(const struct cs_schema *a, const struct cs_schema *b)
{
    if (strcmp(a->kind, b->kind) != 0 || a->n_columns != b->n_columns || a->n_keys != b->n_keys)
        return false;
    for (unsigned c = 0; c < a->n_columns; c++)
        if (a->columns[c].kind != b->columns[c].kind || strcmp(a->columns[c].name, b->columns[c].name) != 0)
            return false;
    return true;
}

int cs_table_merge(struct cs_table *dst, const struct cs_table *src)
{
    const struct cs_schema *schema = &src->schema;
    if (!cs_schema_equal(&dst->schema, schema))
        return -EINVAL;
    int rc = -ENOMEM;
    size_t n_texts = src->texts.n, n_rows = src->n_rows;
    uint64_t *remapped = malloc((n_texts ? n_texts : 1) * sizeof *remapped);
    if (!remapped)
        goto out;
    for (size_t i = 0; i < n_texts; i++) {
        int64_t index = cs_table_text(dst, src->texts.strings[i]);
        if (index < 0)
            goto out;
        remapped[i] = (uint64_t)index;
    }
    for (size_t i = 0; i < n_rows; i++) {
        uint64_t row[CS_TABLE_COLUMNS_MAX] = {0};
        memcpy(row, src->rows + i * schema->n_columns, schema->n_columns * sizeof *row);
        for (unsigned c = 0; c < schema->n_keys; c++)
            if (schema->columns[c].kind == CS_KEY_TEXT && row[c] < n_texts)
                row[c] = remapped[row[c]];
        if (cs_table_add(dst, row) < 0)
            goto out;
    }
    rc = 0;
out:
    free(remapped);
    return rc;
}

size_t cs_table_rows(const struct cs_table *table)
{
    return table->n_rows;
}

static int by_keys(const void *a, const void *b, void *arg)
{
    const struct cs_table *table = arg;
    const struct cs_schema *schema = &table->schema;
    const uint64_t *x = table->rows + (size_t) * (const uint32_t *)a * schema->n_columns;
    const uint64_t *y = table->rows + (size_t) * (const uint32_t *)b * schema->n_columns;
    for (unsigned c = 0; c < schema->n_keys; c++) {
        uint64_t p = x[c], q = y[c];
        if (schema->columns[c].kind == CS_KEY_TEXT) {
            p = p < table->texts.n ? table->texts.ranks[p] : UINT64_MAX;
            q = q < table->texts.n ? table->texts.ranks[q] : UINT64_MAX;
        }
        if (p != q)
            return p < q ? -1 : 1;
    }
    return 0;
}

static void sort(struct cs_table *table)
{
    if (table->sorted)
        return;
    cs_dictionary_rank(&table->texts);
    bool ascending = true;
    for (size_t i = 0; i < table->n_rows; i++) {
        table->order[i] = (uint32_t)i;
        ascending = ascending && (i == 0 || by_keys(&table->order[i - 1], &table->order[i], table) < 0);
    }
    if (!ascending)
        qsort_r(table->order, table->n_rows, sizeof *table->order, by_keys, table);
    table->sorted = true;
}

const uint64_t *cs_table_row(struct cs_table *table, size_t i)
{
    assert(i < table->n_rows);
    sort(table);
    return table->rows + (size_t)table->order[i] * table->schema.n_columns;
}

void cs_table_sort(struct cs_table *table)
{
    if (table)
        sort(table);
}

uint64_t cs_table_sum(const struct cs_table *table, unsigned column)
{
    assert(column < table->schema.n_columns);
    uint64_t sum = 0;
    for (size_t i = 0; i < table->n_rows; i++)
        sum = add_saturating(sum, table->rows[i * table->schema.n_columns + column]);
    return sum;
}
