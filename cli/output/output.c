/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The document that a subcommand fills and that is written once, when it is whole. */
#include "cli/output/output.h"
#include "cli/output/hint.h"
#include "cli/output/memory.h"
#include "cli/output/table.h"
#include "cli/output/wrap.h"
#include "store/base/array.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

struct item {
    char *line; /* or */
    struct table *table;
    bool note; /* a line that may be wrapped */
};

struct output {
    enum output_form form;
    struct item *items;
    size_t n_items, capacity;
    json_t *members, *notes;
};

bool colour_wanted(void)
{
    const char *term = getenv("TERM"), *no = getenv("NO_COLOR");
    return isatty(STDOUT_FILENO) && !(no && *no) && term && strcmp(term, "dumb") != 0;
}

unsigned terminal_columns(void)
{
    struct winsize size;
    if (isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 40)
        return size.ws_col;
    return 80;
}

struct output *output_open(const struct parsed *args)
{
    struct output *out = need(calloc(1, sizeof *out));
    out->form = option_given(args, "json")  ? OUTPUT_JSON
                : option_given(args, "csv") ? OUTPUT_CSV
                                            : OUTPUT_TEXT;
    out->members = need(json_object());
    out->notes = need(json_array());
    return out;
}

enum output_form output_form(const struct output *out)
{
    return out->form;
}

static struct item *add(struct output *out)
{
    if (cs_array_room(out->items, out->n_items, out->capacity) < 0)
        need(NULL);
    struct item *i = &out->items[out->n_items++];
    *i = (struct item){NULL, NULL, false};
    return i;
}

/* Foreign text is made harmless here, before colours of ours are put in. */
static char *clean_line(char *line)
{
    char *clean = text_clean(line);
    free(line);
    return clean;
}

static char *format_line(const char *format, va_list args)
{
    char *line;
    if (vasprintf(&line, format, args) < 0)
        need(NULL);
    return line;
}

void output_line(struct output *out, const char *format, ...)
{
    if (out->form != OUTPUT_TEXT)
        return;
    va_list args;
    va_start(args, format);
    add(out)->line = clean_line(format_line(format, args));
    va_end(args);
}

void output_coloured_line(struct output *out, const char *before, const char *colour, const char *word,
                          const char *after)
{
    if (out->form != OUTPUT_TEXT)
        return;
    const bool coloured = colour_wanted();
    char *parts[] = {text_clean(before), text_clean(word), text_clean(after)}, *line;
    if (asprintf(&line, "%s%s%s%s%s", parts[0], coloured ? colour : "", parts[1], coloured ? "\033[0m" : "",
                 parts[2]) < 0)
        need(NULL);
    add(out)->line = line;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        free(parts[i]);
}

void output_hint(struct output *out, const char *lead, const char *subcommand, const char *operand,
                 const char *option, const char *value, const char *tail)
{
    char *command = hint_command(subcommand, operand, option, value);
    if (command)
        output_line(out, "%s %s%s", lead, command, tail);
    free(command);
}

void output_next(struct output *out, const struct parsed *args, const char *lead, const char *subcommand,
                 const char *operand, const char *tail)
{
    static const char *const names[] = {"epoch", "from", "until", "last"};
    char *all = need(strdup(""));
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
        const char *value = option(args, names[i]);
        /* "-2" and "-2h" begin like an option, which is no value */
        bool back = value && *value == '-' && !value[1 + strspn(value + 1, "0123456789.smhd")];
        char *word = !value ? NULL : back ? need(strdup(value)) : hint_word(value), *more = NULL;
        if (value && (!word || (*value == '-' && !back))) {
            free(word);
            return free(all);
        }
        if (value && asprintf(&more, "%s --%s %s", all, names[i], word) < 0)
            need(NULL);
        if (value) {
            free(all);
            all = more;
        }
        free(word);
    }
    char *with_tail = NULL;
    if (asprintf(&with_tail, "%s%s", all, tail) < 0)
        need(NULL);
    output_hint(out, lead, subcommand, operand, "--store", option(args, "store"), with_tail);
    free(with_tail);
    free(all);
}

void output_note(struct output *out, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *line = format_line(format, args);
    va_end(args);
    json_array_append_new(out->notes, json_text(line));
    struct item *item = add(out);
    item->line = clean_line(line);
    item->note = true;
}

void output_set(struct output *out, const char *key, json_t *value)
{
    json_object_set_new(out->members, key, need(value));
}

