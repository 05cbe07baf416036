/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a recording's processor recorded about the memory accesses of a procedure (cs_schema_accesses in
 * store/table/table.h): how long they took and which memory answered, instruction by instruction. */
#pragma once

#include "cli/output/output.h"
#include "image/code.h"
#include "store/store.h"

enum { ACCESSES_SHOWN = 10 };

/* A table "accesses" of up to `top` instructions, those first whose accesses took longest together; nothing where the
 * recording has none. 0, or negative: it couldn't be read. */
int accesses_print(struct output *out, struct cs_store *store, const char *image_id,
                   struct cs_image_code *code, const struct cs_image_procedure *procedure, uint64_t top,
                   struct cs_error *err);
