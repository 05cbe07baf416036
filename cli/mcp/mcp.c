/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/mcp/mcp.h"
#include "cli/output/memory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* False: the client doesn't read any more. */
static bool send_answer(json_t *answer)
{
    char *text = answer ? need(json_dumps(answer, JSON_COMPACT)) : NULL;
    const bool sent = !text || (printf("%s\n", text) >= 0 && fflush(stdout) == 0);
    free(text);
    json_decref(answer);
    return sent;
}

static void serve(const struct mcp *mcp)
{
    struct mcp_reader *reader = mcp_reader_open(STDIN_FILENO);
    const char *line;
    size_t n;
    enum mcp_line got;
    bool reads = true;
    while (reads && (got = mcp_read_line(reader, &line, &n)) != MCP_LINE_END)
        reads =
            send_answer(got == MCP_LINE_READ ? mcp_handle(mcp, line, n)
                                             : mcp_error(NULL, MCP_NO_REQUEST,
                                                         "a message has at most 1 MB: it was skipped", NULL));
    mcp_reader_close(reader);
}

static int run(const struct parsed *args)
{
    static struct mcp mcp;
    struct cs_error err = {0};
    const char *program;
    if (operand_count(args))
        return usage_error("%s: mcp takes no operand", operand(args, 0));
    for (; (program = option_nth(args, "allow", mcp.n_allowed)) != NULL; mcp.n_allowed++) {
        if (mcp.n_allowed == MCP_ALLOWED_MAX)
            return usage_error("at most %d programs can be allowed", MCP_ALLOWED_MAX);
        if (*program != '/')
            return usage_error("--allow %s: give the program's whole path, as clients will", program);
        if (access(program, X_OK) < 0)
            return failed_with("--allow %s: %s", program, strerror(errno));
        mcp.allowed[mcp.n_allowed] = program;
    }
    if (mcp_folder_open(&mcp, store_location(args), &err) < 0)
        return failed(&err);
    serve(&mcp);
    return CS_EXIT_OK;
}

static const struct option_entry options[] = {
    {"allow", 0, "PROGRAM",
     "a program that record and gate may run, by its whole path; may be repeated (default: none)"},
    OPTION_STORE,
    {NULL, 0, NULL, NULL},
};

const struct command command_mcp = {
    "mcp",
    "",
    "our reports as tools for an agent, by the Model Context Protocol",
    "Serves one client over standard input and output, one message a line. The tools are explain, prof, "
    "calc, waits, diff, gate and record. A client starts this server itself: put the command into the "
    "client's configuration.\n"
    "\n"
    "--store is one store, or a folder of stores. The client reads and writes stores in it, and nothing "
    "elsewhere. record and gate run only the programs of --allow, with any arguments, with your rights.",
    options,
    run,
};
