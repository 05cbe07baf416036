/* SPDX-License-Identifier: GPL-2.0-or-later */
/* DWARF 5 section 6.2, DWARF 4 section 6.2. Every read is checked against the end of the unit. */
#include "image/debug/line_program.h"
#include "image/file/dwarf_reader.h"

#include <assert.h>
#include <dwarf.h>
#include <string.h>

#define FORMATS_MAX 8

static const char *text_at(const uint8_t *from, const uint8_t *end)
{
    return from < end && memchr(from, 0, (size_t)(end - from)) ? (const char *)from : NULL;
}

static const char *take_text(struct reader *r)
{
    const char *text = text_at(r->at, r->end);
    if (text)
        r->at += strlen(text) + 1;
    else
        r->bad = true;
    return text;
}

static const char *text_in(struct bytes_of section, uint64_t at)
{
    return at < section.n ? text_at(section.at + at, section.at + section.n) : NULL;
}

struct header {
    unsigned version, instruction_bytes, line_range, opcode_base;
    int line_base;
    const uint8_t *lengths; /* operands of standard opcodes, from opcode 1 */
    struct reader tables, program;
};

static bool read_header(struct reader all, struct header *h)
{
    uint64_t length = take(&all, 4);
    if (all.bad || length > (size_t)(all.end - all.at))
        return false;
    struct reader r = {all.at, all.at + length, false};
    h->version = (unsigned)take(&r, 2);
    if (h->version < 2 || h->version > 5)
        return false;
    if (h->version == 5)
        take(&r, 2); /* sizes of an address and of a segment */
    uint64_t rest = take(&r, 4);
    if (r.bad || rest > (size_t)(r.end - r.at))
        return false;
    h->program = (struct reader){r.at + rest, r.end, false};
    r.end = r.at + rest;
    h->instruction_bytes = (unsigned)take(&r, 1);
    if (h->version >= 4 &&
        take(&r, 1) != 1) /* several operations an instruction: not of the machines that we read */
        return false;
    take(&r, 1); /* is_stmt */
    h->line_base = (int)take(&r, 1);
    if (h->line_base > INT8_MAX)
        h->line_base -= 256;
    h->line_range = (unsigned)take(&r, 1);
    h->opcode_base = (unsigned)take(&r, 1);
    h->lengths = r.at;
    if (h->opcode_base == 0 || h->line_range == 0 || (size_t)(r.end - r.at) < h->opcode_base - 1)
        return false;
    r.at += h->opcode_base - 1;
    h->tables = r;
    return !r.bad;
}

/* ---- names: tables of folders and files ---- */

struct entry {
    const char *text;
    uint64_t folder;
};

/* One attribute of an entry; whatever it is, the reader moves past it. */
static void take_form(struct reader *r, const struct line_sections *s, uint64_t type, uint64_t form,
                      struct entry *out)
{
    const char *text = NULL;
    uint64_t number = 0;
    switch (form) {
    case DW_FORM_string:
        text = take_text(r);
        break;
    case DW_FORM_line_strp:
        text = text_in(s->line_str, take(r, 4));
        break;
    case DW_FORM_strp:
        text = text_in(s->str, take(r, 4));
        break;
    case DW_FORM_udata:
        number = take_uleb(r);
        break;
    case DW_FORM_data1:
        number = take(r, 1);
        break;
    case DW_FORM_data2:
        number = take(r, 2);
        break;
    case DW_FORM_data4:
        number = take(r, 4);
        break;
    case DW_FORM_data8:
        number = take(r, 8);
        break;
    case DW_FORM_data16:
        take(r, 16);
        break;
    default:
        r->bad = true;
    }
    if (type == DW_LNCT_path)
        out->text = text;
    else if (type == DW_LNCT_directory_index)
        out->folder = number;
}

/* Entry `wanted` of the table at `r`, which moves past the table. */
static struct entry take_table(struct reader *r, const struct line_sections *s, uint64_t wanted)
{
    uint64_t types[FORMATS_MAX], forms[FORMATS_MAX];
    struct entry found = {NULL, 0};
    uint64_t n_formats = take(r, 1);
    r->bad |= n_formats > FORMATS_MAX;
    for (uint64_t i = 0; i < n_formats && !r->bad; i++) {
        types[i] = take_uleb(r);
        forms[i] = take_uleb(r);
    }
    uint64_t n = r->bad || n_formats == 0 ? 0 : take_uleb(r);
    for (uint64_t i = 0; i < n && !r->bad; i++) {
        struct entry one = {NULL, 0};
        for (uint64_t k = 0; k < n_formats && !r->bad; k++)
            take_form(r, s, types[k], forms[k], &one);
        if (i == wanted)
            found = one;
    }
    return found;
}

