/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The BPF maps behind struct cs_chain_kernel: their sizes, their memory, the segments of rows, what is asked for.
 * Internal to the module. */
#pragma once

#include "sampler/chains/chains.h"

struct bpf_map;
struct ring_buffer;

struct cs_chain_maps {
    struct bpf_map *scratch, *rules, *cpus, *words, *mappings, *images, *interpreters, *segments, *wants,
        *copy, *copies; /* of the skeleton */
    struct cs_chain_kernel kernel;
    struct ring_buffer *asked, *copied;
    void (*each)(void *arg, const struct cs_chain_want *want);
    void *each_arg;
    void (*each_copy)(void *arg, const struct cs_chain_copy *copy);
    void *each_copy_arg;
    unsigned n_cpus;
    int *segment_fds; /* -1: not there */
};

/* Before the program is loaded: `n_cpus` are tabled, each `users` times: programs that may interrupt one another have
 * scratch of their own. `filtered`: of chosen processes alone. `old`: by programs that copy every stack. 0 or -errno. */
int cs_chain_maps_size(struct cs_chain_maps *maps, unsigned n_cpus, unsigned users, bool filtered, bool old);
/* After it: maps memory, makes the kernel's side ready; each half of a tree may take `cells`. 0 or -errno. */
int cs_chain_maps_open(struct cs_chain_maps *maps, uint32_t cells);
/* Readable when something was asked for; -1: none. */
int cs_chain_maps_fd(const struct cs_chain_maps *maps);
/* Hands on what was copied since the last call; room for more is made. */
void cs_chain_maps_copies(struct cs_chain_maps *maps,
                          void (*each)(void *arg, const struct cs_chain_copy *copy), void *arg);
void cs_chain_maps_close(struct cs_chain_maps *maps);
