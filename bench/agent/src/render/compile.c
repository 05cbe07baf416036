// SPDX-License-Identifier: GPL-2.0-or-later
// Compiles {{name}}, {{name|filter}}, {{#each name}}, {{#if name}}, {{else}}, {{/}} and {{@}} to a tree.
#include "render.h"
#include <stdlib.h>
#include <string.h>

typedef struct {
    Symbols *symbols;
    const char *at;
} Reader;

static Node *new_node(NodeKind kind)
{
    Node *node = calloc(1, sizeof *node);
    if (!node)
        abort();
    node->kind = kind;
    return node;
}

static Filter filter_named(const char *name, size_t length)
{
    static const struct {
        const char *name;
        Filter filter;
    } filters[] = {
        {"raw", FILTER_RAW}, {"upper", FILTER_UPPER}, {"trim", FILTER_TRIM}, {"money", FILTER_MONEY}};
    for (size_t i = 0; i < sizeof filters / sizeof filters[0]; i++)
        if (strlen(filters[i].name) == length && memcmp(filters[i].name, name, length) == 0)
            return filters[i].filter;
    return FILTER_RAW;
}

static Node *read_value(Reader *reader, const char *tag, size_t length)
{
    Node *node = new_node(NODE_VALUE);
    size_t name = 0;
    while (name < length && tag[name] != '|')
        name++;
    node->symbol = symbols_number(reader->symbols, tag, name);
    while (name < length && node->filter_count < FILTERS) {
        size_t first = ++name;
        while (name < length && tag[name] != '|')
            name++;
        node->filters[node->filter_count++] = filter_named(tag + first, name - first);
    }
    return node;
}

static Node *read_nodes(Reader *reader, bool *ends_with_else);

static Node *read_block(Reader *reader, NodeKind kind, const char *name, size_t length)
{
    Node *node = new_node(kind);
    bool ends_with_else;
    node->symbol = symbols_number(reader->symbols, name, length);
    node->inner = read_nodes(reader, &ends_with_else);
    if (ends_with_else)
        node->otherwise = read_nodes(reader, &ends_with_else);
    return node;
}

static bool begins(const char *tag, size_t length, const char *word)
{
    size_t wanted = strlen(word);
    return length >= wanted && memcmp(tag, word, wanted) == 0;
}

// Up to the end of the text, {{/}} or {{else}}.
static Node *read_nodes(Reader *reader, bool *ends_with_else)
{
    Node *first = NULL, **last = &first;
    *ends_with_else = false;
    while (*reader->at) {
        const char *open = strstr(reader->at, "{{"), *end = open ? strstr(open, "}}") : NULL;
        size_t length = end ? (size_t)(open - reader->at) : strlen(reader->at);
        if (length > 0) {
            Node *node = new_node(NODE_TEXT);
            node->text = reader->at;
            node->length = length;
            *last = node;
            last = &node->next;
        }
        if (!end) {
            reader->at += length;
            break;
        }
        const char *tag = open + 2;
        size_t tag_length = (size_t)(end - tag);
        reader->at = end + 2;
        if (tag_length == 1 && tag[0] == '/')
            break;
        if (tag_length == 4 && begins(tag, tag_length, "else")) {
            *ends_with_else = true;
            break;
        }
        if (begins(tag, tag_length, "#each "))
            *last = read_block(reader, NODE_EACH, tag + 6, tag_length - 6);
        else if (begins(tag, tag_length, "#if "))
            *last = read_block(reader, NODE_IF, tag + 4, tag_length - 4);
        else if (tag_length == 1 && tag[0] == '@')
            *last = new_node(NODE_INDEX);
        else
            *last = read_value(reader, tag, tag_length);
        last = &(*last)->next;
    }
    return first;
}

Node *template_compile(Symbols *symbols, const char *text)
{
    Reader reader = {symbols, text};
    bool ends_with_else;
    return read_nodes(&reader, &ends_with_else);
}

void template_free(Node *node)
{
    while (node) {
        Node *next = node->next;
        template_free(node->inner);
        template_free(node->otherwise);
        free(node);
        node = next;
    }
}
