/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sampler/placing/attributes.h"
#include "sampler/attributes/attribute_places.h"
#include "store/base/clock.h"
#include "store/base/text.h"

#include <assert.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#define BEGUN_NS 5000000ULL /* nothing is published before a program runs */

struct cs_session_attributes {
    const struct cs_attribute_kernel *kernel;
    struct cs_attribute_places *places;
    struct cs_maps *maps;
    uint64_t hash; /* of the value met last: one has many entries behind one another */
    uint32_t pid, label;
};

struct cs_session_attributes *cs_session_attributes_open(const struct cs_attribute_kernel *kernel,
                                                         struct cs_maps *maps, const char *name)
{
    assert(maps && name);
    struct cs_session_attributes *a = calloc(1, sizeof *a);
    if (!a)
        return NULL;
    a->kernel = kernel;
    a->maps = maps;
    a->places = cs_attribute_places_open(kernel, "/proc", name);
    if (a->places)
        return a;
    free(a);
    return NULL;
}

void cs_session_attributes_close(struct cs_session_attributes *a)
{
    if (!a)
        return;
    cs_attribute_places_close(a->places);
    free(a);
}

void cs_session_attributes_expect(struct cs_session_attributes *a, pid_t pid)
{
    if (pid > 0)
        cs_attribute_places_meet(a->places, pid, cs_monotonic_ns() + BEGUN_NS);
}

int cs_session_attributes_due_ms(const struct cs_session_attributes *a, uint64_t now_ns)
{
    const uint64_t due = a ? cs_attribute_places_due(a->places) : UINT64_MAX;
    if (due <= now_ns)
        return 0;
    return (due - now_ns) / 1000000 >= INT_MAX ? INT_MAX : (int)((due - now_ns) / 1000000) + 1;
}

void cs_session_attributes_look(struct cs_session_attributes *a, uint64_t now_ns)
{
    if (a && cs_attribute_places_due(a->places) <= now_ns)
        cs_attribute_places_look(a->places, now_ns);
}

static uint32_t label_of(struct cs_session_attributes *a, const struct cs_attribute_value *value)
{
    const uint8_t *bytes = (const uint8_t *)value->words;
    const size_t n = value->bytes < CS_ATTRIBUTE_BYTES ? value->bytes : CS_ATTRIBUTE_BYTES;
    char text[CS_ATTRIBUTE_BYTES + 1];
    if (value->wanted < CS_ATTRIBUTE_TRACE)
        cs_text_clean(text, sizeof text, (const char *)bytes, n);
    for (size_t i = 0; value->wanted >= CS_ATTRIBUTE_TRACE && i < n && i < 16; i++)
        snprintf(text + 2 * i, 3, "%02x", bytes[i]);
    return cs_maps_text_label(a->maps, text, CS_ATTRIBUTE_LABELS_MAX);
}

void cs_session_attributes_label(struct cs_session_attributes *a, struct cs_driver_entry *entry)
{
    const struct cs_attribute_value *value = cs_attribute_of_row(a->kernel, entry->tid);
    if (value) {
        if (value->hash != a->hash || value->pid != a->pid) {
            a->label = label_of(a, value);
            a->hash = value->hash;
            a->pid = value->pid;
        }
        entry->label = a->label;
        entry->tid = entry->pid; /* the row will stand for another value */
    }
    cs_attribute_places_meet(a->places, (pid_t)entry->pid, entry->to_ns);
}

unsigned cs_session_attributes_processes(const struct cs_session_attributes *a)
{
    return cs_attribute_places_told(a->places);
}

uint64_t cs_session_attributes_lost(const struct cs_session_attributes *a)
{
    uint64_t lost = 0;
    for (unsigned c = 0; a && c < a->kernel->n_cpus; c++)
        lost += __atomic_load_n(&a->kernel->lost[c], __ATOMIC_RELAXED);
    return lost;
}
