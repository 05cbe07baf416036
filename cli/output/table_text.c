/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sheets: cells row by row, laid out only when printed. Invariant: n_cells is a multiple of the number of
 * columns whenever a sheet is printed. */
#include "cli/output/table.h"
#include "cli/output/wrap.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define GAP 2            /* blanks between two columns; one where the terminal is too narrow */
#define ELASTIC_LEAST 16 /* an elastic column isn't cut shorter while there is another way */
#define ELASTIC_NARROWEST 8
#define WRAPS_LEAST 20 /* a last column that goes on below is never narrower */
#define SHARE_HOT 10.0 /* percent from which a share stands out */

struct cell {
    enum { NONE, TEXT, COUNT, NUMBER, JSON } is;
    union {
        char *text;
        uint64_t count;
        double number;
        json_t *json;
    };
};

struct sheet {
    const char *name;
    const struct column *columns;
    unsigned n_columns;
    struct cell *cells;
    size_t n_cells, room;
    uint64_t most, omitted;
    char *hint;
};

void *need(void *pointer)
{
    if (!pointer) {
        failed_with("out of memory while collecting the output");
        exit(CS_EXIT_FAILED);
    }
    return pointer;
}

struct sheet *sheet_open(const char *name, const struct column *columns, unsigned n_columns)
{
    struct sheet *s = need(calloc(1, sizeof *s));
    *s = (struct sheet){.name = name, .columns = columns, .n_columns = n_columns};
    return s;
}

void sheet_close(struct sheet *s)
{
    for (size_t i = 0; i < s->n_cells; i++) {
        if (s->cells[i].is == TEXT)
            free(s->cells[i].text);
        else if (s->cells[i].is == JSON)
            json_decref(s->cells[i].json);
    }
    free(s->cells);
    free(s->hint);
    free(s);
}

const char *sheet_name(const struct sheet *s)
{
    return s->name;
}
void sheet_omitted(struct sheet *s, uint64_t n)
{
    s->omitted = n;
}
size_t sheet_rows(const struct sheet *s)
{
    return s->n_columns ? s->n_cells / s->n_columns : 0;
}

static struct cell *add(struct sheet *s)
{
    if (s->n_cells == s->room) {
        s->room = s->room ? 2 * s->room : 64;
        s->cells = need(realloc(s->cells, s->room * sizeof *s->cells));
    }
    struct cell *c = &s->cells[s->n_cells++];
    c->is = NONE;
    return c;
}

void sheet_none(struct sheet *s)
{
    add(s);
}
void sheet_text(struct sheet *s, const char *text)
{
    struct cell *c = add(s);
    if (text) {
        c->text = need(strdup(text));
        c->is = TEXT;
    }
}
void sheet_textf(struct sheet *s, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    struct cell *c = add(s);
    if (vasprintf(&c->text, format, args) < 0)
        need(NULL);
    c->is = TEXT;
    va_end(args);
}
void sheet_count(struct sheet *s, uint64_t count)
{
    struct cell *c = add(s);
    c->count = count;
    c->is = COUNT;
}
void sheet_number(struct sheet *s, double number)
{
    struct cell *c = add(s);
    if (isfinite(number)) {
        c->number = number;
        c->is = NUMBER;
    }
}
void sheet_json(struct sheet *s, json_t *value)
{
    struct cell *c = add(s);
    c->json = need(value);
    c->is = JSON;
}
void sheet_limit(struct sheet *s, uint64_t most, const char *hint)
{
    s->most = most;
    free(s->hint);
    s->hint = hint ? need(strdup(hint)) : NULL;
}

/* Length of the well-formed UTF-8 sequence at p, 0 where there is none. */
static unsigned sequence(const unsigned char *p)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    unsigned n = *p < 0x80                 ? 1
                 : *p >= 0xc2 && *p < 0xe0 ? 2
                 : (*p & 0xf0) == 0xe0     ? 3
                 : (*p & 0xf8) == 0xf0     ? 4
                                           : 0;
    if (n <= 1)
        return n;
    uint32_t code = *p & (0x7fu >> n);
    for (unsigned i = 1; i < n; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return 0;
        code = code << 6 | (p[i] & 0x3fu);
    }
    return code < least[n] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000) ? 0 : n;
}

static char *replace_bad(const char *text, bool controls_too)
{
    size_t length = strlen(text), used = 0;
    char *clean = need(malloc(3 * length + 1));
    for (const unsigned char *p = (const unsigned char *)text; *p;) {
        unsigned n = sequence(p);
        bool control = *p < 0x20 || *p == 0x7f || (n == 2 && *p == 0xc2 && p[1] < 0xa0);
        if (n == 0) {
            memcpy(clean + used, "\xef\xbf\xbd", 3);
            used += 3;
            n = 1;
        } else if (control && controls_too) {
            clean[used++] = '?';
        } else {
            memcpy(clean + used, p, n);
            used += n;
        }
        p += n;
    }
    clean[used] = '\0';
    return clean;
}

