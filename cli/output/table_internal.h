/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The cells of a table, for its renderings. */
#pragma once

#include "cli/output/table.h"

struct cell {
    enum { NONE, TEXT, COUNT, NUMBER, JSON } is;
    union {
        char *text;
        uint64_t count;
        double number;
        json_t *json;
    };
    char *brief; /* of TEXT: what text shows instead; NULL = the same */
};

struct table {
    const char *name;
    const struct column *columns;
    unsigned n_columns;
    struct cell *cells;
    size_t n_cells, capacity;
    uint64_t most, omitted;
    char *hint;
};
