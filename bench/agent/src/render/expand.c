// SPDX-License-Identifier: GPL-2.0-or-later
// Renders the tree of a template with the records of a scope.
#include "render.h"
#include <ctype.h>
#include <string.h>

enum { WORK = 1024 };

static const Value *find(const Scope *scope, int symbol)
{
    for (; scope; scope = scope->outer)
        for (int i = 0; i < scope->record->count; i++)
            if (scope->record->fields[i].symbol == symbol)
                return &scope->record->fields[i].value;
    return NULL;
}

static bool is_true(const Value *value)
{
    if (!value || value->kind == VALUE_NONE)
        return false;
    return value->kind == VALUE_NUMBER ? value->as.number != 0 : value->length > 0;
}

static size_t upper(const char *text, size_t length, char *work)
{
    if (length > WORK)
        length = WORK;
    for (size_t i = 0; i < length; i++)
        work[i] = text[i] >= 'a' && text[i] <= 'z' ? (char)(text[i] - 'a' + 'A') : text[i];
    return length;
}

static void write_text(const Node *node, const Value *value, Output *output)
{
    char work[WORK];
    const char *text = value->as.text;
    size_t length = value->length;
    bool raw = false;
    for (int i = 0; i < node->filter_count; i++)
        switch (node->filters[i]) {
        case FILTER_RAW:
            raw = true;
            break;
        case FILTER_UPPER:
            length = upper(text, length, work);
            text = work;
            break;
        case FILTER_TRIM:
            while (length > 0 && text[0] == ' ')
                text++, length--;
            while (length > 0 && text[length - 1] == ' ')
                length--;
            break;
        case FILTER_MONEY:
            break;
        }
    if (raw)
        output_text(output, text, length);
    else
        output_escaped(output, text, length);
}

static void write_number(const Node *node, int64_t number, Output *output)
{
    if (node->filter_count == 0 || node->filters[0] != FILTER_MONEY) {
        output_number(output, number);
        return;
    }
    output_number(output, number / 100);
    char cents[3] = {'.', (char)('0' + number / 10 % 10), (char)('0' + number % 10)};
    output_text(output, cents, sizeof cents);
}

static void expand_each(const Node *node, const Scope *scope, Output *output)
{
    const Value *list = find(scope, node->symbol);
    if (!list || list->kind != VALUE_LIST || list->length == 0) {
        template_expand(node->otherwise, scope, output);
        return;
    }
    for (uint32_t i = 0; i < list->length; i++) {
        Scope inner = {&list->as.list[i], scope, (int64_t)i + 1};
        template_expand(node->inner, &inner, output);
    }
}

void template_expand(const Node *node, const Scope *scope, Output *output)
{
    for (; node; node = node->next) {
        const Value *value;
        switch (node->kind) {
        case NODE_TEXT:
            output_text(output, node->text, node->length);
            break;
        case NODE_VALUE:
            value = find(scope, node->symbol);
            if (value && value->kind == VALUE_TEXT)
                write_text(node, value, output);
            else if (value && value->kind == VALUE_NUMBER)
                write_number(node, value->as.number, output);
            break;
        case NODE_EACH:
            expand_each(node, scope, output);
            break;
        case NODE_IF:
            template_expand(is_true(find(scope, node->symbol)) ? node->inner : node->otherwise, scope,
                            output);
            break;
        case NODE_INDEX:
            output_number(output, scope->index);
            break;
        }
    }
}
