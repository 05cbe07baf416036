/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/table/kinds.h"

#include "store/table/burst_schemas.h"
#include "store/table/wait_schemas.h"

#include <assert.h>
#include <string.h>

const struct cs_schema cs_schema_contexts = {
    "contexts", 4, 3, {{"parent", CS_KEY}, {"image", CS_KEY_TEXT}, {"offset", CS_KEY}, {"samples", CS_SUM}}};

const struct cs_schema cs_schema_ranges = {
    "ranges", 3, 2, {{"start", CS_KEY}, {"end", CS_KEY}, {"count", CS_SUM}}};

const struct cs_schema cs_schema_observed = {"observed",
                                             8,
                                             4,
                                             {{"what", CS_KEY_TEXT},
                                              {"of", CS_KEY_TEXT},
                                              {"value", CS_KEY},
                                              {"bin", CS_KEY},
                                              {"number", CS_SUM},
                                              {"cycles", CS_SUM},
                                              {"events", CS_SUM},
                                              {"squares", CS_SUM}}};

static const struct cs_schema *const schemas[CS_KINDS] = {
    [CS_KIND_POINTS] = &cs_schema_points,
    [CS_KIND_EDGES] = &cs_schema_edges,
    [CS_KIND_STACKS] = &cs_schema_stacks,
    [CS_KIND_INTERVALS] = &cs_schema_intervals,
    [CS_KIND_CONTEXTS] = &cs_schema_contexts,
    [CS_KIND_ACCESSES] = &cs_schema_accesses,
    [CS_KIND_OBSERVED] = &cs_schema_observed,
    [CS_KIND_RANGES] = &cs_schema_ranges,
    [CS_KIND_PER_BURST_EDGES] = &cs_schema_per_burst_edges,
    [CS_KIND_BURST_ENTRIES] = &cs_schema_burst_entries,
    [CS_KIND_INSTRUCTION_RATES] = &cs_schema_instruction_rates,
    [CS_KIND_MEMORY] = &cs_schema_memory,
    [CS_KIND_BRANCHES] = &cs_schema_branches,
    [CS_KIND_CODE_LINES] = &cs_schema_code_lines,
    [CS_KIND_FOOTPRINTS] = &cs_schema_footprints,
    [CS_KIND_SHARING] = &cs_schema_sharing,
    [CS_KIND_PAGE_SIZES] = &cs_schema_page_sizes,
    [CS_KIND_WAITS] = &cs_schema_waits,
    [CS_KIND_THREADS] = &cs_schema_threads,
    [CS_KIND_BLAME] = &cs_schema_blame,
    [CS_KIND_WAIT_TIMES] = &cs_schema_wait_times,
};

_Static_assert(sizeof(struct cs_point_row) == 2 * 8 && sizeof(struct cs_edge_row) == 6 * 8 &&
                   sizeof(struct cs_interval_row) == 4 * 8 && sizeof(struct cs_range_row) == 3 * 8 &&
                   sizeof(struct cs_observed_row) == 8 * 8 && sizeof(struct cs_per_burst_edge_row) == 5 * 8 &&
                   sizeof(struct cs_burst_entry_row) == 5 * 8,
               "a member a column");

const struct cs_schema *cs_kind_schema(enum cs_kind kind)
{
    assert(kind < CS_KINDS);
    return kind < CS_KINDS ? schemas[kind] : NULL;
}

enum cs_kind cs_kind_of(const struct cs_schema *schema)
{
    for (int kind = CS_KIND_OTHER + 1; kind < CS_KINDS; kind++)
        if (cs_schema_equal(schemas[kind], schema))
            return (enum cs_kind)kind;
    return CS_KIND_OTHER;
}
