/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/delimited.h"
#include "store/text.h"

#include <stdlib.h>
#include <string.h>

/* Where text goes: one of the two. */
struct sink {
    FILE *stream;
    struct cs_bytes *bytes;
};

static void put(struct sink to, const char *text, size_t n)
{
    if (to.stream)
        (void)fwrite(text, 1, n, to.stream);
    else
        cs_bytes_put_raw(to.bytes, text, n);
}

static void csv_field(struct sink to, const char *text)
{
    if (!strpbrk(text, ",\"\r\n")) {
        put(to, text, strlen(text));
        return;
    }
    put(to, "\"", 1);
    for (size_t n; *text; text += n) {
        n = *text == '"' ? 1 : strcspn(text, "\"");
        if (*text == '"')
            put(to, "\"", 1);
        put(to, text, n);
    }
    put(to, "\"", 1);
}

static void json_string(struct sink to, const char *text)
{
    put(to, "\"", 1);
    for (size_t n, left = strlen(text); left; text += n, left -= n) {
        uint32_t c;
        char escape[8];
        n = cs_text_character(text, left, &c);
        if (n == 0) {
            n = 1;
            put(to, "\xef\xbf\xbd", 3);
        } else if (c == '"' || c == '\\') {
            put(to, "\\", 1);
            put(to, text, 1);
        } else if (cs_text_misleads(c)) { /* all in the basic plane: one escape each */
            put(to, escape, (size_t)snprintf(escape, sizeof escape, "\\u%04x", (unsigned)c));
        } else {
            put(to, text, n);
        }
    }
    put(to, "\"", 1);
}

void cs_csv_field(FILE *to, const char *text)
{
    csv_field((struct sink){.stream = to}, text);
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

void cs_json_string(FILE *to, const char *text)
{
    json_string((struct sink){.stream = to}, text);
}

void cs_bytes_put_csv_field(struct cs_bytes *to, const char *text)
{
    csv_field((struct sink){.bytes = to}, text);
}

void cs_bytes_put_json_string(struct cs_bytes *to, const char *text)
{
    json_string((struct sink){.bytes = to}, text);
}
