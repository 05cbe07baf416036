/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One pass over the record; then addresses become offsets, rows are sorted, and of two at one address the later one stays. */
#include "sampler/dynamic/jitdump_lines.h"

#include "store/base/array.h"
#include "store/base/order.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define DEBUG_INFO 2
#define HEAD 32           /* id, size, time, address of the code, number of rows */
#define ROW 16            /* address, line, column; the name follows */
#define V8_TOO_HIGH 64    /* its addresses */
#define V8_OVERWRITTEN 16 /* of a freed name */
#define V8_NO_SCRIPT "<unknown>"
#define SEEK_MAX 4096 /* bytes of a name with NULs in it */

struct reader {
    const uint8_t *record;
    size_t n;
    uint64_t start, size; /* of the code */
    uint64_t rows;        /* as the record says */
    const char *method;
    bool v8;
    struct cs_jitdump_lines *lines;
};

static uint64_t number(const uint8_t *at, size_t bytes)
{
    uint64_t value = 0;
    memcpy(&value, at, bytes);
    return value;
}

static bool is_v8(const char *method)
{
    static const char *const prefixes[] = {"JS:", "LazyCompile:", "Function:", "Script:", "Eval:"};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (strncmp(method, prefixes[i], strlen(prefixes[i])) == 0)
            return true;
    return false;
}

/* "JS:^turns …": V8's compiler without optimisation has no places of its own, and V8 writes those of the bytecode, as if they were
 * the code's: all of the code would be in the function's last line. */
static bool has_bytecodes_places(const char *method)
{
    const char *colon = strchr(method, ':');
    return colon && colon[1] == '^';
}

/* ---- names ---- */

/* The script in a method's name, "JS:*turns /srv/a.js:4:15", if it has so many bytes; else NULL. */
static const char *script_in(const char *method, size_t length, size_t bytes)
{
    for (int numbers = 0; numbers < 2; numbers++) {
        size_t digits = 0;
        while (length > digits && method[length - 1 - digits] >= '0' && method[length - 1 - digits] <= '9')
            digits++;
        if (!digits || length <= digits || method[length - 1 - digits] != ':')
            return NULL;
        length -= digits + 1;
    }
    return length > bytes && method[length - bytes - 1] == ' ' ? method + length - bytes : NULL;
}

static bool has_rest_of(const char *script, const uint8_t *name, size_t bytes)
{
    return script && (bytes <= V8_OVERWRITTEN ||
                      memcmp(script + V8_OVERWRITTEN, name + V8_OVERWRITTEN, bytes - V8_OVERWRITTEN) == 0);
}

/* What a name was before it was freed; NULL: not known. */
static const char *before_it_was_freed(const struct reader *r, const uint8_t *name, size_t bytes)
{
    const char *own = script_in(r->method, strlen(r->method), bytes);
    return has_rest_of(own, name, bytes) ? own : NULL;
}

/* Where its text lies; 0, that of "", where there is no room. */
static uint32_t file_of(struct cs_jitdump_lines *lines, const char *name, size_t bytes)
{
    if (bytes > 8 && memcmp(name, "file:///", 8) == 0) /* a module of JavaScript */
        name += 7, bytes -= 7;
    if (bytes == 0 || bytes >= CS_JITDUMP_LINES_FILE_MAX)
        return 0;
    for (unsigned i = lines->n_files; i-- > 0;) {
        const char *text = (const char *)lines->files.start + lines->starts[i];
        if (strncmp(text, name, bytes) == 0 && text[bytes] == '\0')
            return lines->starts[i];
    }
    if (lines->n_files == CS_JITDUMP_LINES_FILES)
        return 0;
    const uint32_t start = (uint32_t)lines->files.used;
    cs_bytes_put_raw(&lines->files, name, bytes);
    cs_bytes_put_u8(&lines->files, 0);
    if (lines->files.failed)
        return 0;
    lines->starts[lines->n_files++] = start;
    return start;
}

/* ---- rows ---- */

/* Could a row begin here? */
static bool begins_row(const struct reader *r, size_t at)
{
    return r->n - at > ROW && number(r->record + at, 8) - r->start <= r->size + V8_TOO_HIGH &&
           number(r->record + at + 8, 4) < 1u << 24;
}

