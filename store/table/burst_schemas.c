/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Columns of the profiles that bursts write: see burst_schemas.h. */
#include "store/table/burst_schemas.h"

#include <assert.h>
#include <string.h>
#include <xxhash.h>

uint64_t cs_path_group(const char *image_id, uint64_t offset)
{
    return XXH3_64bits_withSeed(image_id, strlen(image_id), offset);
}

bool cs_edges_are_whole(const char *event)
{
    assert(event);
    return strncmp(event, "burst-edges-", 12) != 0 && strcmp(event, "path-starts") != 0 &&
           strcmp(event, "path-ends") != 0;
}

const struct cs_schema cs_schema_per_burst_edges = {
    "windows",
    5,
    4,
    {{"burst", CS_KEY}, {"from", CS_KEY}, {"to_image", CS_KEY_TEXT}, {"to", CS_KEY}, {"count", CS_SUM}}};

const struct cs_schema cs_schema_burst_entries = {"beginnings",
                                                  5,
                                                  4,
                                                  {{"burst", CS_KEY},
                                                   {"offset", CS_KEY},
                                                   {"start_image", CS_KEY_TEXT},
                                                   {"start", CS_KEY},
                                                   {"instructions", CS_SUM}}};

const struct cs_schema cs_schema_instruction_rates = {
    "paces",
    CS_INSTRUCTION_RATE_N,
    3,
    {{"offset", CS_KEY}, {"burst", CS_KEY}, {"after_ns", CS_KEY}, {"ns", CS_SUM}, {"instructions", CS_SUM}}};

const struct cs_schema cs_schema_memory = {
    "memory", CS_MEMORY_N, 1, {{"offset", CS_KEY},      {"executions", CS_SUM},  {"bursts", CS_SUM},
                               {"loads", CS_SUM},       {"stores", CS_SUM},      {"bytes", CS_SUM},
                               {"lines", CS_SUM},       {"pages", CS_SUM},       {"first_lines", CS_SUM},
                               {"far_lines", CS_SUM},   {"first_pages", CS_SUM}, {"far_pages", CS_SUM},
                               {"strides", CS_SUM},     {"stride_same", CS_SUM}, {"stride_zero", CS_SUM},
                               {"stride_line", CS_SUM}, {"stride_page", CS_SUM}, {"split", CS_SUM},
                               {"page_split", CS_SUM},  {"misaligned", CS_SUM},  {"forwarded", CS_SUM},
                               {"blocked", CS_SUM},     {"aliased", CS_SUM},     {"pointer", CS_SUM}}};

const struct cs_schema cs_schema_branches = {"branches",
                                             CS_BRANCH_N,
                                             1,
                                             {{"offset", CS_KEY},
                                              {"executions", CS_SUM},
                                              {"bursts", CS_SUM},
                                              {"taken", CS_SUM},
                                              {"transitions", CS_SUM},
                                              {"missed_local", CS_SUM},
                                              {"missed_global", CS_SUM},
                                              {"missed", CS_SUM},
                                              {"kind", CS_MAX}}};

const struct cs_schema cs_schema_code_lines = {"code-lines",
                                               CS_CODE_LINE_N,
                                               1,
                                               {{"offset", CS_KEY},
                                                {"visits", CS_SUM},
                                                {"bursts", CS_SUM},
                                                {"first", CS_SUM},
                                                {"far", CS_SUM},
                                                {"page_first", CS_SUM},
                                                {"page_far", CS_SUM}}};

const struct cs_schema cs_schema_sharing = {"sharing",
                                            CS_SHARING_N,
                                            9,
                                            {{"offset", CS_KEY},
                                             {"at", CS_KEY},
                                             {"size", CS_KEY},
                                             {"writes", CS_KEY},
                                             {"other_image", CS_KEY_TEXT},
                                             {"other", CS_KEY},
                                             {"other_at", CS_KEY},
                                             {"other_size", CS_KEY},
                                             {"other_writes", CS_KEY},
                                             {"executions", CS_SUM},
                                             {"taken", CS_SUM},
                                             {"instructions", CS_SUM},
                                             {"bursts", CS_SUM}}};

const struct cs_schema cs_schema_footprints = {
    "footprints", 4, 2, {{"offset", CS_KEY}, {"line", CS_KEY}, {"draws", CS_SUM}, {"bursts", CS_SUM}}};

const struct cs_schema cs_schema_page_sizes = {
    "page-sizes", 3, 1, {{"offset", CS_KEY}, {"asked", CS_SUM}, {"huge", CS_SUM}}};
