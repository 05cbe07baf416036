/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Each tool is a row: its subcommand, and its arguments with what may be in them. Schemas for the client and checks of what it
 * sends come from the same row. A wrong argument is the tool's error, with a sentence that a model can act on. */
#include "cli/mcp/mcp.h"
#include "cli/output/memory.h"
#include "cli/output/output.h"
#include "store/base/text.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_MAX 1000        /* bytes of an argument */
#define COMMAND_WORDS_MAX 64 /* of a command that is recorded */
#define COMMAND_BYTES_MAX 32768
#define LIMIT_MAX 1000
#define WORDS_MAX 112 /* of an argv of ours */

enum kind { IS_STORE, IS_TEXT, IS_NUMBER, IS_FLAG, IS_CHOICE, IS_COMMAND, IS_LIMIT };

struct argument {
    const char *name;
    enum kind kind;
    const char *option; /* without dashes; NULL: an operand */
    const char *description;
    bool required;
    double least, most;     /* of a number */
    const char *choices[6]; /* ends with NULL */
};

#define STORE                                                                                                \
    {                                                                                                        \
        .name = "store", .kind = IS_STORE, .option = "store",                                                \
        .description = "which store, as a path within the server's folder; leave it out for the usual one"   \
    }
#define EPOCH                                                                                                \
    {                                                                                                        \
        .name = "epoch", .kind = IS_TEXT, .option = "epoch",                                                 \
        .description =                                                                                       \
            "which recording: its name, -2 (the one before the newest), or all (default: the newest)"        \
    }
#define EVENT                                                                                                \
    {                                                                                                        \
        .name = "event", .kind = IS_TEXT, .option = "event", .description = "the event that shares are of"   \
    }
#define IMAGE                                                                                                \
    {                                                                                                        \
        .name = "image", .kind = IS_TEXT, .option = "image",                                                 \
        .description = "only this binary: base name, or six digits of its build-id"                          \
    }
#define FUNCTION                                                                                             \
    {                                                                                                        \
        .name = "function", .kind = IS_TEXT, .description = "which function (default: the hottest)"          \
    }
#define LIMIT                                                                                                \
    {                                                                                                        \
        .name = "limit", .kind = IS_LIMIT, .least = 1, .most = LIMIT_MAX,                                    \
        .description = "most rows of each table (default: 20)"                                               \
    }

#define ARGUMENTS_MAX 8
static const struct tool {
    const char *name, *description;
    size_t rows; /* of each table, where no limit is given */
    int done;    /* exit codes up to here come with a report */
    struct argument arguments[ARGUMENTS_MAX];
} tools[] = {
    {"explain",
     "One document about what costs most. It has a claim, its evidence with bounds, and the source line with "
     "its context. Then come ruled-out causes, what to try, the expected gain, and the command that verifies "
     "a change. Begin here. If \"claim\" is null, \"missing\" says what to record.",
     LIMIT_MAX,
     0,
     {FUNCTION, STORE, EPOCH, EVENT, IMAGE}},
    {"prof",
     "Where CPU time went: the hottest functions, lines, images or threads of a recording.",
     20,
     0,
     {{.name = "by",
       .kind = IS_CHOICE,
       .option = "by",
       .choices = {"function", "image", "line", "process", "thread"},
       .description = "what a row is (default: function)"},
      STORE,
      EPOCH,
      EVENT,
      IMAGE,
      LIMIT}},
    {"calc",
     "Why one function is slow: cycles and stalls of each instruction, causes with bounds, and what usually "
     "helps.",
     20,
     0,
     {FUNCTION, STORE, EPOCH, EVENT, IMAGE, LIMIT}},
    {"waits",
     "Where threads waited: for what, in which function, how long, and who ended it. Needs a recording with "
     "waits.",
     20,
     0,
     {{.name = "critical_path",
       .kind = IS_FLAG,
       .option = "critical-path",
       .description = "what one thread's time was spent on, also in threads that it waited for, and what a "
                      "faster function would save"},
      {.name = "process", .kind = IS_TEXT, .option = "process", .description = "only this process or thread"},
      STORE,
      EPOCH,
      LIMIT}},
    {"diff",
     "What changed between two recordings, and what is only noise. Without before and after: the last two "
     "recordings of the store.",
     20,
     0,
     {{.name = "before", .kind = IS_STORE, .description = "a store; goes with after"},
      {.name = "after", .kind = IS_STORE, .description = "another store"},
      {.name = "by",
       .kind = IS_CHOICE,
       .option = "by",
       .choices = {"function", "image", "line"},
       .description = "what a row is (default: function)"},
      {.name = "waits",
       .kind = IS_FLAG,
       .option = "waits",
       .description = "compare waits instead of CPU time"},
      STORE,
      LIMIT}},
    {"gate",
     "A verdict: is the head slower than the base? Says slower, same, faster or can't tell for work, pace "
     "and waits, with ranges, and which functions grew. Each store needs recordings of several runs.",
     20,
     2,
     {{.name = "base",
       .kind = IS_STORE,
       .option = "base",
       .required = true,
       .description = "a store of the base"},
      {.name = "head",
       .kind = IS_STORE,
       .option = "head",
       .required = true,
       .description = "a store of the head"},
      LIMIT}},
    {"record",
     "Runs a program that the server's user has allowed, and adds a recording of it to the store.",
     20,
     0,
     {{.name = "command",
       .kind = IS_COMMAND,
       .required = true,
       .description = "the program's allowed path, then its arguments; no shell reads them"},
      {.name = "seconds",
       .kind = IS_NUMBER,
       .option = "seconds",
       .least = 0.1,
       .most = MCP_RECORD_SECONDS_MAX,
       .description = "end after this time (default: 60)"},
      {.name = "waits",
       .kind = IS_FLAG,
       .option = "waits",
       .description = "also time off the CPU (needs root)"},
      {.name = "burst_rate",
       .kind = IS_NUMBER,
       .option = "burst-rate",
       .least = 1,
       .most = 300,
       .description = "bursts per second: 30 give explain and calc more evidence"},
      {.name = "frequency",
       .kind = IS_NUMBER,
       .option = "frequency",
       .least = 1,
       .most = 20000,
       .description = "samples per second (default: 1000)"},
      STORE}},
};

