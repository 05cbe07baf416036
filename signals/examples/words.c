/* SPDX-License-Identifier: MIT */
/* Counts words of a file held in memory, again and again. It has two counters, "bytes" and "words", and a tag that
 * says which "part" of C source it is in. At its end it prints what it counted, by part.
 *
 *      words FILE [TIMES]
 */
#define CS_EXECUTABLE
#include "signals/cyclescope.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CODE = 1, COMMENT };

static char text[4 << 20];

static size_t words_of(const char *line, size_t n)
{
    size_t words = 0;
    for (size_t i = 0, inside = 0; i < n; i++) {
        int blank = line[i] == ' ' || line[i] == '\t';
        words += !blank && !inside;
        inside = !blank;
    }
    return words;
}

/* The part that the next line is in. */
static int part_after(int part, const char *line, size_t n)
{
    const char *mark = part == COMMENT ? "*/" : "/*";
    for (size_t i = 0; i + 1 < n; i++)
        if (line[i] == mark[0] && line[i + 1] == mark[1]) {
            part = part == COMMENT ? CODE : COMMENT;
            mark = part == COMMENT ? "*/" : "/*";
            i++;
        }
    return part;
}

int main(int argc, char **argv)
{
    cs_signal part_signal = cs_define(CS_ANY_WORD, "part", CS_TAG);
    cs_signal bytes = cs_define(CS_ANY_WORD, "bytes", CS_COUNTER);
    cs_signal words = cs_define(CS_ANY_WORD, "words", CS_COUNTER);
    cs_name(part_signal, CODE, "code");
    cs_name(part_signal, COMMENT, "comment");
    FILE *f = argc > 1 ? fopen(argv[1], "r") : NULL;
    if (!f)
        return fprintf(stderr, "usage: words FILE [TIMES]\n"), 2;
    size_t n = fread(text, 1, sizeof text, f), counted[COMMENT + 1][2] = {{0}};
    fclose(f);
    for (long times = argc > 2 ? atol(argv[2]) : 10000; times > 0; times--) {
        int part = CODE;
        for (const char *line = text; line < text + n;) {
            const char *end = memchr(line, '\n', (size_t)(text + n - line));
            size_t length = (size_t)((end ? end : text + n) - line);
            cs_set(part_signal, (uint64_t)part);
            size_t in_line = words_of(line, length);
            cs_add(bytes, length + 1);
            cs_add(words, in_line);
            counted[part][0] += length + 1;
            counted[part][1] += in_line;
            part = part_after(part, line, length);
            line += length + 1;
        }
    }
    for (int part = CODE; part <= COMMENT; part++)
        printf("%s: %zu bytes, %zu words\n", part == CODE ? "code" : "comment", counted[part][0],
               counted[part][1]);
    return 0;
}
