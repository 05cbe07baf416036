/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which processes the handler reads attributes of. A process that begins, or whose samples are met, is looked at soon
 * and then more and more rarely. That ends when its threads have contexts and the attribute has a number there. Then
 * the handler gets the place, for as long as the process runs that program. One owner. */
#pragma once

#include "sampler/attributes/attributes.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct cs_attribute_places;
/* `name`: of an attribute, or "trace_id", "span_id". */
struct cs_attribute_places *cs_attribute_places_open(const struct cs_attribute_kernel *kernel,
                                                     const char *proc, const char *name);
void cs_attribute_places_close(struct cs_attribute_places *places);

/* There is a process of that number: it has samples, or will have some. */
void cs_attribute_places_meet(struct cs_attribute_places *places, pid_t pid, uint64_t now_ns);
/* When the next one is to be looked at; UINT64_MAX: none is. */
uint64_t cs_attribute_places_due(const struct cs_attribute_places *places);
void cs_attribute_places_look(struct cs_attribute_places *places, uint64_t now_ns);
/* How many were told to the handler up to now. */
unsigned cs_attribute_places_told(const struct cs_attribute_places *places);
