/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A server of the Model Context Protocol over standard input and output: our reports as tools for a client that is no
 * person. JSON-RPC 2.0, one message a line.
 *
 * Files of this module:
 *   mcp           the subcommand mcp: what the client may do
 *   message       lines from the client, bounded; JSON-RPC's envelope
 *   protocol      the protocol's methods
 *   tools         the table of tools, and their schemas
 *   tool_call     from a client's arguments to ours, and the result
 *   gate_call     gate's three ways to compare, and its runs
 *   shorten       a report within its bound
 *   run_self      our own program as a child, bounded in bytes and time
 *   store_folder  paths of stores within one folder
 *
 * The client is not trusted: it may have read its instructions from a profile or from the web. What it may do is fixed at
 * the start: which folder, and which programs `record` and `gate` may run. A tool is a subcommand of ours in a child, with an argv that
 * is made here, never by a shell. Options come as "--name=value" and operands after "--", so that no value becomes an
 * option. */
#pragma once

#include "cli/command/command.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#define MCP_MESSAGE_MAX (1u << 20) /* bytes of a line from the client */
#define MCP_BATCH_MAX 32           /* messages in an array */
#define MCP_OUTPUT_MAX (64u << 10) /* bytes of a tool's text */
#define MCP_REPORT_MAX (32u << 20) /* of what a report may print before it is shortened */
#define MCP_SAID_MAX 4096          /* of what a child says on standard error */
#define MCP_REPORT_SECONDS 120     /* that a report may take */
#define MCP_RECORD_SECONDS_MAX 600 /* that a recording may last */
#define MCP_GATE_TIMES 4           /* `seconds` of a gate that runs commands: runs, counts, layouts, causes */
#define MCP_ALLOWED_MAX 64

struct mcp {
    char folder[4096]; /* real path; all stores of the client are in it */
    bool one_store;    /* the folder is a store itself */
    const char *allowed[MCP_ALLOWED_MAX];
    unsigned n_allowed;
};

/* ---- message.c ---- */

enum mcp_line { MCP_LINE_END, MCP_LINE_READ, MCP_LINE_TOO_LONG };

struct mcp_reader;
struct mcp_reader *mcp_reader_open(int fd);
void mcp_reader_close(struct mcp_reader *reader);
/* The next line without its newline, until the next call. One that is too long is skipped to its end. */
enum mcp_line mcp_read_line(struct mcp_reader *reader, const char **line, size_t *n);

/* Codes of JSON-RPC and of the protocol. */
enum {
    MCP_NO_JSON = -32700,
    MCP_NO_REQUEST = -32600,
    MCP_NO_METHOD = -32601,
    MCP_WRONG_PARAMETERS = -32602,
    MCP_WRONG_VERSION = -32022,
};

/* An error's answer; `id` is copied, NULL is null. */
json_t *mcp_error(const json_t *id, int code, const char *sentence, json_t *about);
/* An answer; takes `result`. */
json_t *mcp_answer(const json_t *id, json_t *result);

/* ---- protocol.c ---- */

/* The answer to a line; NULL: there is none. */
json_t *mcp_handle(const struct mcp *mcp, const char *line, size_t n);

/* ---- tools.c ---- */

/* What a tool may do depends on the allowed programs. */
json_t *mcp_tools_list(const struct mcp *mcp);

/* ---- tool_call.c ---- */

/* The result of a call; NULL: there is no such tool. */
json_t *mcp_tools_call(const struct mcp *mcp, const char *name, const json_t *arguments);

/* ---- shorten.c ---- */

/* The report as text of at most MCP_OUTPUT_MAX bytes: first every table has at most `rows` rows, then fewer until it fits.
 * `left_out` gets a sentence, "" = nothing. NULL: it doesn't fit. The caller frees it. */
char *mcp_shorten(json_t *report, size_t rows, char *left_out, size_t size);

/* ---- run_self.c ---- */

struct mcp_run {
    char *out; /* what it printed; ends with a NUL. The caller frees it */
    size_t n;
    bool too_much, too_long; /* more than MCP_REPORT_MAX; longer than `seconds`: it was ended */
    int status;              /* exit code; 128 and the signal's number */
    char said[MCP_SAID_MAX]; /* on standard error, cut; of a recording with what the command printed */
};

/* argv[0] is a subcommand. `record`: the result comes by --json-to, which is added before the operands, and standard output is
 * the command's. */
int mcp_run_self(const struct mcp *mcp, char *const *argv, bool record, double seconds, struct mcp_run *run,
                 struct cs_error *err);

/* ---- store_folder.c ---- */

/* The folder's real path and what it is. It is made where it isn't there. */
int mcp_folder_open(struct mcp *mcp, const char *path, struct cs_error *err);
/* The path of a client's store, or of the folder's own for NULL. `exists`: it must be there. */
int mcp_store_path(const struct mcp *mcp, const char *store, bool exists, char *path, size_t size,
                   struct cs_error *err);
