/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kinds of profiles that a store holds: one list for those who write and those who read. A kind is its name and
 * its columns together, so that nobody takes rows of other columns for it. Whether a part of an epoch's time can have a
 * part of its rows is in store/times.c. CONTRIBUTING.md says what else a new kind needs. */
#pragma once

#include "store/table/table.h"

enum cs_kind {
    CS_KIND_OTHER, /* of another program, or a known name with other columns */
    CS_KIND_POINTS,
    CS_KIND_EDGES,
    CS_KIND_STACKS,
    CS_KIND_INTERVALS,
    CS_KIND_CONTEXTS,
    CS_KIND_ACCESSES,
    CS_KIND_OBSERVED,
    CS_KIND_RANGES,
    CS_KIND_PER_BURST_EDGES, /* the edges of each burst apart */
    CS_KIND_BURST_ENTRIES,
    CS_KIND_INSTRUCTION_RATES,
    CS_KIND_MEMORY,
    CS_KIND_BRANCHES,
    CS_KIND_CODE_LINES,
    CS_KIND_FOOTPRINTS,
    CS_KIND_SHARING,
    CS_KIND_PAGE_SIZES,
    CS_KIND_WAITS,
    CS_KIND_THREADS,
    CS_KIND_BLAME,
    CS_KIND_WAIT_TIMES,
    CS_KINDS,
};

/* NULL of CS_KIND_OTHER. */
const struct cs_schema *cs_kind_schema(enum cs_kind kind);
enum cs_kind cs_kind_of(const struct cs_schema *schema);

/* Call chains: parent (0, or the hash of the parent's row), image (text), offset | samples. FORMAT.md, "Contexts". */
extern const struct cs_schema cs_schema_contexts;
/* Straight runs of branch records: start, end (the branch, included) | count. */
extern const struct cs_schema cs_schema_ranges;
/* What an observer saw: what (text), of (text), value, bin | number, cycles, events, squares. */
extern const struct cs_schema cs_schema_observed;

/* Rows by name, for cs_table_row: a member a column. */
struct cs_point_row {
    uint64_t offset, samples;
};
struct cs_edge_row {
    uint64_t from, to_image, to, count, bursts, squares;
};
struct cs_interval_row {
    uint64_t length_ms, start_ms, offset, samples;
};
struct cs_range_row {
    uint64_t start, end, count;
};
struct cs_observed_row {
    uint64_t what, of, value, bin, number, cycles, events, squares;
};
struct cs_per_burst_edge_row {
    uint64_t burst, from, to_image, to, count;
};
struct cs_burst_entry_row {
    uint64_t burst, offset, start_image, start, instructions;
};

/* Row i of a table of that kind, as the struct of its columns. */
static inline const void *cs_table_at(struct cs_table *table, size_t i)
{
    return cs_table_row(table, i);
}
