/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What subcommands print.
 *
 * Files of this module:
 *   output          the document: lines, notes, tables, JSON, pager
 *   table           a table in memory
 *   table_text      ... as text
 *   table_data      ... as CSV and JSON
 *   json            texts as JSON, and its printing
 *   table_internal  its cells
 *   wrap            text within a width
 *   hint            a command to type next, quoted for a shell
 *   memory          the end when there is no memory
 *   progress        the bar on standard error
 *   screen          a terminal as a screen of lines
 *   source          lines of a source file
 *   image_name      what reports call an image
 *
 * The output of a subcommand: lines and tables, collected in one document and written once at the end. The
 * form is text for people, --json for programs, or --csv for spreadsheets.
 *
 *     struct output *out = output_open(args);
 *     static const struct column columns[] = {
 *         {.key = "samples", .head = "samples", .kind = COLUMN_COUNT},
 *         {.key = "percent", .head = "%", .kind = COLUMN_SHARE},
 *         {.key = "procedure", .head = "function", .kind = COLUMN_TEXT},
 *     };
 *     struct table *rows = output_table(out, "rows", columns, 3);
 *     table_limit(rows, 10, "--top 0 shows all");
 *     table_count(rows, 1234); table_number(rows, 12.34); table_text(rows, "main");
 *     output_set(out, "total", json_integer(10000));
 *     output_line(out, "%s", "nothing was lost");
 *     output_hint(out, "next:", "calc", "main", "--store", store, "");
 *     return output_close(out);
 *
 * Names are made safe here and nowhere else: a symbol, a path or an event may hold anything, and callers give
 * it as it is. All text is cleaned (store/base/text.h), a newline in a line included.
 *
 * Text has aligned columns, numbers to the right, and colour on a terminal only. On a terminal long text is cut to its
 * width and a long document goes through the pager. JSON: one object; a table is an array of objects under its name,
 * further members come from output_set, notes become the array "notes". CSV: the tables only, heads are the keys, an
 * empty line between two tables. A memory failure ends the program with a sentence: nothing was printed by then.
 */
#pragma once

#include "cli/command/command.h"

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

enum column_kind {
    COLUMN_TEXT,
    COLUMN_COUNT,  /* uint64_t, thousands separated by commas in text */
    COLUMN_NUMBER, /* double, `digits` after the point (0 = 2; -1 = none); NAN is an empty cell and null */
    COLUMN_SHARE,  /* double in percent, one digit; large shares stand out by colour */
    COLUMN_HEX,    /* uint64_t; JSON has it as a string "0x..." */
    COLUMN_JSON,   /* any value, in JSON only (table_json) */
};

struct column {
    const char *key;   /* JSON member, CSV head */
    const char *head;  /* text head with its unit; NULL = this column is not in the text */
    const char *group; /* JSON: the member goes into the object of this name; NULL = none */
    enum column_kind kind;
    int digits;
    bool plain; /* of COLUMN_SHARE: a large one is nothing special (a running sum, a confidence) */
    /* Where the terminal is too narrow: */
    bool elastic;  /* may be cut */
    bool keep_end; /* ... at its beginning: paths */
    bool spare;    /* may be left out, if cutting isn't enough; always when it is empty */
    bool wraps;    /* as the last column: goes on below */
};

enum output_form { OUTPUT_TEXT, OUTPUT_JSON, OUTPUT_CSV };

struct output;
struct table;

struct output *output_open(const struct parsed *args);
enum output_form output_form(const struct output *out);
/* "s" but for one: output_line(out, "%u sample%s", n, plural(n)). Of numbers that are shown without fraction. */
static inline const char *plural(double n)
{
    return n >= 0.5 && n < 1.5 ? "" : "s";
}
/* Text alone. No newline in it; an empty string is an empty line. */
void output_line(struct output *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same of three parts, the middle one in a colour (an SGR sequence) where there are colours. */
void output_coloured_line(struct output *out, const char *before, const char *colour, const char *word,
                          const char *after);
/* A command to type next: `lead`, the command as cli/output/hint.h makes it, `tail`. Without a line where a
 * word can't be pasted harmlessly. */
void output_hint(struct output *out, const char *lead, const char *subcommand, const char *operand,
                 const char *option, const char *value, const char *tail);
/* The same for a report of the recording that `args` name: by their --store and --epoch, where they are given. */
void output_next(struct output *out, const struct parsed *args, const char *lead, const char *subcommand,
                 const char *operand, const char *tail);
/* A sentence that every reader should get: a text line, and a member of "notes" in JSON. */
void output_note(struct output *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* JSON alone; takes the reference. */
void output_set(struct output *out, const char *key, json_t *value);
/* A table; `columns` must stay valid until output_close (keys and heads are not copied). */
struct table *output_table(struct output *out, const char *name, const struct column *columns,
                           unsigned n_columns);
/* What --json would print, whatever the form is; the caller owns it. */
json_t *output_document(const struct output *out);
/* Writes everything to standard output and frees it. Returns an exit code. */
int output_close(struct output *out);
/* Frees without writing: for a subcommand that fails half-way. */
void output_drop(struct output *out);

/* Cells are given from left to right; the row is complete with its last one. */
void table_text(struct table *table, const char *text); /* copied; NULL = empty and null */
/* A name that may be long (C++): text shows `brief`, unless two shown rows of this column would look the same and
 * aren't; JSON and CSV have `name`. Both are copied. */
void table_names(struct table *table, const char *name, const char *brief);
void table_textf(struct table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));
void table_count(struct table *table, uint64_t count); /* also for COLUMN_HEX */
void table_count_if(struct table *table, bool known, uint64_t count);
void table_number(struct table *table, double number); /* also for COLUMN_SHARE; NAN: an empty cell */
void table_none(struct table *table, size_t cells);    /* empty cells of any kind, null in JSON */
void table_json(struct table *table, json_t *value);   /* takes the reference */
/* Text shows only the first `most` rows (0 = all), then how many there are and `hint`, a text of ours. JSON and
 * CSV have all. */
void table_limit(struct table *table, uint64_t most, const char *hint);
/* `n` further rows exist that were not even given, because only text was wanted: they count in what is said.
 */
void table_omitted(struct table *table, uint64_t n);
size_t table_rows(const struct table *table);

/* True when standard output is a terminal that takes colour (NO_COLOR is respected). */
bool colour_wanted(void);
/* Columns of the terminal, 80 when standard output isn't one. */
unsigned terminal_columns(void);
/* JSON string from bytes that may be no UTF-8 (wrong ones become U+FFFD): for every text that isn't ours. */
json_t *json_text(const char *text);
/* Writes JSON (jansson's flags) that is harmless on a terminal. */
void json_print(const json_t *value, FILE *to, size_t flags);

/* A bar on standard error, drawn on a terminal only, from one second of work on, ten times a second. */
struct progress {
    const char *what, *unit;
    uint64_t total; /* 0 = unknown */
    uint64_t started_ns, drawn_ns;
    bool shown, possible;
};
void progress_init(struct progress *bar, const char *what, const char *unit, uint64_t total);
void progress_step(struct progress *bar, uint64_t done); /* cheap: a clock reading unless it draws */
/* For work that tells both by itself; `bar` is a struct progress. */
void progress_of(void *bar, uint64_t done, uint64_t total);
void progress_fini(struct progress *bar); /* wipes the bar */
