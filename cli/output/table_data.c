/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A table for programs: CSV (RFC 4180) and JSON. */
#include "cli/output/memory.h"
#include "cli/output/table_internal.h"
#include "store/base/delimited.h"

#include <inttypes.h>
#include <stdlib.h>

static void print_csv_cell(FILE *to, const struct column *k, const struct cell *c)
{
    switch (c->is) {
    case TEXT:
        cs_csv_name(to, c->text);
        break;
    case COUNT:
        fprintf(to, k->kind == COLUMN_HEX ? "0x%" PRIx64 : "%" PRIu64, c->count);
        break;
    case NUMBER:
        fprintf(to, "%.15g", c->number);
        break;
    case JSON: {
        char *text = need(json_dumps(c->json, JSON_COMPACT | JSON_ENCODE_ANY));
        cs_csv_name(to, text);
        free(text);
        break;
    }
    case NONE:
        break;
    }
}

void table_print_csv(const struct table *s, FILE *to)
{
    for (unsigned k = 0; k < s->n_columns; k++) {
        const char *group = s->columns[k].group;
        char head[256]; /* the name of an event may stand in it */
        snprintf(head, sizeof head, "%s%s%s", group ? group : "", group ? "." : "", s->columns[k].key);
        fputs(k ? "," : "", to);
        cs_csv_name(to, head);
    }
    fputs("\r\n", to);
    for (size_t r = 0; r < table_rows(s); r++) {
        for (unsigned k = 0; k < s->n_columns; k++) {
            if (k)
                fputc(',', to);
            print_csv_cell(to, &s->columns[k], &s->cells[r * s->n_columns + k]);
        }
        fputs("\r\n", to);
    }
}

static json_t *cell_json(const struct column *k, const struct cell *c)
{
    char hex[24];
    switch (c->is) {
    case TEXT:
        return json_text(c->text);
    case COUNT:
        if (k->kind != COLUMN_HEX)
            return json_integer((json_int_t)c->count);
        snprintf(hex, sizeof hex, "0x%" PRIx64, c->count);
        return json_string(hex);
    case NUMBER:
        return json_real(c->number);
    case JSON:
        return json_incref(c->json);
    case NONE:
        break;
    }
    return json_null();
}

json_t *table_to_json(const struct table *s)
{
    json_t *rows = need(json_array());
    for (size_t r = 0; r < table_rows(s); r++) {
        json_t *row = need(json_object());
        for (unsigned k = 0; k < s->n_columns; k++) {
            const struct column *col = &s->columns[k];
            json_t *into = row;
            if (col->group && !(into = json_object_get(row, col->group))) {
                into = need(json_object());
                json_object_set_new(row, col->group, into);
            }
            json_object_set_new(into, col->key, need(cell_json(col, &s->cells[r * s->n_columns + k])));
        }
        json_array_append_new(rows, row);
    }
    return rows;
}
