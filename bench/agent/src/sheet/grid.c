// SPDX-License-Identifier: GPL-2.0-or-later
// The cells of a sheet and the lists of who depends on whom.
#include "sheet.h"
#include <stdlib.h>
#include <string.h>

static void *zeroed(size_t count, size_t size)
{
    void *memory = calloc(count, size);
    if (!memory)
        abort();
    return memory;
}

void sheet_open(Sheet *sheet)
{
    memset(sheet, 0, sizeof *sheet);
    sheet->cells = zeroed(CELLS, sizeof *sheet->cells);
    sheet->texts = zeroed(CELLS, sizeof *sheet->texts);
    sheet->dependents = zeroed(CELLS, sizeof(Dependent *));
    for (int32_t i = 0; i < CELLS; i++)
        sheet->cells[i].formula = -1;
    queue_open(&sheet->queue);
}

static void release_list(Dependent *list)
{
    while (list) {
        Dependent *next = list->next;
        free(list);
        list = next;
    }
}

void sheet_close(Sheet *sheet)
{
    for (int32_t i = 0; i < CELLS; i++)
        release_list(sheet->dependents[i]);
    for (int col = 0; col < COLS; col++)
        release_list(sheet->columns[col]);
    for (int i = 0; i < sheet->formula_count; i++)
        free(sheet->formulas[i].steps);
    free(sheet->formulas);
    free(sheet->dependents);
    free(sheet->texts);
    free(sheet->cells);
    queue_close(&sheet->queue);
}

static void add_dependent(Dependent **list, int32_t cell, int first_row, int last_row)
{
    Dependent *dependent = zeroed(1, sizeof *dependent);
    dependent->cell = cell;
    dependent->first_row = first_row;
    dependent->last_row = last_row;
    dependent->next = *list;
    *list = dependent;
}

static bool is_range(Operation op)
{
    return op == OP_SUM || op == OP_AVERAGE || op == OP_MAX || op == OP_COUNT_OVER;
}

// Notes the formula's cell with all that it names. Returns its level.
static int connect(Sheet *sheet, const Formula *formula)
{
    int level = 0;
    for (int i = 0; i < formula->count; i++) {
        const Step *step = &formula->steps[i];
        const Range *range = &step->range;
        if (step->op == OP_CELL) {
            int32_t named = cell_index(range->row, range->col);
            add_dependent(&sheet->dependents[named], formula->cell, range->row, range->row);
            if (sheet->cells[named].level > level)
                level = sheet->cells[named].level;
        } else if (is_range(step->op)) {
            for (int col = range->col; col <= range->last_col; col++) {
                add_dependent(&sheet->columns[col], formula->cell, range->row, range->last_row);
                for (int row = range->row; row <= range->last_row; row++)
                    if (cell_at(sheet, row, col)->level > level)
                        level = cell_at(sheet, row, col)->level;
            }
        }
    }
    return level + 1;
}

// A formula may name only cells that have got their own formulas before: no circles.
bool sheet_set_formula(Sheet *sheet, int row, int col, const char *text)
{
    Formula formula = {.cell = cell_index(row, col)};
    if (!formula_parse(text, &formula))
        return false;
    if (sheet->formula_count == sheet->formula_room) {
        sheet->formula_room = sheet->formula_room ? 2 * sheet->formula_room : 256;
        sheet->formulas = realloc(sheet->formulas, (size_t)sheet->formula_room * sizeof *sheet->formulas);
        if (!sheet->formulas)
            abort();
    }
    Cell *cell = cell_at(sheet, row, col);
    cell->kind = KIND_FORMULA;
    cell->formula = sheet->formula_count;
    cell->level = (int16_t)connect(sheet, &formula);
    sheet->formulas[sheet->formula_count++] = formula;
    calc_touch(sheet, formula.cell);
    return true;
}

static void touch_dependents(Sheet *sheet, int32_t index)
{
    int row = cell_row(index);
    for (const Dependent *d = sheet->dependents[index]; d; d = d->next)
        calc_touch(sheet, d->cell);
    for (const Dependent *d = sheet->columns[cell_col(index)]; d; d = d->next)
        if (row >= d->first_row && row <= d->last_row)
            calc_touch(sheet, d->cell);
}

void sheet_set_number(Sheet *sheet, int row, int col, double value)
{
    Cell *cell = cell_at(sheet, row, col);
    if (cell->kind == KIND_NUMBER && cell->value == value)
        return;
    cell->kind = KIND_NUMBER;
    calc_store(sheet, cell_index(row, col), value);
}

void calc_store(Sheet *sheet, int32_t index, double value)
{
    Cell *cell = &sheet->cells[index];
    cell->value = value;
    cell->flags |= FLAG_STALE;
    touch_dependents(sheet, index);
}
