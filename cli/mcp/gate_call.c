/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gate compares two stores, or two builds in one store, or it runs two commands. A call has the arguments of one of these only. Runs are
 * recorded into a folder of their own within the server's, which goes with the call. */
#include "cli/mcp/tools.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RUNS ".gate-XXXXXX" /* no store has such a name */

bool mcp_gate_runs(const struct tool *tool, const json_t *given)
{
    return strcmp(tool->name, "gate") == 0 && json_object_get(given, "base_command") != NULL;
}

int mcp_gate_check(const json_t *given, struct cs_error *err)
{
    static const struct {
        const char *name, *with;
    } pairs[] = {{"base", "head"},
                 {"head", "base"},
                 {"base_command", "command"},
                 {"command", "base_command"},
                 {"store", "image"},
                 {"base_build", "image"},
                 {"head_build", "image"},
                 {"relink", "base_command"},
                 {"seconds", "base_command"}};
    const int forms = (json_object_get(given, "base") != NULL) + (json_object_get(given, "image") != NULL) +
                      (json_object_get(given, "base_command") != NULL);
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (json_object_get(given, pairs[i].name) && !json_object_get(given, pairs[i].with))
            return cs_fail(err, EINVAL, "\"%s\" needs \"%s\"", pairs[i].name, pairs[i].with);
    return forms == 1
               ? 0
               : cs_fail(err, EINVAL,
                         "give one of these: \"base\" and \"head\", or \"image\", or \"base_command\" and "
                         "\"command\"");
}

/* Each blank, quote and backslash behind a backslash, as gate's own splitting takes them. */
char *mcp_gate_text(const json_t *words)
{
    size_t room = 1, n = 0;
    for (size_t i = 0; i < json_array_size(words); i++)
        room += 2 * json_string_length(json_array_get(words, i)) + 3;
    char *text = malloc(room);
    for (size_t i = 0; text && i < json_array_size(words); i++) {
        const char *word = json_string_value(json_array_get(words, i));
        if (i)
            text[n++] = ' ';
        if (!*word) {
            text[n++] = '\'';
            text[n++] = '\'';
        }
        for (; *word; word++) {
            if (strchr(" \t\n'\"\\", *word))
                text[n++] = '\\';
            text[n++] = *word;
        }
    }
    if (text)
        text[n] = '\0';
    return text;
}

int mcp_gate_folder(const struct mcp *mcp, char *path, size_t size, struct cs_error *err)
{
    if (snprintf(path, size, "%s/" RUNS, mcp->folder) < (int)size && mkdtemp(path))
        return 0;
    const int failed = errno;
    *path = '\0';
    return cs_fail(err, failed, "no folder for the runs can be made: %s", strerror(failed));
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st;
    (void)type;
    (void)at;
    return remove(path);
}

void mcp_gate_remove(const char *path)
{
    if (*path)
        (void)nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}