char *text_clean(const char *text)
{
    return replace_bad(text, true);
}

json_t *json_text(const char *text)
{
    char *clean = replace_bad(text, false);
    json_t *value = need(json_string(clean));
    free(clean);
    return value;
}

static void group_thousands(char *to, size_t size, uint64_t n)
{
    char digits[24];
    int length = snprintf(digits, sizeof digits, "%" PRIu64, n);
    size_t used = 0;
    for (int i = 0; i < length && used + 2 < size; i++) {
        if (i > 0 && (length - i) % 3 == 0)
            to[used++] = ',';
        to[used++] = digits[i];
    }
    to[used] = '\0';
}

static int digits_of(const struct column *k)
{
    return k->kind == COLUMN_SHARE ? 1 : k->digits == 0 ? 2 : k->digits < 0 ? 0 : k->digits;
}

/* The cell as text for people; `room` of 64 bytes is used unless the cell is text. */
static const char *cell_text(const struct column *k, const struct cell *c, char *room, char **to_free)
{
    switch (c->is) {
    case TEXT:
        return *to_free = text_clean(c->text);
    case COUNT:
        if (k->kind == COLUMN_HEX)
            snprintf(room, 64, "%" PRIx64, c->count);
        else
            group_thousands(room, 64, c->count);
        return room;
    case NUMBER:
        snprintf(room, 64, "%.*f", digits_of(k), c->number);
        return room;
    case JSON:
    case NONE:
        break;
    }
    return "";
}

/* Where the character number n of text begins. */
static const char *character(const char *text, unsigned n)
{
    for (; n && *text; n--)
        for (text++; (*text & 0xc0) == 0x80;)
            text++;
    return text;
}

/* Prints at most `width` characters of text; "…" stands where it was cut. */
static void print_cut(FILE *to, const char *text, unsigned width, bool keep_end)
{
    unsigned have = text_width(text);
    if (have <= width)
        fputs(text, to);
    else if (keep_end)
        fprintf(to, "…%s", character(text, have - width + 1));
    else
        fprintf(to, "%.*s…", (int)(character(text, width - 1) - text), text);
}

static void print_padded(FILE *to, const char *text, unsigned width, const struct column *col, bool last)
{
    unsigned have = text_width(text);
    unsigned pad = have < width ? width - have : 0;
    if (col->kind != COLUMN_TEXT)
        fprintf(to, "%*s", (int)pad, "");
    print_cut(to, text, width, col->keep_end);
    if (col->kind == COLUMN_TEXT && !last)
        fprintf(to, "%*s", (int)pad, "");
}

/* How the columns are laid out: 0 = not shown. */
struct widths {
    unsigned *of, gap, last, total, last_from;
};

static void total_up(const struct sheet *s, struct widths *w)
{
    w->total = 0;
    for (unsigned k = 0; k < s->n_columns; k++)
        if (w->of[k]) {
            w->last = k;
            w->last_from = w->total;
            w->total += w->of[k] + w->gap;
        }
    w->total -= w->total ? w->gap : 0;
}

static void shrink(const struct sheet *s, struct widths *w, unsigned width, unsigned least)
{
    while (w->total > width) {
        unsigned widest = s->n_columns;
        for (unsigned k = 0; k < s->n_columns; k++)
            if (w->of[k] > least && s->columns[k].elastic &&
                (widest == s->n_columns || w->of[k] > w->of[widest]))
                widest = k;
        if (widest == s->n_columns)
            return;
        w->of[widest]--;
        total_up(s, w);
    }
}

/* What gives way first: the last column goes on below; elastic ones are cut, but not to nothing; spare ones
 * go, from the right; gaps narrow; then elastic ones are cut further. */
static void fit(const struct sheet *s, struct widths *w, unsigned width)
{
    total_up(s, w);
    if (!width || w->total <= width)
        return;
    if (s->columns[w->last].wraps && w->last_from + WRAPS_LEAST <= width) {
        w->of[w->last] = width - w->last_from;
        total_up(s, w);
        return;
    }
    shrink(s, w, width, ELASTIC_LEAST);
    for (unsigned k = s->n_columns; k-- > 0 && w->total > width;)
        if (w->of[k] && s->columns[k].spare) {
            w->of[k] = 0;
            total_up(s, w);
        }
    if (w->total > width) {
        w->gap = 1;
        total_up(s, w);
    }
    shrink(s, w, width, ELASTIC_NARROWEST);
}

