/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A session that keeps samples separate by an attribute of OpenTelemetry's thread context: which processes are looked
 * at, and what label a row has. One owner. */
#pragma once

#include "sampler/attributes/attributes.h"
#include "sampler/driver/driver.h"
#include "sampler/images/maps.h"

#define CS_ATTRIBUTE_LABELS_MAX 4096 /* values of a session; later ones are "(others)" */

struct cs_session_attributes;
struct cs_session_attributes *cs_session_attributes_open(const struct cs_attribute_kernel *kernel,
                                                         struct cs_maps *maps, const char *name);
void cs_session_attributes_close(struct cs_session_attributes *attributes);

/* A process that began, or will be sampled; 0: none. */
void cs_session_attributes_expect(struct cs_session_attributes *attributes, pid_t pid);
/* Looks at those that are due. NULL: nothing is. */
int cs_session_attributes_due_ms(const struct cs_session_attributes *attributes, uint64_t now_ns);
void cs_session_attributes_look(struct cs_session_attributes *attributes, uint64_t now_ns);

/* Gives the entry its label, unless it has one, while its row still stands for the value. */
void cs_session_attributes_label(struct cs_session_attributes *attributes, struct cs_driver_entry *entry);
/* How many processes had the attribute up to now. */
unsigned cs_session_attributes_processes(const struct cs_session_attributes *attributes);
/* Samples that are without a label because their value found no slot. */
uint64_t cs_session_attributes_lost(const struct cs_session_attributes *attributes);