struct table *output_table(struct output *out, const char *name, const struct column *columns,
                           unsigned n_columns)
{
    assert(columns && n_columns > 0);
    return add(out)->table = table_open(name, columns, n_columns);
}

void output_drop(struct output *out)
{
    for (size_t i = 0; i < out->n_items; i++) {
        free(out->items[i].line);
        if (out->items[i].table)
            table_close(out->items[i].table);
    }
    free(out->items);
    json_decref(out->members);
    json_decref(out->notes);
    free(out);
}

/* Where a line goes on: below what stands behind its last gap of two blanks in the left half, as in a table;
 * else two columns further in than an indented line began. */
static unsigned hanging(const char *line, unsigned width)
{
    unsigned indent = (unsigned)strspn(line, " ");
    unsigned found = indent ? indent + 2 : 0;
    for (const char *p = line + indent; (p = strstr(p, "  ")) != NULL;) {
        p += strspn(p, " ");
        char *before = need(strndup(line, (size_t)(p - line)));
        unsigned at = text_width(before);
        free(before);
        if (at > width / 2)
            break;
        found = at;
    }
    return found;
}

static size_t print_line(const char *line, FILE *to, unsigned width)
{
    size_t lines = text_wrap(to, line, width, 0, hanging(line, width));
    fputc('\n', to);
    return lines;
}

static size_t print_text(const struct output *out, FILE *to)
{
    bool colour = colour_wanted();
    unsigned width = isatty(STDOUT_FILENO) ? terminal_columns() : 0;
    size_t lines = 0;
    for (size_t i = 0; i < out->n_items; i++) {
        const struct item *item = &out->items[i];
        if (item->table)
            lines += table_print_text(item->table, to, width, colour);
        else
            lines += print_line(item->line, to, item->note ? terminal_columns() : width);
    }
    return lines;
}

static void print_csv(const struct output *out)
{
    bool first = true;
    for (size_t i = 0; i < out->n_items; i++) {
        if (!out->items[i].table)
            continue;
        if (!first)
            fputs("\r\n", stdout);
        table_print_csv(out->items[i].table, stdout);
        first = false;
    }
}

json_t *output_document(const struct output *out)
{
    json_t *document = need(json_object());
    for (size_t i = 0; i < out->n_items; i++)
        if (out->items[i].table)
            json_object_set_new(document, table_name(out->items[i].table),
                                table_to_json(out->items[i].table));
    json_object_update(document, out->members);
    if (json_array_size(out->notes))
        json_object_set(document, "notes", out->notes);
    return document;
}

static void print_json(const struct output *out)
{
    json_t *document = output_document(out);
    json_print(document, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(12));
    fputc('\n', stdout);
    json_decref(document);
}

/* Text that doesn't fit on the terminal goes through $PAGER (less). False where there is no pager. */
static bool page(const char *text, size_t lines)
{
    struct winsize size;
    if (!isatty(STDOUT_FILENO) || !isatty(STDIN_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 ||
        lines < size.ws_row)
        return false;
    const char *pager = getenv("CYCLESCOPE_PAGER");
    pager = pager ? pager : getenv("PAGER");
    if (pager && !*pager)
        return false;
    setenv("LESS", "FRX", 0);
    FILE *to = popen(pager ? pager : "less", "w");
    if (!to)
        return false;
    void (*old)(int) = signal(SIGPIPE, SIG_IGN);
    fputs(text, to);
    int status = pclose(to);
    signal(SIGPIPE, old);
    return !(WIFEXITED(status) && WEXITSTATUS(status) == 127);
}

int output_close(struct output *out)
{
    if (out->form == OUTPUT_JSON) {
        print_json(out);
    } else if (out->form == OUTPUT_CSV) {
        print_csv(out);
    } else {
        char *text = NULL;
        size_t size = 0;
        FILE *memory = need(open_memstream(&text, &size));
        size_t lines = print_text(out, memory);
        if (fclose(memory) != 0)
            need(NULL);
        if (!page(text, lines))
            fwrite(text, 1, size, stdout);
        free(text);
    }
    output_drop(out);
    if ((fflush(stdout) != 0 || ferror(stdout)) && errno == EPIPE)
        return CS_EXIT_FAILED; /* whoever read it has enough: nothing to tell */
    if (ferror(stdout))
        return failed_with("could not write the output: %s", strerror(errno));
    return CS_EXIT_OK;
}
