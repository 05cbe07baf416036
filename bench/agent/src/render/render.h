// SPDX-License-Identifier: GPL-2.0-or-later
// Templates with names, loops, conditions and filters, rendered to markup.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { NAME_LENGTH = 31, FILTERS = 3, SYMBOLS = 512, OUTPUT_ROOM = 512 };

typedef enum { VALUE_NONE, VALUE_TEXT, VALUE_NUMBER, VALUE_LIST } ValueKind;

struct Record;

typedef struct {
    ValueKind kind;
    uint32_t length; // of the text or of the list
    union {
        const char *text;
        int64_t number;
        const struct Record *list;
    } as;
} Value;

typedef struct {
    int symbol;
    Value value;
} Field;

typedef struct Record {
    Field *fields;
    int count;
} Record;

// Names get numbers once, when a template is compiled or a record is made.
typedef struct {
    char names[SYMBOLS][NAME_LENGTH + 1];
    int16_t slots[2 * SYMBOLS];
    int count;
} Symbols;

// The records whose fields are visible, the innermost first.
typedef struct Scope {
    const Record *record;
    const struct Scope *outer;
    int64_t index;
} Scope;

// Text on its way out; what is full is taken into the digest.
typedef struct {
    char text[OUTPUT_ROOM + 1];
    size_t length;
    uint64_t bytes, digest;
} Output;

typedef enum { NODE_TEXT, NODE_VALUE, NODE_EACH, NODE_IF, NODE_INDEX } NodeKind;

typedef enum { FILTER_RAW, FILTER_UPPER, FILTER_TRIM, FILTER_MONEY } Filter;

typedef struct Node {
    NodeKind kind;
    const char *text;
    size_t length;
    int symbol;
    Filter filters[FILTERS];
    int filter_count;
    struct Node *inner, *otherwise, *next;
} Node;

// symbols.c
void symbols_open(Symbols *symbols);
int symbols_number(Symbols *symbols, const char *name, size_t length);

// compile.c
Node *template_compile(Symbols *symbols, const char *text);
void template_free(Node *node);

// output.c
void output_open(Output *output);
void output_flush(Output *output);
void output_text(Output *output, const char *text, size_t length);
void output_escaped(Output *output, const char *text, size_t length);
void output_number(Output *output, int64_t number);

// expand.c
void template_expand(const Node *node, const Scope *scope, Output *output);
