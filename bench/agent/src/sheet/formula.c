// SPDX-License-Identifier: GPL-2.0-or-later
// Parses formulas such as =IF(B4>10,B4*C4,SUM(B1:B4)) to steps in postfix order.
#include "sheet.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    const char *at;
    Formula *formula;
    int room;
    bool failed;
} Parser;

static Step *emit(Parser *parser, Operation op)
{
    Formula *formula = parser->formula;
    if (formula->count == parser->room) {
        parser->room = parser->room ? 2 * parser->room : 8;
        formula->steps = realloc(formula->steps, (size_t)parser->room * sizeof *formula->steps);
        if (!formula->steps)
            abort();
    }
    Step *step = &formula->steps[formula->count++];
    memset(step, 0, sizeof *step);
    step->op = op;
    return step;
}

static bool accept(Parser *parser, char wanted)
{
    while (*parser->at == ' ')
        parser->at++;
    if (*parser->at != wanted)
        return false;
    parser->at++;
    return true;
}

static void expect(Parser *parser, char wanted)
{
    if (!accept(parser, wanted))
        parser->failed = true;
}

// A name of a cell: letters for the column, then the row from 1.
static void parse_place(Parser *parser, int *row, int *col)
{
    int column = 0;
    while (isupper((unsigned char)*parser->at))
        column = column * 26 + (*parser->at++ - 'A' + 1);
    int line = 0;
    while (isdigit((unsigned char)*parser->at))
        line = line * 10 + (*parser->at++ - '0');
    if (column < 1 || column > COLS || line < 1 || line > ROWS) {
        parser->failed = true;
        column = line = 1;
    }
    *row = line - 1;
    *col = column - 1;
}

static void parse_expression(Parser *parser);

static void parse_range_call(Parser *parser, Operation op)
{
    Range range = {0};
    parse_place(parser, &range.row, &range.col);
    expect(parser, ':');
    parse_place(parser, &range.last_row, &range.last_col);
    if (op == OP_COUNT_OVER) {
        expect(parser, ',');
        parse_expression(parser);
    }
    emit(parser, op)->range = range;
    expect(parser, ')');
}

static void parse_plain_call(Parser *parser, Operation op, int arguments)
{
    for (int i = 0; i < arguments; i++) {
        if (i > 0)
            expect(parser, ',');
        parse_expression(parser);
    }
    emit(parser, op);
    expect(parser, ')');
}

static bool parse_call(Parser *parser)
{
    static const struct {
        const char *name;
        Operation op;
        int arguments; // 0: a range
    } functions[] = {{"IF(", OP_IF, 3},           {"ROUND(", OP_ROUND, 1}, {"SUM(", OP_SUM, 0},
                     {"AVERAGE(", OP_AVERAGE, 0}, {"MAX(", OP_MAX, 0},     {"COUNTOVER(", OP_COUNT_OVER, 0}};
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        size_t length = strlen(functions[i].name);
        if (strncmp(parser->at, functions[i].name, length) != 0)
            continue;
        parser->at += length;
        if (functions[i].arguments)
            parse_plain_call(parser, functions[i].op, functions[i].arguments);
        else
            parse_range_call(parser, functions[i].op);
        return true;
    }
    return false;
}

static void parse_factor(Parser *parser)
{
    if (accept(parser, '-')) {
        parse_factor(parser);
        emit(parser, OP_NEG);
    } else if (accept(parser, '(')) {
        parse_expression(parser);
        expect(parser, ')');
    } else if (isdigit((unsigned char)*parser->at)) {
        char *end;
        double number = strtod(parser->at, &end);
        parser->at = end;
        emit(parser, OP_NUMBER)->number = number;
    } else if (!parse_call(parser)) {
        Range range = {0};
        parse_place(parser, &range.row, &range.col);
        emit(parser, OP_CELL)->range = range;
    }
}

static void parse_term(Parser *parser)
{
    parse_factor(parser);
    for (;;) {
        Operation op = accept(parser, '*') ? OP_MUL : accept(parser, '/') ? OP_DIV : OP_NUMBER;
        if (op == OP_NUMBER)
            return;
        parse_factor(parser);
        emit(parser, op);
    }
}

static void parse_sum(Parser *parser)
{
    parse_term(parser);
    for (;;) {
        Operation op = accept(parser, '+') ? OP_ADD : accept(parser, '-') ? OP_SUB : OP_NUMBER;
        if (op == OP_NUMBER)
            return;
        parse_term(parser);
        emit(parser, op);
    }
}

static void parse_expression(Parser *parser)
{
    parse_sum(parser);
    Operation op = accept(parser, '<') ? OP_LESS : accept(parser, '>') ? OP_GREATER : OP_NUMBER;
    if (op == OP_NUMBER)
        return;
    parse_sum(parser);
    emit(parser, op);
}

bool formula_parse(const char *text, Formula *formula)
{
    Parser parser = {.at = text, .formula = formula};
    expect(&parser, '=');
    parse_expression(&parser);
    if (parser.failed || *parser.at) {
        free(formula->steps);
        formula->steps = NULL;
        return false;
    }
    return true;
}
