/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Cells row by row, laid out only when printed. Invariant: n_cells is a multiple of the number of
 * columns whenever a table is printed. */
#include "cli/output/memory.h"
#include "cli/output/table_internal.h"
#include "store/base/array.h"
#include "store/base/text.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

struct table *table_open(const char *name, const struct column *columns, unsigned n_columns)
{
    assert(columns && n_columns > 0);
    struct table *s = need(calloc(1, sizeof *s));
    *s = (struct table){.name = name, .columns = columns, .n_columns = n_columns};
    return s;
}

void table_close(struct table *s)
{
    for (size_t i = 0; i < s->n_cells; i++) {
        free(s->cells[i].brief);
        if (s->cells[i].is == TEXT)
            free(s->cells[i].text);
        else if (s->cells[i].is == JSON)
            json_decref(s->cells[i].json);
    }
    free(s->cells);
    free(s->hint);
    free(s);
}

const char *table_name(const struct table *s)
{
    return s->name;
}
void table_omitted(struct table *s, uint64_t n)
{
    s->omitted = n;
}
size_t table_rows(const struct table *s)
{
    return s->n_columns ? s->n_cells / s->n_columns : 0;
}

static struct cell *add(struct table *s)
{
    if (cs_array_room(s->cells, s->n_cells, s->capacity) < 0)
        need(NULL);
    struct cell *c = &s->cells[s->n_cells++];
    *c = (struct cell){.is = NONE};
    return c;
}

void table_none(struct table *s, size_t cells)
{
    while (cells--)
        add(s);
}
void table_text(struct table *s, const char *text)
{
    struct cell *c = add(s);
    if (text) {
        c->text = need(strdup(text));
        c->is = TEXT;
    }
}
void table_names(struct table *s, const char *name, const char *brief)
{
    table_text(s, name);
    if (name && brief && strcmp(name, brief) != 0)
        s->cells[s->n_cells - 1].brief = need(strdup(brief));
}
void table_textf(struct table *s, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    struct cell *c = add(s);
    if (vasprintf(&c->text, format, args) < 0)
        need(NULL);
    c->is = TEXT;
    va_end(args);
}
void table_count(struct table *s, uint64_t count)
{
    struct cell *c = add(s);
    c->count = count;
    c->is = COUNT;
}
void table_count_if(struct table *s, bool known, uint64_t count)
{
    if (known)
        table_count(s, count);
    else
        table_none(s, 1);
}
void table_number(struct table *s, double number)
{
    struct cell *c = add(s);
    if (isfinite(number)) {
        c->number = number;
        c->is = NUMBER;
    }
}
void table_json(struct table *s, json_t *value)
{
    struct cell *c = add(s);
    c->json = need(value);
    c->is = JSON;
}
void table_limit(struct table *s, uint64_t most, const char *hint)
{
    s->most = most;
    free(s->hint);
    s->hint = hint ? need(strdup(hint)) : NULL;
}

char *text_clean(const char *text)
{
    return need(cs_text_cleaned(text));
}