/* Where the name that begins at `at` ends, and whether it has NULs in it; 0: nowhere. */
static size_t end_of_name(const struct reader *r, size_t at, bool last, bool *broken)
{
    const uint8_t *first = memchr(r->record + at, '\0', r->n - at);
    *broken = false;
    if (!first)
        return 0;
    const size_t end = (size_t)(first - r->record);
    if (!r->v8 || (!last && begins_row(r, end + 1)))
        return end;
    const size_t most = at + SEEK_MAX < r->n ? at + SEEK_MAX : r->n;
    if (last) { /* up to 7 bytes of padding follow */
        size_t stop = r->n;
        while (stop > end && !r->record[stop - 1])
            stop--;
        *broken = stop > end && stop < r->n && stop <= most;
        return *broken ? stop : end;
    }
    for (size_t i = end + 1; i < most; i++)
        if (!r->record[i] && begins_row(r, i + 1)) {
            *broken = true;
            return i;
        }
    return end;
}

static void read_rows(struct reader *r)
{
    uint32_t file = 0;
    for (size_t at = HEAD; r->lines->n < CS_JITDUMP_LINES_MAX && r->lines->n < r->rows && r->n - at > ROW;) {
        const uint8_t *name = r->record + at + ROW;
        bool broken;
        const size_t end = end_of_name(r, at + ROW, r->lines->n + 1 == r->rows, &broken);
        if (!end || cs_array_room(r->lines->rows, r->lines->n, r->lines->capacity) < 0)
            return;
        const size_t bytes = end - (at + ROW);
        if (broken) {
            const char *was = before_it_was_freed(r, name, bytes);
            file = was ? file_of(r->lines, was, bytes) : 0;
        } else if (r->v8 && bytes == strlen(V8_NO_SCRIPT) && memcmp(name, V8_NO_SCRIPT, bytes) == 0) {
            file = 0;
        } else if (bytes != 1 || *name != 0xff) { /* else the one before */
            file = file_of(r->lines, (const char *)name, bytes);
        }
        const uint64_t offset = number(r->record + at, 8) - r->start;
        const uint32_t line = (uint32_t)number(r->record + at + 8, 4);
        const uint32_t column = (uint32_t)number(r->record + at + 12, 4);
        r->lines->rows[r->lines->n++] = (struct cs_jitdump_line){
            offset <= r->size + V8_TOO_HIGH ? (uint32_t)offset : UINT32_MAX, line <= INT32_MAX ? line : 0,
            column <= INT32_MAX ? column : 0, file, (uint32_t)r->lines->n};
        at = end + 1;
    }
}

CS_ORDER(by_place, struct cs_jitdump_line, cs_order(a->at, b->at), cs_order(a->order, b->order))

/* Those in the code, each place once. */
static void put_in_order(struct cs_jitdump_lines *lines, uint64_t size, uint32_t too_high)
{
    size_t n = 0;
    cs_sort(lines->rows, lines->n, by_place);
    for (size_t i = 0; i < lines->n; i++) {
        struct cs_jitdump_line row = lines->rows[i];
        if (row.at < too_high || row.at - too_high >= size)
            continue;
        row.at -= too_high;
        if (n && lines->rows[n - 1].at == row.at)
            n--;
        lines->rows[n++] = row;
    }
    lines->n = n;
}

bool cs_jitdump_lines_read(struct cs_jitdump_lines *lines, const uint8_t *record, size_t n,
                           const char *method, uint64_t size)
{
    assert(record || n == 0);
    if (n < HEAD || number(record, 4) != DEBUG_INFO || size >= UINT32_MAX - V8_TOO_HIGH ||
        (is_v8(method) && has_bytecodes_places(method)))
        return false;
    struct reader r = {.record = record,
                       .n = n,
                       .start = number(record + 16, 8),
                       .size = size,
                       .rows = number(record + 24, 8),
                       .method = method,
                       .v8 = is_v8(method),
                       .lines = lines};
    cs_bytes_put_u8(&lines->files, 0);
    read_rows(&r);
    if (lines->n == 0 || lines->files.failed)
        return false;
    bool high = r.v8;
    for (size_t i = 0; i < lines->n; i++)
        high &= lines->rows[i].at >= V8_TOO_HIGH;
    put_in_order(lines, size, high ? V8_TOO_HIGH : 0);
    return lines->n > 0;
}

void cs_jitdump_lines_fini(struct cs_jitdump_lines *lines)
{
    cs_bytes_fini(&lines->files);
    free(lines->rows);
    *lines = (struct cs_jitdump_lines){0};
}
