/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows are left out, never a part of one: what remains is JSON that a client can read. */
#include "cli/mcp/mcp.h"
#include "cli/output/memory.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAMED 4 /* tables of which the sentence says how many rows they lack */

/* Cuts the report's tables; the sentence says which. */
static void cut_tables(json_t *report, size_t rows, json_t *counts)
{
    const char *key;
    json_t *value;
    json_object_foreach(report, key, value)
    {
        const size_t n = json_array_size(value);
        if (!json_is_array(value) || n <= rows || strcmp(key, "notes") == 0)
            continue;
        if (!json_object_get(counts, key))
            json_object_set_new(counts, key, json_integer((json_int_t)n));
        while (json_array_size(value) > rows)
            json_array_remove(value, json_array_size(value) - 1);
    }
}

static void tell(const json_t *report, const json_t *counts, char *text, size_t size)
{
    const char *key;
    json_t *count;
    unsigned n = 0;
    *text = '\0';
    json_object_foreach((json_t *)counts, key, count)
    {
        const size_t at = strlen(text);
        if (n++ < NAMED)
            snprintf(text + at, size - at, "%s%zu of %lld %.40s", n > 1 ? ", " : "",
                     json_array_size(json_object_get(report, key)), (long long)json_integer_value(count),
                     key);
    }
    if (!n)
        return;
    char *these = need(strdup(text));
    snprintf(text, size,
             "Shown: %s; the first ones of each table. For others ask with a larger \"limit\", or for less: "
             "one function, image or recording.",
             these);
    free(these);
}

char *mcp_shorten(json_t *report, size_t rows, char *left_out, size_t size)
{
    assert(size > 0);
    json_t *counts = need(json_object());
    char *text = NULL;
    for (;; rows /= 2) {
        cut_tables(report, rows, counts);
        text = need(json_dumps(report, JSON_COMPACT | JSON_REAL_PRECISION(9)));
        if (strlen(text) <= MCP_OUTPUT_MAX || !rows)
            break;
        free(text);
    }
    if (strlen(text) > MCP_OUTPUT_MAX) {
        free(text);
        text = NULL;
    }
    tell(report, counts, left_out, size);
    json_decref(counts);
    return text;
}
