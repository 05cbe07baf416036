/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The schemas that this project writes. A file names one of them by its number here (FORMAT.md, "Schema");
 * numbers and columns never change, a changed schema gets a new number. Any other is spelled out in its file.
 */
#include "store/table/schema.h"

#include <assert.h>

const struct cs_schema cs_schema_points = {"points", 2, 1, {{"offset", CS_KEY}, {"samples", CS_SUM}}};

const struct cs_schema cs_schema_edges = {"edges",
                                          6,
                                          3,
                                          {{"from", CS_KEY},
                                           {"to_image", CS_KEY_TEXT},
                                           {"to", CS_KEY},
                                           {"count", CS_SUM},
                                           {"bursts", CS_SUM},
                                           {"squares", CS_SUM}}};

const struct cs_schema cs_schema_stacks = {"stacks", 2, 1, {{"frames", CS_KEY_TEXT}, {"samples", CS_SUM}}};

const struct cs_schema cs_schema_intervals = {
    "intervals",
    4,
    3,
    {{"length_ms", CS_KEY}, {"start_ms", CS_KEY}, {"offset", CS_KEY}, {"samples", CS_SUM}}};

const struct cs_schema cs_schema_names = {
    "names", 3, 3, {{"offset", CS_KEY}, {"size", CS_KEY}, {"name", CS_KEY_TEXT}}};

const struct cs_schema cs_schema_counters = {"counters", 2, 1, {{"name", CS_KEY_TEXT}, {"sum", CS_SUM}}};

const struct cs_schema cs_schema_facts = {"facts", 2, 2, {{"name", CS_KEY_TEXT}, {"value", CS_KEY_TEXT}}};

const struct cs_schema cs_schema_text_set = {"text-set", 2, 1, {{"text", CS_KEY_TEXT}, {"place", CS_MAX}}};

static const struct cs_schema *const numbered[] = {
    [1] = &cs_schema_points, [2] = &cs_schema_edges,    [3] = &cs_schema_stacks, [4] = &cs_schema_intervals,
    [5] = &cs_schema_names,  [6] = &cs_schema_counters, [7] = &cs_schema_facts,
};

#define N_NUMBERED (sizeof numbered / sizeof *numbered)

uint64_t cs_schema_number(const struct cs_schema *schema)
{
    assert(cs_schema_valid(schema));
    for (uint64_t i = 1; i < N_NUMBERED; i++)
        if (cs_schema_equal(numbered[i], schema))
            return i;
    return 0;
}

const struct cs_schema *cs_schema_numbered(uint64_t number)
{
    return number < N_NUMBERED ? numbered[number] : 0;
}

bool cs_schema_valid(const struct cs_schema *schema)
{
    if (!schema->kind[0] || !schema->n_keys || schema->n_keys > schema->n_columns ||
        schema->n_columns > CS_TABLE_COLUMNS_MAX)
        return false;
    for (unsigned c = 0; c < schema->n_columns; c++) {
        enum cs_column_kind kind = schema->columns[c].kind;
        bool is_key = kind == CS_KEY || kind == CS_KEY_TEXT;
        if (!schema->columns[c].name[0] || is_key != (c < schema->n_keys) || (unsigned)kind > CS_MIN)
            return false;
    }
    return true;
}

const struct cs_schema cs_schema_accesses = {"accesses",
                                             CS_ACCESS_N,
                                             3,
                                             {{"offset", CS_KEY},
                                              {"op", CS_KEY_TEXT},
                                              {"level", CS_KEY_TEXT},
                                              {"samples", CS_SUM},
                                              {"timed", CS_SUM},
                                              {"cycles", CS_SUM},
                                              {"tlb_misses", CS_SUM},
                                              {"cycles_max", CS_MAX}}};
