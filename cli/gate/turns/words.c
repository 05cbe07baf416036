/* SPDX-License-Identifier: GPL-2.0-or-later */
/* No shell is started: it would be in the profile of one side only. */
#include "cli/gate/turns/turns.h"

#include <stdlib.h>
#include <string.h>

char **gate_words(const char *text)
{
    const size_t length = strlen(text), most = length / 2 + 2; /* words, with the NULL */
    char **words = malloc(most * sizeof *words + length + most);
    if (!words)
        return NULL;
    char *to = (char *)(words + most), quote = '\0';
    size_t n = 0;
    bool within = false;
    for (const char *at = text; *at; at++) {
        const bool blank = strchr(" \t\n", *at) != NULL;
        if (!within && !blank) {
            words[n++] = to;
            within = true;
        }
        if (quote ? *at == quote : *at == '\'' || *at == '"')
            quote = quote ? '\0' : *at;
        else if (*at == '\\' && quote != '\'' && at[1])
            *to++ = *++at;
        else if (blank && !quote && within) {
            *to++ = '\0';
            within = false;
        } else if (!blank || quote)
            *to++ = *at;
    }
    *to = '\0';
    words[n] = NULL;
    if (n && !quote)
        return words;
    free(words);
    return NULL;
}
