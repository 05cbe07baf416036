// SPDX-License-Identifier: GPL-2.0-or-later
// Fills a sheet of orders, edits it in batches as an import does, and shows pages of it between them.
#include "sheet.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 8, BLOCKS = 18, SUMMARY = BLOCK * BLOCKS, EDITS = 240 };

static uint64_t state = 88172645463325252u;

static uint32_t draw(uint32_t limit)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)((state >> 20) % limit);
}

static const char *column_name(int col)
{
    static char names[4][4];
    static int turn;
    char *name = names[turn++ & 3];
    if (col < 26)
        snprintf(name, 4, "%c", (char)('A' + col));
    else
        snprintf(name, 4, "%c%c", (char)('A' + col / 26 - 1), (char)('A' + col % 26));
    return name;
}

static void set(Sheet *sheet, int row, int col, const char *text)
{
    if (!sheet_set_formula(sheet, row, col, text)) {
        fprintf(stderr, "orders: bad formula %s\n", text);
        exit(1);
    }
}

// Quantity, price and rate are given; net, tax, gross and two marks follow from them.
static void fill_block(Sheet *sheet, int block)
{
    char text[128];
    int col = block * BLOCK;
    for (int row = 0; row < ROWS; row++) {
        int line = row + 1;
        sheet_set_number(sheet, row, col, 1 + draw(40));
        sheet_set_number(sheet, row, col + 1, (double)draw(100000) / 100);
        sheet_set_number(sheet, row, col + 2, 5 + draw(20));
        snprintf(text, sizeof text, "=ROUND(%s%d*%s%d)", column_name(col), line, column_name(col + 1), line);
        set(sheet, row, col + 3, text);
        snprintf(text, sizeof text, "=ROUND(%s%d*%s%d/100)", column_name(col + 3), line, column_name(col + 2),
                 line);
        set(sheet, row, col + 4, text);
        snprintf(text, sizeof text, "=%s%d+%s%d", column_name(col + 3), line, column_name(col + 4), line);
        set(sheet, row, col + 5, text);
        snprintf(text, sizeof text, "=IF(%s%d>5000,%s%d-5000,0)", column_name(col + 5), line,
                 column_name(col + 5), line);
        set(sheet, row, col + 6, text);
    }
}

// For each block and each half of its rows: sum, mean and maximum of net, tax and gross, and how many are large.
static void fill_summary(Sheet *sheet)
{
    static const char *const formulas[] = {"=SUM(%s%d:%s%d)", "=AVERAGE(%s%d:%s%d)", "=MAX(%s%d:%s%d)",
                                           "=COUNTOVER(%s%d:%s%d,4000)"};
    char text[128];
    for (int block = 0; block < BLOCKS; block++)
        for (int part = 0; part < 2; part++) {
            const char *net = column_name(block * BLOCK + 3), *gross = column_name(block * BLOCK + 5);
            int row = block * 3 + part, first = part * (ROWS / 2) + 1, last = (part + 1) * (ROWS / 2);
            for (int i = 0; i < 4; i++) {
                snprintf(text, sizeof text, formulas[i], net, first, gross, last);
                set(sheet, row, SUMMARY + i, text);
            }
        }
    snprintf(text, sizeof text, "=SUM(%s1:%s%d)", column_name(SUMMARY), column_name(SUMMARY), BLOCKS * 3);
    set(sheet, ROWS - 1, SUMMARY, text);
}

static uint64_t import(Sheet *sheet, int batches, uint64_t hash)
{
    for (int batch = 0; batch < batches; batch++) {
        for (int i = 0; i < EDITS; i++) {
            int col = (int)draw(BLOCKS) * BLOCK, row = (int)draw(ROWS);
            if (draw(3) == 0)
                sheet_set_number(sheet, row, col, 1 + draw(40));
            else
                sheet_set_number(sheet, row, col + 1, (double)draw(100000) / 100);
        }
        calc_run(sheet);
        hash = text_page(sheet, (int)draw(ROWS - 40), (int)draw(BLOCKS) * BLOCK, 40, BLOCK, hash);
        hash = text_page(sheet, 0, SUMMARY, BLOCKS * 3, 4, hash);
    }
    return hash;
}

int main(int count, char **arguments)
{
    int rounds = count > 1 ? atoi(arguments[1]) : 1, batches = count > 2 ? atoi(arguments[2]) : 2500;
    uint64_t hash = 14695981039346656037u;
    for (int round = 0; round < rounds; round++) {
        static Sheet sheet;
        sheet_open(&sheet);
        for (int block = 0; block < BLOCKS; block++)
            fill_block(&sheet, block);
        fill_summary(&sheet);
        calc_run(&sheet);
        hash = import(&sheet, batches, hash);
        printf("%" PRIu64 " evaluations, total %s\n", sheet.evaluations, text_of(&sheet, ROWS - 1, SUMMARY));
        sheet_close(&sheet);
    }
    printf("%016" PRIx64 "\n", hash);
    return 0;
}
