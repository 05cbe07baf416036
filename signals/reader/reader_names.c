/* SPDX-License-Identifier: MIT */
/* Names of values: a walk over the heap that believes no length, and an index that grows with it. The heap is
 * append-only, so bytes below names_used that were read once are read once more never. */
#include "signals/reader/reader_open.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- text ---- */

/* Length of the well-formed UTF-8 sequence at p (RFC 3629), 0 if it isn't one; *code gets the character. */
static size_t sequence(const unsigned char *p, size_t left, uint32_t *code)
{
    const unsigned lead = p[0];
    const size_t n = lead < 0x80   ? 1
                     : lead < 0xc2 ? 0
                     : lead < 0xe0 ? 2
                     : lead < 0xf0 ? 3
                     : lead < 0xf5 ? 4
                                   : 0;
    if (n == 0 || n > left)
        return 0;
    uint32_t c = n == 1 ? lead : lead & (0x7fu >> n);
    for (size_t i = 1; i < n; i++) {
        if ((p[i] & 0xc0u) != 0x80u)
            return 0;
        c = c << 6 | (p[i] & 0x3fu);
    }
    if ((n == 3 && (c < 0x800 || (c >= 0xd800 && c < 0xe000))) || (n == 4 && (c < 0x10000 || c > 0x10ffff)))
        return 0;
    *code = c;
    return n;
}

/* Characters that could move a terminal's cursor or make a name read as another one. */
static bool misleads(uint32_t c)
{
    return c < 0x20 || (c >= 0x7f && c < 0xa0) || (c >= 0x200b && c <= 0x200f) ||
           (c >= 0x2028 && c <= 0x202e) || (c >= 0x2060 && c <= 0x206f) || c == 0xfeff;
}

void cs_reader_clean_text(char *out, size_t size, const char *text, size_t length)
{
    unsigned char copy[8];
    size_t used = 0;
    for (size_t i = 0; i < length && text[i] != '\0';) {
        const size_t left = length - i < 4 ? length - i : 4;
        memcpy(copy, text + i, left); /* one look: it may change meanwhile */
        uint32_t c;
        const size_t n = sequence(copy, left, &c);
        const bool bad = n == 0 || c == 0 || misleads(c);
        const size_t take = bad ? 1 : n;
        if (used + take >= size)
            break;
        if (bad)
            out[used] = '?';
        else
            memcpy(out + used, copy, n);
        used += take;
        i += n == 0 ? 1 : n;
    }
    out[used] = '\0';
}

/* ---- the heap ---- */

static uint64_t names_end(const struct cs_reader *reader)
{
    const struct cs_segment_header *h = (const void *)reader->base;
    const uint64_t used = __atomic_load_n(&h->names_used, __ATOMIC_ACQUIRE);
    return used < reader->at.names_size ? used : reader->at.names_size;
}

/* The record at `at`, its text cleaned into `text`; bytes to the next one, or 0 if it makes no sense. */
static uint64_t record(const struct cs_reader *reader, uint64_t at, uint64_t end,
                       struct cs_segment_name *head, char *text, size_t size)
{
    if (end - at < sizeof *head)
        return 0;
    const unsigned char *p = reader->base + reader->at.names_at + at;
    memcpy(head, p, sizeof *head);
    if (head->bytes % 8 != 0 || head->bytes > end - at || head->bytes < sizeof *head + head->length + 1u ||
        head->signal >= CS_SCRAP_WORD)
        return 0;
    cs_reader_clean_text(text, size, (const char *)p + sizeof *head, head->length);
    return head->bytes;
}

int cs_reader_names(struct cs_reader *reader,
                    int (*visit)(unsigned signal, uint64_t value, const char *name, void *arg), void *arg)
{
    const uint64_t end = names_end(reader);
    struct cs_segment_name head;
    for (uint64_t at = 0, bytes; at < end; at += bytes) {
        bytes = record(reader, at, end, &head, reader->shown, sizeof reader->shown);
        if (bytes == 0)
            return -EBADMSG;
        const int rc = visit(head.signal, head.value, reader->shown, arg);
        if (rc != 0)
            return rc;
    }
    return 0;
}

/* ---- the index ---- */

static size_t slot(const struct cs_reader *r, unsigned signal, uint64_t value)
{
    uint64_t h = (value ^ ((uint64_t)signal << 56)) * 0x9e3779b97f4a7c15ull;
    h ^= h >> 29;
    size_t i = (size_t)h & (r->n_index - 1);
    while (r->index[i].text != 0 && (r->index[i].signal != signal || r->index[i].value != value))
        i = (i + 1) & (r->n_index - 1);
    return i;
}

static bool grow_index(struct cs_reader *r)
{
    if (r->n_known * 2 < r->n_index)
        return true;
    struct cs_known_name *old = r->index;
    const size_t n_old = r->n_index;
    struct cs_known_name *fresh = calloc(n_old ? n_old * 2 : 256, sizeof *fresh);
    if (!fresh)
        return false;
    r->index = fresh;
    r->n_index = n_old ? n_old * 2 : 256;
    for (size_t i = 0; i < n_old; i++)
        if (old[i].text != 0)
            fresh[slot(r, old[i].signal, old[i].value)] = old[i];
    free(old);
    return true;
}

static bool know(struct cs_reader *r, unsigned signal, uint64_t value, const char *text)
{
    const size_t bytes = strlen(text) + 1;
    if (r->texts_size - r->texts_used < bytes) {
        const size_t size = r->texts_size * 2 + 65536;
        char *grown = size < UINT32_MAX ? realloc(r->texts, size) : NULL;
        if (!grown)
            return false;
        r->texts = grown;
        r->texts_size = size;
    }
    if (!grow_index(r))
        return false;
    memcpy(r->texts + r->texts_used, text, bytes);
    struct cs_known_name *k = &r->index[slot(r, signal, value)];
    r->n_known += k->text == 0;
    *k = (struct cs_known_name){value, signal, (uint32_t)r->texts_used + 1};
    r->texts_used += bytes;
    return true;
}

const char *cs_reader_name(struct cs_reader *reader, unsigned signal, uint64_t value)
{
    const uint64_t end = names_end(reader);
    struct cs_segment_name head;
    while (reader->names_read < end && !reader->names_damaged) {
        const uint64_t bytes =
            record(reader, reader->names_read, end, &head, reader->shown, sizeof reader->shown);
        reader->names_damaged = bytes == 0 || !know(reader, head.signal, head.value, reader->shown);
        reader->names_read += bytes;
    }
    if (reader->n_index == 0)
        return NULL;
    const struct cs_known_name *k = &reader->index[slot(reader, signal, value)];
    return k->text != 0 ? reader->texts + k->text - 1 : NULL;
}
