// SPDX-License-Identifier: GPL-2.0-or-later
// A small spreadsheet: cells with numbers and formulas, recalculated when their precedents change.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ROWS = 2048, COLS = 160, CELLS = ROWS * COLS, TEXT_SIZE = 32 };

typedef enum { KIND_EMPTY, KIND_NUMBER, KIND_FORMULA, KIND_ERROR } Kind;

enum { FLAG_QUEUED = 1, FLAG_STALE = 2 };

typedef struct {
    double value;
    int32_t formula; // index in the sheet's formulas, -1: none
    int16_t level;   // greater than the levels of all precedents
    uint8_t kind;
    uint8_t flags;
} Cell;

typedef enum {
    OP_NUMBER,
    OP_CELL,
    OP_ADD,
    OP_SUB,
    OP_MUL,
    OP_DIV,
    OP_NEG,
    OP_LESS,
    OP_GREATER,
    OP_IF,
    OP_ROUND,
    OP_SUM,
    OP_AVERAGE,
    OP_MAX,
    OP_COUNT_OVER
} Operation;

typedef struct {
    int row, col, last_row, last_col;
} Range;

// One step of a formula in postfix order.
typedef struct {
    Operation op;
    double number;
    Range range;
} Step;

typedef struct {
    Step *steps;
    int count;
    int32_t cell;
} Formula;

typedef struct Dependent {
    int32_t cell;
    int first_row, last_row;
    struct Dependent *next;
} Dependent;

// Cells that wait for their evaluation, one list for each level.
typedef struct {
    int32_t *heads; // by level
    int32_t *next;  // by cell
    int lowest, highest;
} Queue;

typedef struct {
    Cell *cells;
    char (*texts)[TEXT_SIZE];
    Dependent **dependents;   // by cell: who names it
    Dependent *columns[COLS]; // by column: whose ranges go through it
    Formula *formulas;
    int formula_count, formula_room;
    Queue queue;
    uint64_t evaluations;
} Sheet;

// grid.c: the cells and who depends on whom
void sheet_open(Sheet *sheet);
void sheet_close(Sheet *sheet);
bool sheet_set_formula(Sheet *sheet, int row, int col, const char *text);
void sheet_set_number(Sheet *sheet, int row, int col, double value);

static inline int32_t cell_index(int row, int col)
{
    return col * ROWS + row;
}

static inline int cell_row(int32_t index)
{
    return index % ROWS;
}

static inline int cell_col(int32_t index)
{
    return index / ROWS;
}

static inline Cell *cell_at(const Sheet *sheet, int row, int col)
{
    return &sheet->cells[cell_index(row, col)];
}

// formula.c: text to steps
bool formula_parse(const char *text, Formula *formula);

// calc.c: evaluation
void queue_open(Queue *queue);
void queue_close(Queue *queue);
void calc_touch(Sheet *sheet, int32_t cell);
void calc_run(Sheet *sheet);
void calc_store(Sheet *sheet, int32_t cell, double value);
double calc_evaluate(const Sheet *sheet, const Formula *formula);

// text.c: what the user sees
const char *text_of(Sheet *sheet, int row, int col);
uint64_t text_page(Sheet *sheet, int row, int col, int height, int width, uint64_t hash);
