/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/base/text.h"

#include <assert.h>
#include <stdio.h>
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
    assert(size > 0);
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
    assert(used < size);
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

const char *cs_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

/* ---- the name that was meant ---- */

/* Damerau's distance in its simple form (no letter is touched twice), by dynamic programming over three rows. */
#define LETTERS_MAX 40

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

unsigned cs_word_distance(const char *a, const char *b)
{
    unsigned rows[3][LETTERS_MAX + 1];
    size_t n = strlen(a), m = strlen(b);
    if (n > LETTERS_MAX || m > LETTERS_MAX)
        return LETTERS_MAX;
    for (unsigned j = 0; j <= m; j++)
        rows[0][j] = j;
    for (unsigned i = 1; i <= n; i++) {
        unsigned *row = rows[i % 3], *above = rows[(i + 2) % 3], *before = rows[(i + 1) % 3];
        row[0] = i;
        for (unsigned j = 1; j <= m; j++) {
            row[j] = least(least(above[j] + 1, row[j - 1] + 1), above[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = least(row[j], before[j - 2] + 1);
        }
    }
    return rows[n % 3][m];
}

void cs_resembling_try_as(struct cs_resembling *r, const char *known, const char *typed)
{
    size_t n = strlen(r->word);
    unsigned distance = cs_word_distance(r->word, known);
    /* The beginning of a word counts as one letter off. */
    if (n >= 2 && strncmp(r->word, known, n) == 0)
        distance = least(distance, 1);
    if (distance <= (n > 4 ? 2u : 1u) && strlen(typed) < sizeof r->nearest &&
        (!*r->nearest || distance < r->distance)) {
        snprintf(r->nearest, sizeof r->nearest, "%s", typed);
        r->distance = distance;
    }
}

void cs_resembling_try(struct cs_resembling *r, const char *known)
{
    cs_resembling_try_as(r, known, known);
}

void cs_resembling_try_function(struct cs_resembling *r, const char *typed)
{
    char plain[LETTERS_MAX + 1];
    size_t end = strcspn(typed, ".(<"), begin = end;
    while (begin > 0 && typed[begin - 1] != ':')
        begin--;
    cs_resembling_try(r, typed);
    if (end - begin < sizeof plain && (begin > 0 || typed[end])) {
        snprintf(plain, sizeof plain, "%.*s", (int)(end - begin), typed + begin);
        cs_resembling_try_as(r, plain, typed);
    }
}

struct cs_did_you_mean cs_did_you_mean(const struct cs_resembling *r)
{
    struct cs_did_you_mean end = {""};
    if (*r->nearest)
        snprintf(end.text, sizeof end.text, "; did you mean %s?", r->nearest);
    return end;
}
