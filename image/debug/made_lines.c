/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two binary searches in the rows as they lie in the file; in a damaged one they find something else, within its bounds. */
#include "image/debug/made_lines.h"

#include "store/base/bisect.h"
#include "store/base/kept_lines.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

#define METHOD_BITS 24 /* FORMAT.md: a method's offset ends in so many zeros */

struct rows {
    const uint8_t *at;
    size_t n;
    const char *texts;
    size_t n_texts;
};

static bool find_rows(const struct elf_file *made, struct rows *rows)
{
    const struct elf_section *lines = elf_file_section(made, CS_KEPT_LINES);
    const struct elf_section *files = elf_file_section(made, CS_KEPT_FILES);
    size_t bytes = 0;
    rows->at = lines ? elf_file_contents(made, lines, &bytes) : NULL;
    rows->n = bytes / sizeof(struct cs_kept_line);
    rows->texts = files ? (const char *)elf_file_contents(made, files, &rows->n_texts) : NULL;
    return rows->at && rows->texts && rows->n_texts && !rows->texts[rows->n_texts - 1];
}

static struct cs_kept_line nth(const struct rows *rows, size_t i)
{
    struct cs_kept_line row;
    memcpy(&row, rows->at + i * sizeof row, sizeof row);
    return row;
}

/* How many begin before `offset`. */
static size_t before(const struct rows *rows, uint64_t offset)
{
    return cs_bisect(rows->n, i, nth(rows, i).offset < offset);
}

static const char *text(const struct rows *rows, uint32_t at)
{
    return at < rows->n_texts ? rows->texts + at : "";
}

const char *made_line_at(const struct elf_file *made, uint64_t offset, struct cs_image_frame *frame)
{
    struct rows rows = {.n_texts = 0};
    const uint64_t method = offset >> METHOD_BITS << METHOD_BITS;
    if (!find_rows(made, &rows))
        return NULL;
    const size_t first = before(&rows, method), behind = before(&rows, offset + 1);
    if (behind <= first)
        return NULL;
    const struct cs_kept_line row = nth(&rows, behind - 1);
    if (row.line == 0 || !*text(&rows, row.file))
        return NULL;
    *frame = (struct cs_image_frame){
        .function = "", .file = text(&rows, row.file), .line = row.line, .column = row.column};
    assert(behind > first);
    return text(&rows, nth(&rows, first).file);
}
