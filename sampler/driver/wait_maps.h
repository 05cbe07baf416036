/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The BPF maps behind struct cs_wait_kernel: their sizes, their memory, the ring of records. Internal to the module.
 */
#pragma once

#include "sampler/waits/waits.h"

#include <stdbool.h>

struct bpf_link;
struct bpf_map;
struct bpf_program;
struct ring_buffer;

/* Of the two that are back only one is loaded: what this kernel has. */
enum {
    CS_WAIT_SWITCH,
    CS_WAIT_WAKING,
    CS_WAIT_BACK,
    CS_WAIT_BACK_PROBED,
    CS_WAIT_STANDING,
    CS_WAIT_PROGRAMS
};

struct cs_wait_maps {
    struct bpf_map *rows, *guesses, *threads, *scratch, *records, *free_rows; /* of the skeleton */
    bool old;                                                                 /* free rows are in the map */
    struct bpf_program *programs[CS_WAIT_PROGRAMS];
    struct bpf_link *probe;
    struct cs_wait_kernel
        *kernel; /* whose rows, records and arg are filled here; NULL: no waits are asked for */
    struct ring_buffer *ring;
    void (*each)(void *arg, const struct cs_wait_record *record, size_t n);
    void *each_arg;
};

/* The tracepoint of a switch has the state that the thread leaves in: Linux 5.18. */
bool cs_wait_maps_state_is_given(void);
/* Where the kernel's functions lie that show whose doing a wake-up is. */
void cs_wait_maps_ways(struct cs_wait_way ways[CS_WAIT_WAYS]);
/* Before the program is loaded; makes it small, where no waits are asked for. 0 or -errno. */
int cs_wait_maps_size(struct cs_wait_maps *maps, unsigned n_cpus);
int cs_wait_maps_attach(struct cs_wait_maps *maps); /* after it, what libbpf doesn't attach by itself */
int cs_wait_maps_open(struct cs_wait_maps *maps);
void cs_wait_maps_close(struct cs_wait_maps *maps);
