// SPDX-License-Identifier: GPL-2.0-or-later
// Evaluation, level by level: a cell is evaluated once, after all that it depends on.
#include "sheet.h"
#include <math.h>
#include <stdlib.h>

enum { STACK = 32, LEVELS = ROWS + 64 };

void queue_open(Queue *queue)
{
    queue->heads = malloc(LEVELS * sizeof *queue->heads);
    queue->next = malloc(CELLS * sizeof *queue->next);
    if (!queue->heads || !queue->next)
        abort();
    for (int level = 0; level < LEVELS; level++)
        queue->heads[level] = -1;
    queue->lowest = LEVELS;
    queue->highest = -1;
}

void queue_close(Queue *queue)
{
    free(queue->heads);
    free(queue->next);
}

// Puts a cell into the list of its level, unless it is there.
void calc_touch(Sheet *sheet, int32_t index)
{
    Cell *cell = &sheet->cells[index];
    Queue *queue = &sheet->queue;
    if (cell->flags & FLAG_QUEUED)
        return;
    cell->flags |= FLAG_QUEUED;
    queue->next[index] = queue->heads[cell->level];
    queue->heads[cell->level] = index;
    if (cell->level < queue->lowest)
        queue->lowest = cell->level;
    if (cell->level > queue->highest)
        queue->highest = cell->level;
}

void calc_run(Sheet *sheet)
{
    Queue *queue = &sheet->queue;
    for (int level = queue->lowest; level <= queue->highest; level++) {
        int32_t index = queue->heads[level];
        queue->heads[level] = -1;
        while (index >= 0) {
            Cell *cell = &sheet->cells[index];
            int32_t next = queue->next[index];
            cell->flags &= (uint8_t)~FLAG_QUEUED;
            double value = calc_evaluate(sheet, &sheet->formulas[cell->formula]);
            sheet->evaluations++;
            if (value != cell->value)
                calc_store(sheet, index, value);
            index = next;
        }
    }
    queue->lowest = LEVELS;
    queue->highest = -1;
}

static double range_sum(const Sheet *sheet, const Range *range, int *count)
{
    double sum = 0;
    *count = 0;
    for (int col = range->col; col <= range->last_col; col++)
        for (int row = range->row; row <= range->last_row; row++) {
            const Cell *cell = cell_at(sheet, row, col);
            if (cell->kind == KIND_EMPTY)
                continue;
            sum += cell->value;
            ++*count;
        }
    return sum;
}

static double range_max(const Sheet *sheet, const Range *range)
{
    double most = -HUGE_VAL;
    for (int col = range->col; col <= range->last_col; col++)
        for (int row = range->row; row <= range->last_row; row++)
            if (cell_at(sheet, row, col)->value > most)
                most = cell_at(sheet, row, col)->value;
    return most;
}

static int range_count_over(const Sheet *sheet, const Range *range, double limit)
{
    int count = 0;
    for (int col = range->col; col <= range->last_col; col++)
        for (int row = range->row; row <= range->last_row; row++)
            count += cell_at(sheet, row, col)->value > limit;
    return count;
}

double calc_evaluate(const Sheet *sheet, const Formula *formula)
{
    double stack[STACK];
    int top = -1, count;
    for (int i = 0; i < formula->count; i++) {
        const Step *step = &formula->steps[i];
        switch (step->op) {
        case OP_NUMBER:
            stack[++top] = step->number;
            break;
        case OP_CELL:
            stack[++top] = cell_at(sheet, step->range.row, step->range.col)->value;
            break;
        case OP_ADD:
            top--;
            stack[top] += stack[top + 1];
            break;
        case OP_SUB:
            top--;
            stack[top] -= stack[top + 1];
            break;
        case OP_MUL:
            top--;
            stack[top] *= stack[top + 1];
            break;
        case OP_DIV:
            top--;
            stack[top] = stack[top + 1] == 0 ? 0 : stack[top] / stack[top + 1];
            break;
        case OP_NEG:
            stack[top] = -stack[top];
            break;
        case OP_LESS:
            top--;
            stack[top] = stack[top] < stack[top + 1];
            break;
        case OP_GREATER:
            top--;
            stack[top] = stack[top] > stack[top + 1];
            break;
        case OP_IF:
            top -= 2;
            stack[top] = stack[top] != 0 ? stack[top + 1] : stack[top + 2];
            break;
        case OP_ROUND:
            stack[top] = floor(stack[top] * 100 + 0.5) / 100;
            break;
        case OP_SUM:
            stack[++top] = range_sum(sheet, &step->range, &count);
            break;
        case OP_AVERAGE:
            stack[++top] = range_sum(sheet, &step->range, &count);
            stack[top] = count ? stack[top] / count : 0;
            break;
        case OP_MAX:
            stack[++top] = range_max(sheet, &step->range);
            break;
        case OP_COUNT_OVER:
            stack[top] = range_count_over(sheet, &step->range, stack[top]);
            break;
        }
    }
    return stack[0];
}
