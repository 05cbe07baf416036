/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/text.h"

#include <stdlib.h>
#include <string.h>

size_t cs_text_character(const char *text, size_t left, uint32_t *character)
{
    static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000}; /* shorter forms are the only ones */
    const unsigned char *p = (const unsigned char *)text;
    if (left == 0)
        return 0;
    const size_t n = *p < 0x80                 ? 1
                     : *p >= 0xc2 && *p < 0xe0 ? 2
                     : (*p & 0xf0) == 0xe0     ? 3
                     : (*p & 0xf8) == 0xf0     ? 4
                                               : 0;
    if (n == 0 || n > left)
        return 0;
    uint32_t c = n == 1 ? *p : *p & (0x7fu >> n);
    for (size_t i = 1; i < n; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return 0;
        c = c << 6 | (p[i] & 0x3fu);
    }
    if (c < smallest[n] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
        return 0;
    if (character)
        *character = c;
    return n;
}

bool cs_text_misleads(uint32_t c)
{
    return c < 0x20 || (c >= 0x7f && c < 0xa0) || (c >= 0x200b && c <= 0x200f) ||
           (c >= 0x2028 && c <= 0x202e) || (c >= 0x2060 && c <= 0x206f) || c == 0xfeff;
}

bool cs_text_is_clean(const char *text)
{
    for (size_t n, left = strlen(text); left; text += n, left -= n) {
        uint32_t c;
        n = cs_text_character(text, left, &c);
        if (n == 0 || cs_text_misleads(c))
            return false;
    }
    return true;
}

size_t cs_text_clean(char *out, size_t size, const char *text, size_t length)
{
    size_t used = 0;
    for (size_t i = 0; i < length && text[i];) {
        uint32_t c;
        const size_t n = cs_text_character(text + i, length - i, &c);
        const bool bad = n == 0 || cs_text_misleads(c);
        const size_t take = bad ? 1 : n;
        if (used + take >= size)
            break;
        memcpy(out + used, bad ? "?" : text + i, take);
        used += take;
        i += n ? n : 1;
    }
    out[used] = '\0';
    return used;
}

char *cs_text_cleaned(const char *text)
{
    const size_t length = strlen(text);
    char *out = malloc(length + 1);
    if (out)
        cs_text_clean(out, length + 1, text, length);
    return out;
}

char *cs_text_valid(const char *text)
{
    const size_t length = strlen(text);
    char *out = length < SIZE_MAX / 3 ? malloc(3 * length + 1) : NULL;
    size_t used = 0;
    for (size_t i = 0; out && i < length;) {
        const size_t n = cs_text_character(text + i, length - i, NULL), take = n ? n : 3;
        memcpy(out + used, n ? text + i : "\xef\xbf\xbd", take);
        used += take;
        i += n ? n : 1;
    }
    if (out)
        out[used] = '\0';
    return out;
}
