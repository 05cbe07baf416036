/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/gate/builds/git.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void git_lines_init(struct git_lines *l, size_t most)
{
    *l = (struct git_lines){.most = most < GIT_LINES_MAX ? most : GIT_LINES_MAX};
}

static int end_line(struct git_lines *l)
{
    char **more = reallocarray(l->line, l->n + 1, sizeof *more);
    if (!more)
        return -ENOMEM;
    l->line = more;
    char *line = strndup(l->part ? l->part : "", l->n_part);
    if (!line)
        return -ENOMEM;
    l->line[l->n++] = line;
    l->n_part = 0;
    return 0;
}

/* The rest of the answer is looked at too, so that git ends as it wants to. */
int git_lines_feed(struct git_lines *l, const char *bytes, size_t n)
{
    int rc = 0;
    if (!l->part && !(l->part = malloc(GIT_LINE_MAX)))
        return -ENOMEM;
    if (n == 0)
        return l->n_part && l->n < l->most ? end_line(l) : 0;
    l->seen += n;
    while (rc == 0 && n && l->n < l->most) {
        const char *newline = memchr(bytes, '\n', n);
        const size_t length = newline ? (size_t)(newline - bytes) : n, room = GIT_LINE_MAX - l->n_part;
        memcpy(l->part + l->n_part, bytes, length < room ? length : room);
        l->n_part += length < room ? length : room;
        rc = newline ? end_line(l) : 0;
        bytes += length + (newline != NULL);
        n -= length + (newline != NULL);
    }
    return rc < 0 ? rc : l->seen <= GIT_ANSWER_MAX;
}

void git_lines_fini(struct git_lines *l)
{
    for (size_t i = 0; i < l->n; i++)
        free(l->line[i]);
    free(l->line);
    free(l->part);
    *l = (struct git_lines){.n = 0};
}

/* "refs/notes/commits:ab/cdef": the annotated object's name has slashes where there are many notes. */
bool git_note_commit(const char *line, char commit[GIT_COMMIT_MAX])
{
    const char *at = strrchr(line, ':');
    size_t n = 0;
    for (at = at ? at + 1 : ""; *at && n < GIT_COMMIT_MAX - 1; at++)
        if (*at != '/')
            commit[n++] = *at;
    commit[n] = '\0';
    return strspn(commit, "0123456789abcdef") == n && (n == 40 || n == 64);
}
