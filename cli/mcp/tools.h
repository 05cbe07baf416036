/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Each tool is a row: its subcommand, and its arguments with what may be in them. Schemas for the client and checks of what
 * it sends come from the same row. */
#pragma once

#include "cli/mcp/mcp.h"

#define TEXT_MAX 1000        /* bytes of an argument */
#define COMMAND_WORDS_MAX 64 /* of a command that is recorded */
#define LIMIT_MAX 1000
#define BUILD_ID_MAX 64 /* digits of a build-id */
#define ARGUMENTS_MAX 12

enum kind { IS_STORE, IS_TEXT, IS_NUMBER, IS_FLAG, IS_CHOICE, IS_COMMAND, IS_LIMIT };

struct argument {
    const char *name;
    enum kind kind;
    const char *option; /* without dashes; NULL: an operand */
    const char *description;
    bool required;
    double least, most;     /* of a number; `most` of a text's bytes, 0: TEXT_MAX */
    const char *choices[6]; /* ends with NULL */
};

struct tool {
    const char *name, *description;
    size_t rows;                                  /* of each table, where no limit is given */
    int done;                                     /* exit codes up to here come with a report */
    struct argument arguments[ARGUMENTS_MAX + 1]; /* ends with a NULL name */
};

/* NULL: there is none of that name. */
const struct tool *mcp_tool(const char *name);
bool mcp_is_record(const struct tool *tool);

/* ---- gate_call.c ---- */

/* The call asks for runs of two commands. */
bool mcp_gate_runs(const struct tool *tool, const json_t *given);
/* One way to compare, with all that it needs; else a sentence. */
int mcp_gate_check(const json_t *given, struct cs_error *err);
/* The words of a command as the one text that gate splits into the same words. The caller frees it; NULL: out of memory. */
char *mcp_gate_text(const json_t *words);
/* A new folder for runs within the server's. */
int mcp_gate_folder(const struct mcp *mcp, char *path, size_t size, struct cs_error *err);
/* With all in it; "": there is none. */
void mcp_gate_remove(const char *path);
