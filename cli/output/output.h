/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a subcommand prints: lines and sheets, collected in one document and written once at the end in the
 * form that was asked for: text for people, --json for programs, --csv for spreadsheets.
 *
 *     struct output *out = output_open(args);
 *     static const struct column columns[] = {
 *         {.key = "samples", .head = "samples", .kind = COLUMN_COUNT},
 *         {.key = "percent", .head = "%", .kind = COLUMN_SHARE},
 *         {.key = "procedure", .head = "procedure", .kind = COLUMN_TEXT},
 *     };
 *     struct sheet *rows = output_sheet(out, "rows", columns, 3);
 *     sheet_limit(rows, 10, "--top 0 shows all");
 *     sheet_count(rows, 1234); sheet_number(rows, 12.34); sheet_text(rows, "main");
 *     output_set(out, "total", json_integer(10000));
 *     output_line(out, "next: cyclescope calc main");
 *     return output_close(out);
 *
 * Text: columns are aligned, numbers to the right, colour on a terminal only; names are made safe (a symbol
 * may hold anything); on a terminal long text is cut to its width and a long document goes through the pager.
 * JSON: one object; a sheet is an array of objects under its name, further members come from output_set,
 * notes become the array "notes". CSV: the sheets only, heads are the keys, an empty line between two sheets.
 * A memory failure ends the program with a sentence: nothing was printed by then. */
#ifndef CS_CLI_OUTPUT_H
#define CS_CLI_OUTPUT_H

#include "cli/command/command.h"

#include <jansson.h>
#include <stdint.h>

enum column_kind {
    COLUMN_TEXT,
    COLUMN_COUNT,  /* uint64_t, thousands separated by commas in text */
    COLUMN_NUMBER, /* double, `digits` after the point (0 = 2; -1 = none); NAN is an empty cell and null */
    COLUMN_SHARE,  /* double in percent, one digit; large shares stand out by colour */
    COLUMN_HEX,    /* uint64_t; JSON has it as a string "0x..." */
    COLUMN_JSON,   /* any value, in JSON only (sheet_json) */
};

struct column {
    const char *key;   /* JSON member, CSV head */
    const char *head;  /* text head with its unit; NULL = this column is not in the text */
    const char *group; /* JSON: the member goes into the object of this name; NULL = none */
    enum column_kind kind;
    int digits;
    /* Where the terminal is too narrow: */
    bool elastic;  /* may be cut */
    bool keep_end; /* ... at its beginning: paths */
    bool spare;    /* may be left out, if cutting isn't enough; always when it is empty */
    bool wraps;    /* as the last column: goes on below */
};

enum output_form { OUTPUT_TEXT, OUTPUT_JSON, OUTPUT_CSV };

struct output;
struct sheet;

struct output *output_open(const struct parsed *args);
enum output_form output_form(const struct output *out);
/* Text alone. No newline at the end; an empty string is an empty line. */
void output_line(struct output *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A sentence that every reader should get: a text line, and a member of "notes" in JSON. */
void output_note(struct output *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* JSON alone; takes the reference. */
void output_set(struct output *out, const char *key, json_t *value);
/* A table; `columns` must stay valid until output_close (keys and heads are not copied). */
struct sheet *output_sheet(struct output *out, const char *name, const struct column *columns,
                           unsigned n_columns);
/* Writes everything to standard output and frees it. Returns an exit code. */
int output_close(struct output *out);
/* Frees without writing: for a subcommand that fails half-way. */
void output_drop(struct output *out);

/* Cells are given from left to right; the row is complete with its last one. */
void sheet_text(struct sheet *sheet, const char *text); /* copied; NULL = empty and null */
void sheet_textf(struct sheet *sheet, const char *format, ...) __attribute__((format(printf, 2, 3)));
void sheet_count(struct sheet *sheet, uint64_t count); /* also for COLUMN_HEX */
void sheet_number(struct sheet *sheet, double number); /* also for COLUMN_SHARE */
void sheet_none(struct sheet *sheet);                  /* an empty cell of any kind, null in JSON */
void sheet_json(struct sheet *sheet, json_t *value);   /* takes the reference */
/* Text shows only the first `most` rows (0 = all), then how many there are and `hint`. JSON and CSV have all.
 */
void sheet_limit(struct sheet *sheet, uint64_t most, const char *hint);
/* `n` further rows exist that were not even given, because only text was wanted: they count in what is said.
 */
void sheet_omitted(struct sheet *sheet, uint64_t n);
size_t sheet_rows(const struct sheet *sheet);

/* True when standard output is a terminal that takes colour (NO_COLOR is respected). */
bool colour_wanted(void);
/* Columns of the terminal, 80 when standard output isn't one. */
unsigned terminal_columns(void);
/* JSON string from bytes that may be no UTF-8 (wrong ones become U+FFFD). */
json_t *json_text(const char *text);

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

#endif
