/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unquoted is only what no shell gives a meaning to: letters, digits and a few marks of names and paths. */
#include "cli/output/hint.h"
#include "cli/output/memory.h"
#include "store/base/text.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PLAIN "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:@,+-"

char *hint_word(const char *word)
{
    assert(word);
    if (*word == '-' || !cs_text_is_clean(word))
        return NULL;
    if (*word && !word[strspn(word, PLAIN)])
        return need(strdup(word));
    char *quoted = need(malloc(4 * strlen(word) + 3)), *to = quoted;
    *to++ = '\'';
    for (; *word; word++) {
        if (*word == '\'')
            to = stpcpy(to, "'\\''");
        else
            *to++ = *word;
    }
    strcpy(to, "'");
    return quoted;
}

char *hint_command(const char *subcommand, const char *operand, const char *option, const char *value)
{
    char *first = operand ? hint_word(operand) : NULL, *second = value ? hint_word(value) : NULL,
         *command = NULL;
    if ((first || !operand) && (second || !value) &&
        asprintf(&command, "cyclescope %s%s%s%s%s%s%s", subcommand, first ? " " : "", first ? first : "",
                 second ? " " : "", second ? option : "", second ? " " : "", second ? second : "") < 0)
        need(NULL);
    free(first);
    free(second);
    return command;
}
