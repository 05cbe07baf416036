/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The BPF maps behind struct cs_attribute_kernel: their sizes, their memory, which half is free. Internal to the
 * module. */
#pragma once

#include "sampler/attributes/attributes.h"

#include <stdbool.h>

struct bpf_map;

struct cs_attribute_maps {
    struct bpf_map *places, *values, *scratches; /* of the skeleton */
    struct cs_attribute_kernel *kernel;          /* to be filled; NULL: no attributes are asked for */
    __u32 *used;                                 /* by CPU */
};

/* Before the program is loaded; makes it small, where nothing is asked for. Slots of a half, 0: it can't be. */
__u32 cs_attribute_maps_size(struct cs_attribute_maps *maps, unsigned n_cpus);
int cs_attribute_maps_open(struct cs_attribute_maps *maps); /* after it */
void cs_attribute_maps_close(struct cs_attribute_maps *maps);

/* A half is to be emptied before its slots run out. */
bool cs_attribute_maps_are_filling(const struct cs_attribute_maps *maps);
/* The halves have been changed; this one is nobody's any more. */
void cs_attribute_maps_turn(struct cs_attribute_maps *maps);
void cs_attribute_maps_empty(struct cs_attribute_maps *maps, unsigned cpu, unsigned half);
