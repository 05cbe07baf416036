/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A profile in memory: a table of unsigned 64-bit columns, some of them keys, the others values that merge by
 * sum, maximum or minimum. Rows with equal keys are one row. That makes every merge commutative and
 * associative (property-tested), whatever the profile counts. It counts points (offset → samples), edges
 * (from, to image, to → count), stacks, intervals, observed tags.
 *
 * Files of this module:
 *   table          a profile in memory (this header)
 *   dictionary     the texts of a table, numbered
 *   schema         numbers of the schemas in files
 *   kinds          the kinds of profiles: their names and columns
 *   burst_schemas  columns of the profiles that bursts write
 *   wait_schemas   columns of what a recording of waits leaves
 *
 * May be used by everybody; depends on nothing of ours. Not thread-safe: one owner a table.
 * Cost: cs_table_add is an amortised O(1) hash insertion; sorted iteration costs one sort after the last add.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CS_TABLE_COLUMNS_MAX 24

enum cs_column_kind {
    CS_KEY = 0,      /* a number that identifies the row */
    CS_KEY_TEXT = 1, /* index of a string of the table's own dictionary (see cs_table_text) */
    CS_SUM = 2,
    CS_MAX = 3,
    CS_MIN = 4,
};

struct cs_column {
    char name[24]; /* e.g. "offset", "samples" */
    enum cs_column_kind kind;
};

/* Key columns come first. `kind` names what the rows are; FORMAT.md lists those in use. */
struct cs_schema {
    char kind[16]; /* "points", "edges", "stacks", "intervals", "tags", ... */
    unsigned n_columns, n_keys;
    struct cs_column columns[CS_TABLE_COLUMNS_MAX];
};

/* Schemas that have a number in files. All kinds are in kinds.h. */
extern const struct cs_schema cs_schema_points; /* offset | samples */
/* from, to_image (text, "" = same image), to | count, bursts (that saw it), squares (sum over bursts of
 * count²: the variance by clustering). A conditional branch that falls through is an edge too: every control
 * transfer is. */
extern const struct cs_schema cs_schema_edges;
extern const struct cs_schema
    cs_schema_stacks; /* frames (text: "image-id+hexoffset" leaf first, ';' between) | samples */

/* length_ms, start_ms (since 1970, a multiple of length_ms), offset (of a 16-byte block) | samples: what
 * happened in the interval of that length that began then. sprof-1998 section 3. */
extern const struct cs_schema cs_schema_intervals;
extern const struct cs_schema cs_schema_names; /* offset, size, name (text): a set of names, no values */

/* What a processor told of single accesses to memory: the operation ("load", "store", "prefetch"), and which memory answered
 * ("L1", "LFB", "L2", "L3", "L4", "memory", "remote memory", "remote cache", "I/O", "uncached"); "" = not told. It picks the accesses,
 * some of them only above a latency that was asked for: means are of those, not of all accesses of an instruction. */
extern const struct cs_schema cs_schema_accesses;
enum cs_access_column {
    CS_ACCESS_OFFSET,
    CS_ACCESS_OP,
    CS_ACCESS_LEVEL,
    CS_ACCESS_SAMPLES,
    CS_ACCESS_TIMED,      /* of the samples, those with a latency */
    CS_ACCESS_CYCLES,     /* sum of their latencies */
    CS_ACCESS_TLB_MISSES, /* samples whose translation was not in the first TLB */
    CS_ACCESS_CYCLES_MAX,
    CS_ACCESS_N,
};

bool cs_schema_equal(const struct cs_schema *a, const struct cs_schema *b);

struct cs_table;

/* NULL when memory is short. */
struct cs_table *cs_table_open(const struct cs_schema *schema);
void cs_table_close(struct cs_table *table);
/* Back to no rows and no texts, memory given back. */
void cs_table_clear(struct cs_table *table);
const struct cs_schema *cs_table_schema(const struct cs_table *table);

/* Makes `rows` (n_rows times n_columns values of malloc, for at least one row, ascending by their keys) those
 * of a table that has none: a profile that was read is not held twice. They are the table's whatever is
 * returned: 0 or -ENOMEM. */
int cs_table_adopt(struct cs_table *table, uint64_t *rows, size_t n_rows);
/* Adds a row of n_columns values, merging it into the row with the same keys. 0 or -ENOMEM. Sums saturate. */
int cs_table_add(struct cs_table *table, const uint64_t *row);
/* Index of `text` in the dictionary, added if new; -ENOMEM. */
int64_t cs_table_text(struct cs_table *table, const char *text);
/* The string at `index`, valid until the table is closed; "" when there is none. */
const char *cs_table_string(const struct cs_table *table, uint64_t index);
/* Number of strings in the dictionary; their indices are 0 to that less one. */
size_t cs_table_texts(const struct cs_table *table);
/* dst += src, dictionaries remapped. 0, -ENOMEM (dst then holds a part of src: close it), or -EINVAL where
 * the schemas differ. */
int cs_table_merge(struct cs_table *dst, const struct cs_table *src);

size_t cs_table_rows(const struct cs_table *table);
/* Row i in ascending key order (text keys in strcmp order); valid until the next add, merge or close. */
const uint64_t *cs_table_row(struct cs_table *table, size_t i);
/* Puts the rows in order now, so that threads may read them; NULL is none. */
void cs_table_sort(struct cs_table *table);
/* Sum over all rows of column `column`, saturating. */
uint64_t cs_table_sum(const struct cs_table *table, unsigned column);
