/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A method has few files, so that each is sought in the image's texts once. */
#include "sampler/dynamic/jit_lines.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Where the text lies; 0, that of "", where there is no room. */
static uint32_t text_in(struct cs_bytes *files, size_t most, const char *text)
{
    const size_t bytes = strlen(text) + 1;
    if (!files->used)
        cs_bytes_put_u8(files, 0);
    for (const uint8_t *at = files->start, *end = at + files->used; at < end;
         at += strlen((const char *)at) + 1)
        if ((size_t)(end - at) >= bytes && memcmp(at, text, bytes) == 0)
            return (uint32_t)(at - files->start);
    const size_t start = files->used;
    if (start + bytes > most)
        return 0;
    cs_bytes_put_raw(files, text, bytes);
    return files->failed ? 0 : (uint32_t)start;
}

bool cs_jit_lines_take(struct cs_jit_lines *of, const struct cs_kept_line *rows, size_t n)
{
    if (n == of->n && (n == 0 || memcmp(of->rows, rows, n * sizeof *rows) == 0))
        return false;
    struct cs_kept_line *copy = malloc(n * sizeof *rows);
    if (!copy)
        return false;
    memcpy(copy, rows, n * sizeof *rows);
    free(of->rows);
    *of = (struct cs_jit_lines){copy, n};
    return true;
}

bool cs_jit_lines_set(struct cs_jit_lines *of, uint64_t offset, const struct cs_jitdump_lines *lines,
                      size_t most, struct cs_bytes *files, size_t files_max)
{
    assert(lines && files);
    uint32_t kept[CS_JITDUMP_LINES_FILES];
    struct cs_kept_line *rows = lines->n && lines->n <= most ? malloc(lines->n * sizeof *rows) : NULL;
    if (!rows)
        return false;
    (void)text_in(files, files_max, "");
    for (unsigned i = 0; i < lines->n_files; i++)
        kept[i] = text_in(files, files_max, (const char *)lines->files.start + lines->starts[i]);
    for (size_t k = 0; k < lines->n; k++) {
        const struct cs_jitdump_line *row = &lines->rows[k];
        unsigned i = 0;
        while (i < lines->n_files && lines->starts[i] != row->file)
            i++;
        rows[k] = (struct cs_kept_line){offset + row->at, row->line, row->column,
                                        i < lines->n_files ? kept[i] : 0, 0};
    }
    const bool changed = cs_jit_lines_take(of, rows, lines->n);
    free(rows);
    return changed;
}

void cs_jit_lines_fini(struct cs_jit_lines *of)
{
    free(of->rows);
    *of = (struct cs_jit_lines){0};
}
