/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The whole file is read once and cut in place. */
#include "cli/output/source.h"
#include "store/base/regular_file.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SOURCE_BYTES_MAX (64u << 20)

static FILE *stream(int fd)
{
    FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
    if (fd >= 0 && !f)
        close(fd);
    if (fd < 0)
        errno = fd == -EINVAL ? ENOTSUP : -fd;
    return f;
}

/* The path comes from the profiled program's file, which may name any file of ours: what stands there is shown only where
 * everybody may read it, or where it lies beneath the folder we were told, or else the one we stand in, unless all files lie
 * beneath that. */
static FILE *find(const char *path, const char *root)
{
    bool everybody = cs_everybody_may_read(path);
    FILE *f = everybody ? stream(cs_open_regular(NULL, path, SOURCE_BYTES_MAX, NULL)) : NULL;
    int why = everybody ? errno : access(path, F_OK) == 0 ? EACCES : ENOENT;
    char here[PATH_MAX];
    if (!root && (!getcwd(here, sizeof here) || !strcmp(here, "/")))
        return errno = why, f;
    for (const char *tail = path; !f && (tail = strchr(tail, '/')) != NULL;) {
        tail++; /* ever shorter: a/b/c.c, b/c.c, c.c */
        f = stream(cs_open_regular(root ? root : ".", tail, SOURCE_BYTES_MAX, NULL));
    }
    if (!f)
        errno = why;
    return f;
}

/* Cuts the text into lines in place. */
static void cut(struct source *s)
{
    size_t n = 1;
    for (const char *p = s->text; *p; p++)
        n += *p == '\n';
    s->line = calloc(n, sizeof *s->line);
    if (!s->line)
        return;
    for (char *p = s->text; *p;) {
        s->line[s->n_lines++] = p;
        p += strcspn(p, "\n");
        if (*p)
            *p++ = '\0';
    }
}

/* Tabs are made blanks up to the next multiple of eight. */
static char *expand(FILE *f)
{
    size_t capacity = 4096, n = 0, column = 0;
    char *text = malloc(capacity);
    for (int c; text && (c = getc(f)) != EOF && n < SOURCE_BYTES_MAX;) {
        if (n + 16 > capacity) {
            char *more = realloc(text, capacity *= 2);
            if (!more) {
                free(text);
                return NULL;
            }
            text = more;
        }
        if (c == '\t') {
            do
                text[n++] = ' ';
            while (++column % 8);
        } else if (c != '\0' && c != '\r') {
            text[n++] = (char)c;
            column = c == '\n' ? 0 : column + 1;
        }
    }
    if (text)
        text[n] = '\0';
    return text;
}

void source_read(struct source *s, const char *path, const char *root)
{
    *s = (struct source){.n_lines = 0};
    FILE *f = find(path, root);
    if (!f) {
        snprintf(s->trouble, sizeof s->trouble, "The source %.150s can't be read: %s.", path,
                 errno == EACCES    ? "not everybody may read it; --source DIR names the folder that it is in"
                 : errno == ENOTSUP ? "it is no regular file"
                                    : strerror(errno));
        return;
    }
    s->text = expand(f);
    fclose(f);
    if (s->text)
        cut(s);
}

void source_fini(struct source *s)
{
    free(s->line);
    free(s->text);
    *s = (struct source){.n_lines = 0};
}

const char *source_line(const struct source *s, unsigned line)
{
    assert(s->n_lines == 0 || s->line);
    return line >= 1 && line <= s->n_lines ? s->line[line - 1] : "";
}