static struct widths natural_widths(const struct sheet *s, size_t shown)
{
    struct widths w = {.of = need(calloc(s->n_columns, sizeof *w.of)), .gap = GAP};
    bool any;
    for (unsigned k = 0; k < s->n_columns; k++) {
        const struct column *col = &s->columns[k];
        if (!col->head)
            continue;
        any = !col->spare;
        w.of[k] = text_width(col->head) ? text_width(col->head) : 1;
        for (size_t r = 0; r < shown; r++) {
            char room[64], *to_free = NULL;
            unsigned have = text_width(cell_text(col, &s->cells[r * s->n_columns + k], room, &to_free));
            free(to_free);
            w.of[k] = have > w.of[k] ? have : w.of[k];
            any |= have > 0;
        }
        w.of[k] = any ? w.of[k] : 0;
    }
    return w;
}

/* One row, or the head where `row` is NULL. Returns the number of lines. */
static size_t print_row(const struct sheet *s, const struct cell *row, const struct widths *w, FILE *to,
                        bool colour)
{
    size_t lines = 1;
    bool first = true;
    if (!row && colour)
        fputs("\033[1m", to);
    for (unsigned k = 0; k < s->n_columns; k++) {
        const struct column *col = &s->columns[k];
        if (!w->of[k])
            continue;
        if (!first)
            fprintf(to, "%*s", (int)w->gap, "");
        first = false;
        char room[64], *to_free = NULL;
        const char *text = row ? cell_text(col, &row[k], room, &to_free) : col->head;
        bool hot = colour && row && col->kind == COLUMN_SHARE && row[k].is == NUMBER &&
                   fabs(row[k].number) >= SHARE_HOT;
        if (hot)
            fputs("\033[1;31m", to);
        if (k == w->last && col->wraps)
            lines = text_wrap(to, text, w->last_from + w->of[k], w->last_from, w->last_from);
        else
            print_padded(to, text, w->of[k], col, k == w->last);
        if (hot)
            fputs("\033[0m", to);
        free(to_free);
    }
    fputs(!row && colour ? "\033[0m\n" : "\n", to);
    return lines;
}

size_t sheet_print_text(const struct sheet *s, FILE *to, unsigned width, bool colour)
{
    size_t rows = sheet_rows(s), shown = s->most && rows > s->most ? s->most : rows;
    struct widths w = natural_widths(s, shown);
    fit(s, &w, width);
    if (!w.total) { /* a sheet for programs alone */
        free(w.of);
        return 0;
    }
    size_t lines = print_row(s, NULL, &w, to, colour);
    for (size_t r = 0; r < shown; r++)
        lines += print_row(s, &s->cells[r * s->n_columns], &w, to, colour);
    free(w.of);
    if (shown == rows + s->omitted)
        return lines;
    fprintf(to, "(%zu of %zu rows%s%s)\n", shown, rows + (size_t)s->omitted, s->hint ? "; " : "",
            s->hint ? s->hint : "");
    return lines + 1;
}

static void print_csv_text(FILE *to, const char *text)
{
    if (!strpbrk(text, ",\"\r\n")) {
        fputs(text, to);
        return;
    }
    fputc('"', to);
    for (; *text; text++) {
        if (*text == '"')
            fputc('"', to);
        fputc(*text, to);
    }
    fputc('"', to);
}

static void print_csv_cell(FILE *to, const struct column *k, const struct cell *c)
{
    switch (c->is) {
    case TEXT:
        print_csv_text(to, c->text);
        break;
    case COUNT:
        fprintf(to, k->kind == COLUMN_HEX ? "0x%" PRIx64 : "%" PRIu64, c->count);
        break;
    case NUMBER:
        fprintf(to, "%.15g", c->number);
        break;
    case JSON: {
        char *text = need(json_dumps(c->json, JSON_COMPACT | JSON_ENCODE_ANY));
        print_csv_text(to, text);
        free(text);
        break;
    }
    case NONE:
        break;
    }
}

void sheet_print_csv(const struct sheet *s, FILE *to)
{
    for (unsigned k = 0; k < s->n_columns; k++)
        fprintf(to, "%s%s%s%s", k ? "," : "", s->columns[k].group ? s->columns[k].group : "",
                s->columns[k].group ? "." : "", s->columns[k].key);
    fputs("\r\n", to);
    for (size_t r = 0; r < sheet_rows(s); r++) {
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

json_t *sheet_to_json(const struct sheet *s)
{
    json_t *rows = need(json_array());
    for (size_t r = 0; r < sheet_rows(s); r++) {
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
