/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a tree of contexts is, for the files that make it, read it and fold it. */
#pragma once

#include "store/base/map.h"
#include "store/contexts.h"
#include "store/table/dictionary.h"

struct cs_contexts {
    struct cs_context *nodes; /* a parent before its children */
    uint32_t n, capacity;
    struct cs_map by_key;
    struct cs_dictionary images;
};
