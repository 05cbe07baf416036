/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From a client's arguments to our argv, and from what that printed to the tool's result. A wrong argument is the tool's
 * error, with a sentence that a model can act on. */
#include "cli/mcp/tools.h"
#include "cli/output/memory.h"
#include "cli/output/output.h"
#include "store/base/text.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COMMAND_BYTES_MAX 32768
#define WORDS_MAX 112 /* of an argv of ours */

struct call {
    const struct mcp *mcp;
    const struct tool *tool;
    char *words[WORDS_MAX + 1]; /* of our argv: ours */
    char *operands[WORDS_MAX + 1];
    size_t n_words, n_operands;
    size_t rows;
    double seconds;                                       /* of a recording, or of runs in turn */
    char runs[sizeof(((struct mcp *)NULL)->folder) + 32]; /* the folder that they are in; "": none */
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
    const size_t most = a->most > 0 ? (size_t)a->most : TEXT_MAX;
    if (!text || !*text || json_string_length(value) > most || !cs_text_is_clean(text))
        return wrong(c, a,
                     most == TEXT_MAX ? "a text of 1 to 1000 bytes without control characters"
                                      : "the first digits of a build-id, 64 at most");
    if (a->kind == IS_TEXT)
        return add_value(c, a, text);
    char path[4096];
    int rc = mcp_store_path(c->mcp, text, !mcp_is_record(c->tool), path, sizeof path, &c->err);
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
    for (unsigned i = 0; a->choices[i]; i++) {
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
    if (a->option) {
        char *text = need(mcp_gate_text(value));
        add_option(c, a->option, text);
        free(text);
        return 0;
    }
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
    const bool record = mcp_is_record(c->tool), pair = json_object_get(given, "before") != NULL,
               stores = json_object_get(given, "store") || json_object_get(given, "base");
    if (mcp_gate_runs(c->tool, given)) {
        int made = mcp_gate_folder(c->mcp, c->runs, sizeof c->runs, &c->err);
        return made < 0 ? made : add_option(c, "keep", c->runs);
    }
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
    if (!mcp_is_record(c->tool))
        add_option(c, "json", NULL);
    for (const struct argument *a = c->tool->arguments; rc == 0 && a->name; a++) {
        const json_t *value = json_object_get(given, a->name);
        known += value != NULL;
        if (!value && a->required)
            return cs_fail(&c->err, EINVAL, "the argument \"%s\" is missing", a->name);
        rc = value ? take(c, a, value) : 0;
    }
    if (rc == 0 && known < json_object_size(given))
        rc = cs_fail(&c->err, EINVAL, "there is an argument that the tool %s doesn't have", c->tool->name);
    if (rc == 0 && strcmp(c->tool->name, "gate") == 0)
        rc = mcp_gate_check(given, &c->err);
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
    const bool record = mcp_is_record(c->tool);
    if (run->too_much)
        return failure("The report is larger than 32 MB. Ask for one function, image or recording.");
    if (run->too_long)
        return failure(record     ? "The recording didn't end in time and was ended."
                       : *c->runs ? "The runs didn't end in time and were ended. Give more \"seconds\", or "
                                    "commands that take less time."
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
    struct call c = {.mcp = mcp, .tool = mcp_tool(name), .seconds = 60};
    struct mcp_run run = {0};
    if (!c.tool)
        return NULL;
    c.rows = c.tool->rows;
    const bool record = mcp_is_record(c.tool);
    int rc = take_arguments(&c, arguments);
    if (rc == 0)
        rc = mcp_run_self(mcp, c.words, record,
                          MCP_REPORT_SECONDS + (record    ? c.seconds
                                                : *c.runs ? MCP_GATE_TIMES * c.seconds
                                                          : 0),
                          &run, &c.err);
    json_t *result = rc < 0 ? failure(c.err.text) : report_of(&c, &run);
    for (size_t i = 0; i < c.n_words; i++)
        free(c.words[i]);
    for (size_t i = 0; i < c.n_operands; i++)
        free(c.operands[i]);
    free(run.out);
    mcp_gate_remove(c.runs);
    return result;
}