/* The same before DWARF 5: numbered from 1, ended by an empty text. */
static struct entry take_old_table(struct reader *r, uint64_t wanted, bool files)
{
    struct entry found = {NULL, 0};
    for (uint64_t i = 1;; i++) {
        struct entry one = {take_text(r), 0};
        if (r->bad || !*one.text)
            return found;
        if (files) {
            one.folder = take_uleb(r);
            take_uleb(r);
            take_uleb(r);
        }
        if (i == wanted)
            found = one;
    }
}

static bool name_file(const struct header *h, const struct line_sections *s, uint64_t number,
                      struct line_row *row)
{
    struct reader r = h->tables, again = h->tables;
    bool five = h->version == 5;
    if (five)
        take_table(&r, s, 0);
    else
        take_old_table(&r, 0, false);
    struct entry file = five ? take_table(&r, s, number) : take_old_table(&r, number, true);
    struct entry folder =
        five ? take_table(&again, s, file.folder) : take_old_table(&again, file.folder, false);
    row->file = file.text;
    row->folder = folder.text ? folder.text : "";
    return !r.bad && !again.bad && file.text;
}

/* ---- the program ---- */

struct state {
    uint64_t address, file;
    int64_t line;
    uint64_t column, discriminator;
    bool set; /* a row of this sequence was made */
};

static void extended(struct reader *r, struct state *now, bool *ends)
{
    uint64_t length = take_uleb(r);
    if (r->bad || length == 0 || length > (size_t)(r->end - r->at)) {
        r->bad = true;
        return;
    }
    struct reader body = {r->at + 1, r->at + length, false};
    uint8_t opcode = *r->at;
    r->at += length;
    *ends = opcode == DW_LNE_end_sequence;
    if (opcode == DW_LNE_set_address)
        now->address = take(&body, length - 1 < 8 ? (unsigned)(length - 1) : 8);
    else if (opcode == DW_LNE_set_discriminator)
        now->discriminator = take_uleb(&body);
    r->bad |= opcode == DW_LNE_define_file || body.bad;
}

/* Everything but rows; true when the opcode makes one. */
static bool standard(struct reader *r, const struct header *h, uint8_t opcode, struct state *now)
{
    switch (opcode) {
    case DW_LNS_copy:
        return true;
    case DW_LNS_advance_pc:
        now->address += take_uleb(r) * h->instruction_bytes;
        break;
    case DW_LNS_advance_line:
        now->line += take_sleb(r);
        break;
    case DW_LNS_set_file:
        now->file = take_uleb(r);
        break;
    case DW_LNS_set_column:
        now->column = take_uleb(r);
        break;
    case DW_LNS_const_add_pc:
        now->address += (uint64_t)((255 - h->opcode_base) / h->line_range) * h->instruction_bytes;
        break;
    case DW_LNS_fixed_advance_pc:
        now->address += take(r, 2);
        break;
    default:
        for (unsigned i = 0; i < h->lengths[opcode - 1] && !r->bad; i++)
            take_uleb(r);
    }
    return false;
}

/* The last row at or before `address` of the sequence that goes on beyond it. */
static bool run(const struct header *h, uint64_t address, struct state *found)
{
    const struct state start = {.file = 1, .line = 1};
    struct state now = start, before = {.set = false};
    struct reader r = h->program;
    while (r.at < r.end && !r.bad) {
        uint8_t opcode = *r.at++;
        bool row = false, ends = false;
        if (opcode >= h->opcode_base) {
            unsigned special = opcode - h->opcode_base;
            now.address += (uint64_t)(special / h->line_range) * h->instruction_bytes;
            now.line += h->line_base + (int)(special % h->line_range);
            row = true;
        } else if (opcode == 0)
            extended(&r, &now, &ends);
        else
            row = standard(&r, h, opcode, &now);
        if (!row && !ends)
            continue;
        if (before.set && before.address <= address && now.address > address) {
            *found = before;
            return !r.bad;
        }
        before = now;
        before.set = !ends;
        now.discriminator = 0;
        if (ends)
            now = start;
    }
    return false;
}

bool line_program_find(const struct line_sections *s, uint64_t at, uint64_t address, struct line_row *row)
{
    assert(s->line.at || s->line.n == 0);
    struct header h;
    struct state found;
    if (at >= s->line.n ||
        !read_header((struct reader){s->line.at + at, s->line.at + s->line.n, false}, &h) ||
        !run(&h, address, &found) || found.line <= 0 || found.line > INT32_MAX || found.column > INT32_MAX ||
        !name_file(&h, s, found.file, row))
        return false;
    row->line = (unsigned)found.line;
    row->column = (unsigned)found.column;
    row->discriminator = (unsigned)found.discriminator;
    return true;
}
