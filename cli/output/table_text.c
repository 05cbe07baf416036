/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A table as text. Every column is as wide as its widest cell. If that is too wide, columns shrink in the order of
 * fit(). Widths are in characters. */
#include "cli/command/figures.h"
#include "cli/output/memory.h"
#include "cli/output/table_internal.h"
#include "cli/output/wrap.h"
#include "store/base/order.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define GAP 2          /* blanks between two columns; one where the terminal is too narrow */
#define ELASTIC_MIN 16 /* an elastic column isn't cut shorter while there is another way */
#define ELASTIC_NARROWEST 8
#define WRAPS_MIN 20 /* a last column that goes on below is never narrower */
/* Percent from which a share stands out, and how: bold, too, where colours are all alike. */
#define SHARE_HOTTEST 25.0
#define SHARE_HOT 5.0
#define COLOUR_HOTTEST "\033[1;31m"
#define COLOUR_HOT "\033[33m"

static int digits_of(const struct column *k)
{
    return k->kind == COLUMN_SHARE ? 1 : k->digits == 0 ? 2 : k->digits < 0 ? 0 : k->digits;
}

/* The cell as text for people, the head where `c` is NULL; `buffer` of 64 bytes is used unless it is text. */
static const char *cell_text(const struct column *k, const struct cell *c, char *buffer, char **to_free)
{
    if (!c)
        return *to_free = text_clean(k->head); /* an event's name, maybe */
    switch (c->is) {
    case TEXT:
        return *to_free = text_clean(c->brief ? c->brief : c->text);
    case COUNT:
        if (k->kind == COLUMN_HEX)
            snprintf(buffer, 64, "%" PRIx64, c->count);
        else
            snprintf(buffer, 64, "%s", thousands((double)c->count).text);
        return buffer;
    case NUMBER:
        if (fabs(c->number) < 1e6 || !isfinite(c->number))
            snprintf(buffer, 64, "%.*f", digits_of(k), c->number);
        else
            snprintf(buffer, 64, "%s", thousands(c->number).text);
        return buffer;
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

static void total_up(const struct table *s, struct widths *w)
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

static void shrink(const struct table *s, struct widths *w, unsigned width, unsigned least)
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
static void fit(const struct table *s, struct widths *w, unsigned width)
{
    total_up(s, w);
    if (!width || w->total <= width)
        return;
    if (s->columns[w->last].wraps && w->last_from + WRAPS_MIN <= width) {
        w->of[w->last] = width - w->last_from;
        total_up(s, w);
        return;
    }
    shrink(s, w, width, ELASTIC_MIN);
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

static struct widths natural_widths(const struct table *s, size_t shown)
{
    struct widths w = {.of = need(calloc(s->n_columns + 1, sizeof *w.of)), .gap = GAP};
    bool any;
    for (unsigned k = 0; k < s->n_columns; k++) {
        const struct column *col = &s->columns[k];
        if (!col->head)
            continue;
        any = !col->spare;
        char buffer[64], *to_free = NULL;
        w.of[k] = text_width(cell_text(col, NULL, buffer, &to_free));
        w.of[k] = w.of[k] ? w.of[k] : 1;
        free(to_free);
        for (size_t r = 0; r < shown; r++) {
            to_free = NULL;
            unsigned have = text_width(cell_text(col, &s->cells[r * s->n_columns + k], buffer, &to_free));
            free(to_free);
            w.of[k] = have > w.of[k] ? have : w.of[k];
            any |= have > 0;
        }
        w.of[k] = any ? w.of[k] : 0;
    }
    return w;
}

/* One row, or the head where `row` is NULL. Returns the number of lines. */
static size_t print_row(const struct table *s, const struct cell *row, const struct widths *w, FILE *to,
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
        char buffer[64], *to_free = NULL;
        const char *text = cell_text(col, row ? &row[k] : NULL, buffer, &to_free);
        double share =
            row && col->kind == COLUMN_SHARE && !col->plain && row[k].is == NUMBER ? fabs(row[k].number) : 0;
        bool hot = colour && share >= SHARE_HOT;
        if (hot)
            fputs(share >= SHARE_HOTTEST ? COLOUR_HOTTEST : COLOUR_HOT, to);
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

CS_ORDER(by_brief, const struct cell *, strcmp((*a)->brief, (*b)->brief), strcmp((*a)->text, (*b)->text))

/* Brief names that two different ones share aren't brief but wrong: they are shown whole. */
static void tell_apart(struct table *s, unsigned column, size_t shown)
{
    struct cell **cells = need(calloc(shown + 1, sizeof *cells));
    size_t n = 0;
    for (size_t r = 0; r < shown; r++)
        if (s->cells[r * s->n_columns + column].brief)
            cells[n++] = &s->cells[r * s->n_columns + column];
    cs_sort(cells, n, by_brief);
    for (size_t first = 0, end; first < n; first = end) {
        for (end = first + 1; end < n && strcmp(cells[first]->brief, cells[end]->brief) == 0;)
            end++;
        bool differ = strcmp(cells[first]->text, cells[end - 1]->text) != 0; /* sorted by it, too */
        for (size_t i = first; differ && i < end; i++) {
            free(cells[i]->brief);
            cells[i]->brief = NULL;
        }
    }
    free(cells);
}

size_t table_print_text(struct table *s, FILE *to, unsigned width, bool colour)
{
    size_t rows = table_rows(s), shown = s->most && rows > s->most ? s->most : rows;
    for (unsigned k = 0; k < s->n_columns; k++)
        tell_apart(s, k, shown);
    struct widths w = natural_widths(s, shown);
    fit(s, &w, width);
    if (!w.total) { /* a table for programs alone */
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
            s->hint ? s->hint : ""); /* which is ours, see table_limit */
    return lines + 1;
}
