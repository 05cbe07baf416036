/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The BPF maps behind struct cs_wait_kernel: their sizes, their memory, the ring of records. Internal to the room. */
#ifndef CS_SAMPLER_DRIVER_WAIT_MAPS_H
#define CS_SAMPLER_DRIVER_WAIT_MAPS_H

#include "sampler/waits/waits.h"

struct bpf_map;
struct bpf_program;
struct ring_buffer;

struct cs_wait_maps {
    struct bpf_map *rows, *guesses, *threads, *scratch, *records; /* of the skeleton */
    struct bpf_program *programs[3];
    struct cs_wait_kernel
        *kernel; /* whose rows, records and arg are filled here; NULL: no waits are asked for */
    struct ring_buffer *ring;
    void (*each)(void *arg, const struct cs_wait_record *record, size_t n);
    void *each_arg;
};

/* Before the program is loaded; makes it small, where no waits are asked for. 0 or -errno. */
int cs_wait_maps_size(struct cs_wait_maps *maps, unsigned n_cpus);
int cs_wait_maps_open(struct cs_wait_maps *maps); /* after it */
void cs_wait_maps_close(struct cs_wait_maps *maps);

#endif
