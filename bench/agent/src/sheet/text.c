// SPDX-License-Identifier: GPL-2.0-or-later
// The text of cells as the user sees them.
#include "sheet.h"
#include <math.h>
#include <stdio.h>

static void format_value(const Cell *cell, char *text)
{
    if (cell->kind == KIND_EMPTY)
        text[0] = '\0';
    else if (fabs(cell->value) >= 1e12)
        snprintf(text, TEXT_SIZE, "%.6e", cell->value);
    else
        snprintf(text, TEXT_SIZE, "%.2f", cell->value);
}

const char *text_of(Sheet *sheet, int row, int col)
{
    int32_t index = cell_index(row, col);
    Cell *cell = &sheet->cells[index];
    if (cell->flags & FLAG_STALE) {
        format_value(cell, sheet->texts[index]);
        cell->flags &= (uint8_t)~FLAG_STALE;
    }
    return sheet->texts[index];
}

uint64_t text_page(Sheet *sheet, int row, int col, int height, int width, uint64_t hash)
{
    for (int y = row; y < row + height && y < ROWS; y++) {
        for (int x = col; x < col + width && x < COLS; x++)
            for (const char *text = text_of(sheet, y, x); *text; text++)
                hash = (hash ^ (unsigned char)*text) * 1099511628211u;
        hash = (hash ^ '\n') * 1099511628211u;
    }
    return hash;
}