static bool is_record(const struct tool *tool)
{
    return strcmp(tool->name, "record") == 0;
}

/* ---- schemas ---- */

static json_t *schema_of(const struct argument *a)
{
    static const char *const types[] = {
        [IS_STORE] = "string",  [IS_TEXT] = "string",   [IS_NUMBER] = "number", [IS_FLAG] = "boolean",
        [IS_CHOICE] = "string", [IS_COMMAND] = "array", [IS_LIMIT] = "integer"};
    json_t *s = need(json_pack("{s:s, s:s}", "type", types[a->kind], "description", a->description));
    if (a->kind == IS_STORE || a->kind == IS_TEXT) {
        json_object_set_new(s, "minLength", json_integer(1));
        json_object_set_new(s, "maxLength", json_integer(TEXT_MAX));
    } else if (a->kind == IS_NUMBER || a->kind == IS_LIMIT) {
        const bool whole = a->kind == IS_LIMIT;
        json_object_set_new(s, "minimum", whole ? json_integer((json_int_t)a->least) : json_real(a->least));
        json_object_set_new(s, "maximum", whole ? json_integer((json_int_t)a->most) : json_real(a->most));
    } else if (a->kind == IS_CHOICE) {
        json_t *all = json_array();
        for (unsigned i = 0; i < sizeof a->choices / sizeof *a->choices && a->choices[i]; i++)
            json_array_append_new(all, json_string(a->choices[i]));
        json_object_set_new(s, "enum", all);
    } else if (a->kind == IS_COMMAND) {
        json_object_set_new(s, "items", json_pack("{s:s}", "type", "string"));
        json_object_set_new(s, "minItems", json_integer(1));
        json_object_set_new(s, "maxItems", json_integer(COMMAND_WORDS_MAX));
    }
    return s;
}

json_t *mcp_tools_list(void)
{
    json_t *list = need(json_array());
    for (size_t t = 0; t < sizeof tools / sizeof *tools; t++) {
        json_t *properties = json_object(), *required = json_array();
        for (const struct argument *a = tools[t].arguments; a < tools[t].arguments + ARGUMENTS_MAX && a->name;
             a++) {
            json_object_set_new(properties, a->name, schema_of(a));
            if (a->required)
                json_array_append_new(required, json_string(a->name));
        }
        json_array_append_new(
            list,
            need(json_pack("{s:s, s:s, s:{s:s, s:o, s:o, s:b}, s:{s:b, s:b, s:b}}", "name", tools[t].name,
                           "description", tools[t].description, "inputSchema", "type", "object", "properties",
                           properties, "required", required, "additionalProperties", 0, "annotations",
                           "readOnlyHint", !is_record(&tools[t]), "destructiveHint", 0, "openWorldHint",
                           is_record(&tools[t]))));
    }
    return list;
}

/* ---- a call ---- */

struct call {
    const struct mcp *mcp;
    const struct tool *tool;
    char *words[WORDS_MAX + 1]; /* of our argv: ours */
    char *operands[WORDS_MAX + 1];
    size_t n_words, n_operands;
    size_t rows;
    double seconds; /* of a recording */
    struct cs_error err;
};

static void add_word(char **words, size_t *n, char *word)
{
    if (*n < WORDS_MAX)
        words[(*n)++] = need(word);
    else
        free(word);
}

