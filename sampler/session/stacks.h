/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Call chains to the text that cs_schema_stacks holds: "image-id+hexoffset", innermost first, ";" between.
 * What can't be placed appears as an offset in "unknown". */
#ifndef CS_SAMPLER_SESSION_STACKS_H
#define CS_SAMPLER_SESSION_STACKS_H

#include "sampler/session/profiles.h"
#include "sampler/session/resolve.h"

struct cs_session_stacks { /* the text of the chain at hand; all-zero at first */
    char *text;
    size_t capacity;
};

/* The text is valid until the next call; NULL when memory is short. Images met get a profile, for a name. */
const char *cs_session_stack_text(struct cs_session_stacks *stacks, struct cs_session_places *places,
                                  struct cs_session_profiles *profiles, const struct cs_driver_entry *entry,
                                  uint32_t label);

#endif
