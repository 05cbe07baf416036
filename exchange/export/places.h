/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Locations for viewers' formats: places numbered as they come, each with the functions and lines that stand for it. */
#pragma once

#include "exchange/export/export.h"
#include "store/base/array.h"
#include "store/base/map.h"

struct cs_place {
    uint64_t image, offset;
};

struct cs_place_numbers { /* all-zero: none yet */
    CS_ARRAY(struct cs_place) places;
    struct cs_map map;
};

/* The number of a place, from 1 on; `fresh` says whether it is new. 0: memory is short. */
uint64_t cs_place_number(struct cs_place_numbers *numbers, uint64_t image, uint64_t offset, bool *fresh);
void cs_place_numbers_fini(struct cs_place_numbers *numbers);

#define CS_PLACE_LINES_MAX 16
struct cs_place_line {
    const char *function;      /* as the linker knows it */
    const char *file;          /* "" unknown */
    unsigned line, first_line; /* where it is, where the function is declared; 0 unknown */
};
/* Innermost first, inlined calls before their callers; the outermost is the procedure as every report names it
 * (f.constprop.0), what is inlined is called by its source's name. What has no name is left out. */
unsigned cs_place_lines(const struct cs_export_frame *frame, struct cs_place_line lines[CS_PLACE_LINES_MAX]);

/* Of an event's samples: the unit of its periods ("nanoseconds", "cycles", "events"), and the mean of one; 0: not known. */
uint64_t cs_export_period(const struct cs_export *from, const char *event, const char **unit);
/* The first event that tells time on the CPU; events->n: none does. */
unsigned cs_export_cpu_event(const struct cs_export *from, const struct cs_export_events *events);
/* The names of event e's values and of its period in pprof and OpenTelemetry. "samples" and "cpu" are names that back ends know.
 * Other names have only letters, digits and "_": Pyroscope and Parca refuse "-". */
void cs_export_type(const struct cs_export *from, const struct cs_export_events *events, unsigned e,
                    char type[64]);
void cs_export_period_type(const char *event, const char *unit, char type[64]);
