/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "exchange/export/places.h"
#include "store/table/wait_schemas.h"

#include <assert.h>
#include <ctype.h>
#include <string.h>

uint64_t cs_place_number(struct cs_place_numbers *p, uint64_t image, uint64_t offset, bool *fresh)
{
    uint64_t hash = ((offset * 0x9e3779b97f4a7c15ull) ^ (image * 0xc2b2ae3d27d4eb4full)) >> 32;
    uint32_t i;
    for (size_t step = 0; (i = cs_map_next(&p->map, hash, &step)) != CS_MAP_NONE;)
        if (p->places.at[i].image == image && p->places.at[i].offset == offset) {
            *fresh = false;
            return i + 1;
        }
    if (cs_array_reserve(&p->places, p->places.n + 1) < 0 ||
        cs_map_add(&p->map, hash, (uint32_t)p->places.n) < 0)
        return 0;
    *fresh = true;
    p->places.at[p->places.n++] = (struct cs_place){image, offset};
    return p->places.n;
}

void cs_place_numbers_fini(struct cs_place_numbers *p)
{
    cs_array_free(&p->places);
    cs_map_fini(&p->map);
}

unsigned cs_place_lines(const struct cs_export_frame *frame, struct cs_place_line lines[CS_PLACE_LINES_MAX])
{
    struct cs_image_frame frames[CS_PLACE_LINES_MAX];
    if (!frame->image)
        return 0;
    const unsigned n = cs_image_frames_at(frame->image->code, frame->offset, frames, CS_PLACE_LINES_MAX);
    const struct cs_image_procedure *procedure = cs_image_procedure_at(frame->image->code, frame->offset);
    unsigned named = 0;
    for (unsigned i = 0; i < (n ? n : 1); i++) {
        const char *name = n && *frames[i].function ? frames[i].function : NULL;
        if (i + 1 >= n && procedure)
            name = procedure->name;
        if (name)
            lines[named++] = (struct cs_place_line){name, n ? frames[i].file : "", n ? frames[i].line : 0,
                                                    n ? frames[i].first_line : 0};
    }
    assert(named <= CS_PLACE_LINES_MAX);
    return named;
}

uint64_t cs_export_period(const struct cs_export *from, const char *event, const char **unit)
{
    double periods = 0, samples = 0;
    *unit = "events";
    for (unsigned i = 0; i < from->n_images; i++)
        for (unsigned k = 0; k < from->images[i].n_profiles; k++) {
            const struct cs_exported_profile *one = &from->images[i].profiles[k];
            if (strcmp(one->event, event) != 0 || one->kind != CS_KIND_POINTS)
                continue;
            periods += (double)one->period_sum;
            samples += (double)cs_table_sum(one->table, 1);
            *unit = strcmp(one->unit, "ns") == 0 ? "nanoseconds" : *one->unit ? one->unit : *unit;
        }
    return samples > 0 && periods > 0 ? (uint64_t)(periods / samples + 0.5) : 0;
}

static void plain(const char *event, char type[64])
{
    snprintf(type, 64, "%s", event);
    for (; *type; type++)
        if (!isalnum((unsigned char)*type))
            *type = '_';
}

unsigned cs_export_cpu_event(const struct cs_export *from, const struct cs_export_events *events)
{
    unsigned e = 0;
    for (const char *unit; e < events->n; e++) {
        cs_export_period(from, events->names[e], &unit);
        if (!cs_export_is_off_cpu(events->names[e]) &&
            (strcmp(unit, "nanoseconds") == 0 || strcmp(unit, "cycles") == 0))
            break;
    }
    return e;
}

void cs_export_type(const struct cs_export *from, const struct cs_export_events *events, unsigned e,
                    char type[64])
{
    assert(e < events->n);
    const char *event = events->names[e];
    const bool waits = strcmp(event, CS_WAITS_EVENT) == 0;
    plain(e == cs_export_cpu_event(from, events) ? "samples" : waits ? "off_cpu" : event, type);
}

void cs_export_period_type(const char *event, const char *unit, char type[64])
{
    plain(strcmp(unit, "nanoseconds") == 0 ? "cpu" : event, type);
}