static int add_option(struct call *c, const char *option, const char *value)
{
    char *word = NULL;
    if (asprintf(&word, value ? "--%s=%s" : "--%s", option, value) < 0)
        need(NULL);
    add_word(c->words, &c->n_words, word);
    return 0;
}

static int add_value(struct call *c, const struct argument *a, const char *value)
{
    if (a->option)
        return add_option(c, a->option, value);
    add_word(c->operands, &c->n_operands, strdup(value));
    return 0;
}

static int wrong(struct call *c, const struct argument *a, const char *what)
{
    return cs_fail(&c->err, EINVAL, "the argument \"%s\" must be %s", a->name, what);
}

static int take_text(struct call *c, const struct argument *a, const json_t *value)
{
    const char *text = json_string_value(value);
    if (!text || !*text || json_string_length(value) > TEXT_MAX || !cs_text_is_clean(text))
        return wrong(c, a, "a text of 1 to 1000 bytes without control characters");
    if (a->kind == IS_TEXT)
        return add_value(c, a, text);
    char path[4096];
    int rc = mcp_store_path(c->mcp, text, !is_record(c->tool), path, sizeof path, &c->err);
    return rc < 0 ? rc : add_value(c, a, path);
}

static int take_number(struct call *c, const struct argument *a, const json_t *value)
{
    const double number = json_is_number(value) ? json_number_value(value) : (double)NAN;
    char text[80];
    snprintf(text, sizeof text, "a%s number from %g to %g", a->kind == IS_LIMIT ? " whole" : "", a->least,
             a->most);
    if (!(number >= a->least && number <= a->most) || (a->kind == IS_LIMIT && !json_is_integer(value)))
        return wrong(c, a, text);
    if (a->kind == IS_LIMIT) {
        c->rows = (size_t)number;
        return 0;
    }
    if (strcmp(a->name, "seconds") == 0)
        c->seconds = number;
    snprintf(text, sizeof text, "%.6f", number);
    return add_value(c, a, text);
}

static int take_choice(struct call *c, const struct argument *a, const json_t *value)
{
    const char *text = json_string_value(value);
    char all[200] = "";
    for (unsigned i = 0; i < sizeof a->choices / sizeof *a->choices && a->choices[i]; i++) {
        if (text && strcmp(text, a->choices[i]) == 0)
            return add_value(c, a, text);
        const size_t n = strlen(all);
        snprintf(all + n, sizeof all - n, "%s%s", n ? ", " : "one of ", a->choices[i]);
    }
    return wrong(c, a, all);
}

static int refuse_program(struct call *c, const char *program)
{
    char all[1500] = "";
    for (unsigned i = 0; i < c->mcp->n_allowed; i++) {
        const size_t n = strlen(all);
        snprintf(all + n, sizeof all - n, "%s%s", n ? ", " : "", c->mcp->allowed[i]);
    }
    return cs_fail(&c->err, EPERM,
                   "the program %.200s isn't allowed: the server's user allows programs by --allow at its "
                   "start (now: %s)",
                   program, *all ? all : "none");
}

static int take_command(struct call *c, const struct argument *a, const json_t *value)
{
    const size_t n = json_array_size(value);
    size_t bytes = 0;
    if (!n || n > COMMAND_WORDS_MAX)
        return wrong(c, a, "an array of 1 to 64 texts");
    for (size_t i = 0; i < n; i++) {
        const char *word = json_string_value(json_array_get(value, i));
        if (!word || (bytes += strlen(word)) > COMMAND_BYTES_MAX)
            return wrong(c, a, "an array of texts, of 32768 bytes at most");
    }
    const char *program = json_string_value(json_array_get(value, 0));
    unsigned allowed = 0;
    while (allowed < c->mcp->n_allowed && strcmp(c->mcp->allowed[allowed], program) != 0)
        allowed++;
    if (allowed == c->mcp->n_allowed)
        return refuse_program(c, program);
    for (size_t i = 0; i < n; i++)
        add_word(c->operands, &c->n_operands, strdup(json_string_value(json_array_get(value, i))));
    return 0;
}

static int take(struct call *c, const struct argument *a, const json_t *value)
{
    switch (a->kind) {
    case IS_STORE:
    case IS_TEXT:
        return take_text(c, a, value);
    case IS_NUMBER:
    case IS_LIMIT:
        return take_number(c, a, value);
    case IS_CHOICE:
        return take_choice(c, a, value);
    case IS_COMMAND:
        return take_command(c, a, value);
    case IS_FLAG:
    default:
        if (!json_is_boolean(value))
            return wrong(c, a, "true or false");
        return json_is_true(value) ? add_option(c, a->option, NULL) : 0;
    }
}

