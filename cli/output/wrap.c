/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Greedy line breaking: a word goes on the line if it fits. */
#include "cli/output/wrap.h"
#include "cli/output/memory.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of a colour at p, 0 when there is none. */
static size_t colour_at(const char *p)
{
    if (p[0] != '\033' || p[1] != '[')
        return 0;
    size_t n = 2 + strspn(p + 2, "0123456789;");
    return p[n] == 'm' ? n + 1 : 0;
}

static unsigned width_of(const char *text, size_t bytes)
{
    unsigned n = 0;
    for (const char *p = text; p < text + bytes;) {
        size_t colour = colour_at(p);
        if (colour)
            p += colour;
        else
            n += (*p++ & 0xc0) != 0x80;
    }
    return n;
}

unsigned text_width(const char *text)
{
    return width_of(text, strlen(text));
}

size_t text_wrap(FILE *to, const char *text, unsigned width, unsigned from, unsigned indent)
{
    size_t lines = 1, blanks = 0;
    unsigned at = from;
    if (!width || from + text_width(text) <= width) {
        fputs(text, to);
        return 1;
    }
    while (*text) {
        blanks = strspn(text, " ");
        text += blanks;
        size_t word = strcspn(text, " ");
        if (!word)
            break;
        unsigned wide = width_of(text, word);
        if (at > (lines == 1 ? from : indent) && at + blanks + wide > width) {
            fprintf(to, "\n%*s", (int)indent, "");
            lines++;
            at = indent;
            blanks = 0;
        }
        fprintf(to, "%*s%.*s", (int)blanks, "", (int)word, text);
        at += (unsigned)blanks + wide;
        text += word;
    }
    return lines;
}

void text_flow(FILE *to, const char *text, unsigned width)
{
    char *joined = need(malloc(strlen(text) + 2));
    size_t used = 0;
    for (;;) {
        size_t n = strcspn(text, "\n");
        bool stands = n == 0 || text[0] == ' ';
        if (used && (stands || !*text)) {
            joined[used] = 0;
            text_wrap(to, joined, width, 0, 0);
            fputc('\n', to);
            used = 0;
        }
        if (!*text)
            break;
        if (stands) {
            char *line = need(strndup(text, n));
            /* "  NAME   what it is": what doesn't fit goes below what it is */
            size_t left = strspn(line, " "), name = left + strcspn(line + left, " "),
                   gap = strspn(line + name, " ");
            text_wrap(to, line, width, 0, (unsigned)(gap > 1 ? name + gap : left));
            fputc('\n', to);
            free(line);
        } else {
            if (used)
                joined[used++] = ' ';
            memcpy(joined + used, text, n);
            used += n;
        }
        text += n + (text[n] == '\n');
    }
    free(joined);
}
