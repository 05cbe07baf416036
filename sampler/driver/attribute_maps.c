/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sampler/driver/attribute_maps.h"

#include <assert.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <sys/mman.h>

#define VALUES_BYTES (16UL << 20) /* of all CPUs together */
#define VALUES_MIN 64U

static size_t bytes_of(const struct bpf_map *map)
{
    return (size_t)bpf_map__max_entries(map) * ((bpf_map__value_size(map) + 7U) & ~7U);
}

__u32 cs_attribute_maps_size(struct cs_attribute_maps *m, unsigned n_cpus)
{
    assert(n_cpus > 0);
    __u32 n = CS_ATTRIBUTE_VALUES_MAX;
    if (!m->kernel)
        return 1;
    while (n > VALUES_MIN && 2UL * n_cpus * n * sizeof(struct cs_attribute_value) > VALUES_BYTES)
        n /= 2;
    m->kernel->n_values = n;
    m->kernel->n_cpus = n_cpus;
    return bpf_map__set_max_entries(m->places, CS_ATTRIBUTE_PLACES) != 0 ||
                   bpf_map__set_max_entries(m->values, 2 * n_cpus * n) != 0 ||
                   bpf_map__set_max_entries(m->scratches, n_cpus) != 0
               ? 0
               : n;
}

static void *map_whole(const struct bpf_map *map)
{
    void *at = mmap(NULL, bytes_of(map), PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(map), 0);
    return at == MAP_FAILED ? NULL : at;
}

int cs_attribute_maps_open(struct cs_attribute_maps *m)
{
    m->kernel->places = map_whole(m->places);
    m->kernel->values = map_whole(m->values);
    return m->kernel->places && m->kernel->values ? 0 : -errno;
}

void cs_attribute_maps_close(struct cs_attribute_maps *m)
{
    if (m->kernel->places)
        munmap(m->kernel->places, bytes_of(m->places));
    if (m->kernel->values)
        munmap(m->kernel->values, bytes_of(m->values));
    m->kernel->places = NULL;
    m->kernel->values = NULL;
}

bool cs_attribute_maps_are_filling(const struct cs_attribute_maps *m)
{
    for (unsigned c = 0; c < m->kernel->n_cpus; c++)
        if (__atomic_load_n(&m->used[c], __ATOMIC_RELAXED) > m->kernel->n_values / 4)
            return true;
    return false;
}

void cs_attribute_maps_turn(struct cs_attribute_maps *m)
{
    for (unsigned c = 0; c < m->kernel->n_cpus; c++)
        __atomic_store_n(&m->used[c], 0, __ATOMIC_RELAXED);
}

void cs_attribute_maps_empty(struct cs_attribute_maps *m, unsigned cpu, unsigned half)
{
    struct cs_attribute_value *values = &m->kernel->values[((size_t)cpu * 2 + half) * m->kernel->n_values];
    for (__u32 i = 0; i < m->kernel->n_values; i++)
        values[i].hash = 0;
}
