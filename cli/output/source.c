/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/output/source.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SOURCE_BYTES_MOST (64u << 20)

static FILE *find(const char *path, const char *root)
{
    FILE *f = fopen(path, "r");
    for (const char *tail = path; !f && (tail = strchr(tail, '/')) != NULL;) {
        tail++; /* ever shorter: a/b/c.c, b/c.c, c.c */
        char full[PATH_MAX];
        snprintf(full, sizeof full, "%s/%s", root ? root : ".", tail);
        f = fopen(full, "r");
    }
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
    size_t room = 4096, n = 0, column = 0;
    char *text = malloc(room);
    for (int c; text && (c = getc(f)) != EOF && n < SOURCE_BYTES_MOST;) {
        if (n + 16 > room) {
            char *more = realloc(text, room *= 2);
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
                 strerror(errno));
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
    return line >= 1 && line <= s->n_lines ? s->line[line - 1] : "";
}
