/* SPDX-License-Identifier: GPL-2.0-or-later */
/* JSON is exact and valid for all names. Bytes that are no UTF-8 become U+FFFD. Characters that could act on a terminal
 * are written as escapes (\u009b), which parsers read as the same text. */
#include "cli/output/memory.h"
#include "cli/output/output.h"
#include "store/base/delimited.h"
#include "store/base/text.h"

#include <stdlib.h>

json_t *json_text(const char *text)
{
    char *valid = need(cs_text_valid(text));
    json_t *value = need(json_string(valid));
    free(valid);
    return value;
}

/* jansson gives whole characters: it cuts where it escapes. */
static int put(const char *text, size_t n, void *to)
{
    cs_json_harmless(to, text, n);
    return 0;
}

void json_print(const json_t *value, FILE *to, size_t flags)
{
    (void)json_dump_callback(value, put, to, flags);
}
