/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Call chains to the text that cs_schema_stacks holds: "image-id+hexoffset", innermost first, ";" between.
 * What can't be placed appears as an offset in "unknown". */
#ifndef CS_SAMPLER_STACKS_H
#define CS_SAMPLER_STACKS_H

#include "sampler/session/session.h"

/* The text is valid until the next call; NULL when memory is short. */
const char *cs_stack_text(struct cs_sampler *s, const struct cs_drained *entry, uint32_t label);

#endif
