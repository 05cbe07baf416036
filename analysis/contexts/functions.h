/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From (image, offset) to functions. For this module only. */
#pragma once

#include "analysis/contexts/calls.h"

#include <stddef.h>

struct cs_call_frames {  /* of one (image, offset) */
    uint32_t *functions; /* outermost first; the first is the procedure, the others were inlined */
    unsigned n;
};

/* The number of a function, made if new. `declared` as in struct cs_call_function. -ENOMEM. */
int64_t cs_call_function_number(struct cs_calls *calls, const struct cs_store_image *image,
                                const char *linkage, uint64_t start, uint64_t declared);
/* Fills frames[node] for every node of `contexts`: functions of all are one allocation, *pool. Where the root has samples (those of
 * all), images whose nodes have less than a thousandth of them have no inlined functions. */
int cs_call_frames_of(struct cs_calls *calls, struct cs_store *store, const struct cs_contexts *contexts,
                      bool inlines, struct cs_call_frames *frames, uint32_t **pool, struct cs_error *err);

/* For cs_calls_of_procedure, after functions were added. */
int cs_calls_sort(struct cs_calls *calls, struct cs_error *err);
