/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Maps that the sampler's BPF programs declare alike. Those of one entry get their size before loading. */
#pragma once

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#define ARRAY_OF(n, name, type_, flags_)                                                                     \
    struct {                                                                                                 \
        __uint(type, BPF_MAP_TYPE_ARRAY);                                                                    \
        __uint(map_flags, flags_);                                                                           \
        __type(key, __u32);                                                                                  \
        __type(value, type_);                                                                                \
        __uint(max_entries, n);                                                                              \
    } name SEC(".maps")
#define ARRAY(name, type, flags) ARRAY_OF(1, name, type, flags)

#define RING(name, bytes)                                                                                    \
    struct {                                                                                                 \
        __uint(type, BPF_MAP_TYPE_RINGBUF);                                                                  \
        __uint(max_entries, bytes);                                                                          \
    } name SEC(".maps")