/* What wasn't given. */
static int take_defaults(struct call *c, const json_t *given)
{
    char path[4096];
    const bool record = is_record(c->tool), pair = json_object_get(given, "before") != NULL,
               stores = json_object_get(given, "store") || json_object_get(given, "base");
    if (pair != (json_object_get(given, "after") != NULL))
        return cs_fail(&c->err, EINVAL, "\"before\" and \"after\" go together");
    if (record && !json_object_get(given, "seconds"))
        add_option(c, "seconds", "60");
    if (pair || stores)
        return 0;
    int rc = mcp_store_path(c->mcp, NULL, !record, path, sizeof path, &c->err);
    return rc < 0 ? rc : add_option(c, "store", path);
}

/* In the order of the tool's arguments, so that operands have it, too. */
static int take_arguments(struct call *c, const json_t *given)
{
    size_t known = 0;
    int rc = 0;
    add_word(c->words, &c->n_words, strdup(c->tool->name));
    if (!is_record(c->tool))
        add_option(c, "json", NULL);
    for (const struct argument *a = c->tool->arguments;
         rc == 0 && a < c->tool->arguments + ARGUMENTS_MAX && a->name; a++) {
        const json_t *value = json_object_get(given, a->name);
        known += value != NULL;
        if (!value && a->required)
            return cs_fail(&c->err, EINVAL, "the argument \"%s\" is missing", a->name);
        rc = value ? take(c, a, value) : 0;
    }
    if (rc == 0 && known < json_object_size(given))
        rc = cs_fail(&c->err, EINVAL, "there is an argument that the tool %s doesn't have", c->tool->name);
    if (rc == 0)
        rc = take_defaults(c, given);
    if (rc == 0 && c->n_words + c->n_operands + 1 >= WORDS_MAX)
        rc = cs_fail(&c->err, E2BIG, "there are too many arguments");
    if (rc < 0)
        return rc;
    add_word(c->words, &c->n_words, strdup("--"));
    for (size_t i = 0; i < c->n_operands; i++)
        add_word(c->words, &c->n_words, c->operands[i]);
    c->n_operands = 0;
    return 0;
}

/* ---- its result ---- */

static void add_text(json_t *content, const char *text)
{
    json_array_append_new(content, need(json_pack("{s:s, s:o}", "type", "text", "text", json_text(text))));
}

static json_t *result_of(json_t *content, bool error)
{
    return need(json_pack("{s:o, s:b}", "content", content, "isError", error));
}

static json_t *failure(const char *sentence)
{
    json_t *content = need(json_array());
    add_text(content, sentence);
    return result_of(content, true);
}

static json_t *report_of(const struct call *c, const struct mcp_run *run)
{
    char sentence[MCP_SAID_MAX + 200];
    const bool record = is_record(c->tool);
    if (run->too_much)
        return failure("The report is larger than 32 MB. Ask for one function, image or recording.");
    if (run->too_long)
        return failure(record ? "The recording didn't end in time and was ended."
                              : "The report took longer than 120 s and was ended.");
    json_t *report = run->status <= c->tool->done || record ? json_loadb(run->out, run->n, 0, NULL) : NULL;
    if (!json_is_object(report)) {
        json_decref(report);
        snprintf(sentence, sizeof sentence, "%s", *run->said ? run->said : "There is no report.");
        return failure(sentence);
    }
    char left_out[600];
    char *text = mcp_shorten(report, c->rows, left_out, sizeof left_out);
    json_decref(report);
    if (!text)
        return failure("The report is larger than 64 KB even with one row of each table. Ask for less: one "
                       "function, image or recording.");
    json_t *content = need(json_array());
    add_text(content, text);
    free(text);
    if (*left_out)
        add_text(content, left_out);
    if (record && *run->said) {
        snprintf(sentence, sizeof sentence, "What record and the command said, 4 KB at most:\n%s", run->said);
        add_text(content, sentence);
    }
    return result_of(content, false);
}

json_t *mcp_tools_call(const struct mcp *mcp, const char *name, const json_t *arguments)
{
    struct call c = {.mcp = mcp, .seconds = 60};
    struct mcp_run run = {0};
    for (size_t t = 0; t < sizeof tools / sizeof *tools; t++)
        if (strcmp(tools[t].name, name) == 0)
            c.tool = &tools[t];
    if (!c.tool)
        return NULL;
    c.rows = c.tool->rows;
    const bool record = is_record(c.tool);
    int rc = take_arguments(&c, arguments);
    if (rc == 0)
        rc = mcp_run_self(mcp, c.words, record, MCP_REPORT_SECONDS + (record ? c.seconds : 0), &run, &c.err);
    json_t *result = rc < 0 ? failure(c.err.text) : report_of(&c, &run);
    for (size_t i = 0; i < c.n_words; i++)
        free(c.words[i]);
    for (size_t i = 0; i < c.n_operands; i++)
        free(c.operands[i]);
    free(run.out);
    return result;
}
