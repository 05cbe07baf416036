/* SPDX-License-Identifier: MIT */
/* Defining signals and naming values: it writes under the lock and publishes with one release store. So a
 * reader, or a process killed half-way, never sees half an entry. */
#include "signals/runtime.h"

#include <errno.h>
#include <string.h>

static bool same(const struct cs_segment_signal *s, const char *name, unsigned kind)
{
    return s->kind == (kind & 0xffu) && s->is_address == (kind & CS_ADDRESS) / CS_ADDRESS &&
           strcmp(s->name, name) == 0;
}

static cs_signal place(struct cs_segment_header *h, cs_signal word, const char *name, unsigned kind)
{
    struct cs_segment_signal *table = cs_segment_signals(h);
    for (cs_signal i = 0; i < CS_WORD_SCRAP; i++)
        if (table[i].kind != CS_SIGNAL_NONE && strcmp(table[i].name, name) == 0)
            return same(&table[i], name, kind) && (word == CS_ANY_WORD || word == i) ? i : CS_WORD_SCRAP;
    if (word == CS_ANY_WORD)
        for (word = CS_WORD_ALLOCATIONS + 1; word < CS_WORD_SCRAP && table[word].kind != CS_SIGNAL_NONE;)
            word++;
    if (word >= CS_WORD_SCRAP || table[word].kind != CS_SIGNAL_NONE)
        return CS_WORD_SCRAP;
    strcpy(table[word].name, name);
    table[word].word = word;
    table[word].is_address = (kind & CS_ADDRESS) / CS_ADDRESS;
    __atomic_store_n(&table[word].kind, kind & 0xffu, __ATOMIC_RELEASE);
    h->n_signals++;
    return word;
}

cs_signal cs_define(cs_signal word, const char *name, unsigned kind)
{
    const unsigned plain = kind & 0xffu;
    if (!name || *name == '\0' || strlen(name) >= CS_SIGNAL_NAME_MAX ||
        (plain != CS_TAG && plain != CS_COUNTER) || (kind & ~(0xffu | CS_ADDRESS)) != 0 ||
        (plain == CS_COUNTER && (kind & CS_ADDRESS) != 0))
        return CS_WORD_SCRAP;
    cs_attach();
    if (!cs_segment)
        return CS_WORD_SCRAP;
    const bool taken = cs_segment_lock();
    const cs_signal signal = place(cs_segment, word, name, kind);
    cs_segment_unlock(taken);
    return signal;
}

/* At most `limit` bytes of `text`, cut between UTF-8 characters. */
static size_t cut(const char *text, size_t limit)
{
    size_t n = strnlen(text, limit + 1);
    if (n <= limit)
        return n;
    for (n = limit; n > 0 && ((unsigned char)text[n] & 0xc0u) == 0x80u;)
        n--;
    return n;
}

/* `code` NULL: there is none. */
static int add_name(cs_signal signal, uint64_t value, const char *name, const struct cs_segment_code *code)
{
    if (signal >= CS_WORD_SCRAP || !name || *name == '\0')
        return -EINVAL;
    const int rc = cs_open();
    struct cs_segment_header *h = cs_segment;
    if (rc != 0 || !h)
        return rc != 0 ? rc : -ENOMEM;
    cs_attach();
    const size_t length = cut(name, UINT16_MAX);
    const size_t bytes = CS_SEGMENT_NAME_BYTES(length) + (code ? sizeof *code : 0);
    const bool taken = cs_segment_lock();
    const bool fits = bytes <= h->names_size - h->names_used;
    if (fits) {
        struct cs_segment_name *entry = (struct cs_segment_name *)((char *)h + h->names_at + h->names_used);
        entry->bytes = (uint32_t)bytes;
        entry->signal = (uint16_t)signal;
        entry->length = (uint16_t)length;
        entry->value = value;
        memcpy(entry->text, name, length);
        entry->text[length] = '\0';
        if (code)
            memcpy((char *)entry + bytes - sizeof *code, code, sizeof *code);
        __atomic_store_n(&h->names_used, h->names_used + bytes, __ATOMIC_RELEASE);
    } else {
        h->names_lost++;
    }
    cs_segment_unlock(taken);
    return fits ? 0 : -ENOSPC;
}

int cs_name(cs_signal signal, uint64_t value, const char *name)
{
    return add_name(signal, value, name, NULL);
}

#define CODE_BYTES_MAX (16u << 20) /* what readers take for one piece of code */

int cs_name_code(cs_signal signal, uint64_t value, const char *name, const void *code, size_t bytes)
{
    const struct cs_segment_code where = {(uintptr_t)code, bytes};
    return code && bytes > 0 && bytes < CODE_BYTES_MAX ? add_name(signal, value, name, &where) : -EINVAL;
}
