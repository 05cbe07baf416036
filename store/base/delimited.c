/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/base/delimited.h"
#include "store/base/text.h"

#include <stdlib.h>
#include <string.h>

void cs_json_string(FILE *to, const char *text)
{
    fputc('"', to);
    for (size_t n, left = strlen(text); left; text += n, left -= n) {
        uint32_t c;
        n = cs_text_character(text, left, &c);
        if (n == 0) {
            n = 1;
            fputs("\xef\xbf\xbd", to);
        } else if (c == '"' || c == '\\') {
            fputc('\\', to);
            fputc(*text, to);
        } else if (cs_text_misleads(c)) { /* all in the basic plane: one escape each */
            fprintf(to, "\\u%04x", (unsigned)c);
        } else {
            (void)fwrite(text, 1, n, to);
        }
    }
    fputc('"', to);
}

static bool is_number(const char *text)
{
    char *end;
    strtod(text, &end);
    return *text && !*end && !strpbrk(text, "nNxX"); /* neither "-nan" and "+inf" nor "-0x1" */
}

void cs_csv_name(FILE *to, const char *text)
{
    const bool formula = *text && strchr("=+-@", *text) && !is_number(text), quoted = strpbrk(text, ",\"");
    fputs(quoted ? "\"" : "", to);
    fputs(formula ? "'" : "", to);
    for (size_t n, left = strlen(text); left; text += n, left -= n) {
        uint32_t c;
        n = cs_text_character(text, left, &c);
        if (n == 0 || cs_text_misleads(c))
            fputc('?', to);
        else
            (void)fwrite(text, 1, n, to);
        if (*text == '"')
            fputc('"', to);
        n = n ? n : 1;
    }
    fputs(quoted ? "\"" : "", to);
}

void cs_json_harmless(FILE *to, const char *text, size_t n)
{
    for (size_t from = 0, i = 0, take; i <= n; i += take) {
        uint32_t c = 0;
        const size_t length = cs_text_character(text + i, n - i, &c);
        take = length ? length : 1;
        const bool escaped = length && c >= 0x7f && cs_text_misleads(c);
        if (i == n || escaped) {
            (void)fwrite(text + from, 1, i - from, to);
            from = i + take;
        }
        if (escaped)
            fprintf(to, "\\u%04x", (unsigned)c);
    }
}
