/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Numbers of the schemas in files. For store/ only; the schemas themselves are in table.h. */
#pragma once

#include "store/table/table.h"

#include <stdbool.h>

/* counters: name (text) | sum.  facts: name (text), value (text), a set. */
extern const struct cs_schema cs_schema_counters, cs_schema_facts;
extern const struct cs_schema cs_schema_text_set; /* never in a file: sorts texts */

/* The number that stands for this schema in a file, 0 = spelled out. */
uint64_t cs_schema_number(const struct cs_schema *schema);
/* NULL when this version knows no such number. */
const struct cs_schema *cs_schema_numbered(uint64_t number);
/* Has a kind, keys first, at least one key, names, known column kinds. */
bool cs_schema_valid(const struct cs_schema *schema);
