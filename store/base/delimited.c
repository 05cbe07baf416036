/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/base/delimited.h"
#include "store/base/text.h"

#include <assert.h>
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

/* Spreadsheets pass over blanks, and take full-width signs for plain ones. */
static bool is_formula(const char *text)
{
    static const uint32_t signs[] = {'=',    '+',    '-',    '@',    0xff1d, 0xff0b, 0xff0d,
                                     0xff20, 0x2212, 0xfe62, 0xfe63, 0xfe66, 0xfe6b},
                          blanks[] = {' ', 0xa0, 0x1680, 0x202f, 0x205f, 0x3000};
    const char *at = text;
    uint32_t c;
    for (size_t n; (n = cs_text_character(at, strlen(at), &c)) > 0 && *at; at += n) {
        if (cs_text_misleads(c))
            return false; /* a question mark comes first */
        bool blank = c >= 0x2000 && c <= 0x200a;
        for (unsigned i = 0; i < sizeof blanks / sizeof *blanks; i++)
            blank |= c == blanks[i];
        if (blank)
            continue;
        for (unsigned i = 0; i < sizeof signs / sizeof *signs; i++)
            if (c == signs[i])
                return !is_number(text);
        return false;
    }
    return false;
}

void cs_csv_name(FILE *to, const char *text)
{
    const bool formula = is_formula(text), quoted = strpbrk(text, ",\"");
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
    assert(text || n == 0);
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
