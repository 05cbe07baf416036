/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sampler/driver/chain_maps.h"

#include <assert.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define MAPPINGS 65536U  /* 1.5 MB: of all processes that were sampled lately */
#define IMAGES 16384U    /* 0.8 MB; a session's later ones are unwound by frame pointers */
#define RULES 1024U      /* of a CPU, as unwind.bpf.h has it */
#define SEGMENTS_MOST 96 /* 24 MB of rows: some 6 million */
/* Of the ring of copied stacks: 256 of 8 KB, a quarter of a second's at 1 kHz. Where one program is recorded its beginning
 * counts: 128 of 64 KB, which the stacks of Go's goroutines have, for all CPUs. As much on old kernels, which copy every stack. */
#define COPIES_A_CPU (2U << 20)
#define COPIES_BYTES_MAX (4U << 20)
#define COPIES_FILTERED (8U << 20)

static size_t bytes_of(const struct bpf_map *map)
{
    return (size_t)bpf_map__max_entries(map) * ((bpf_map__value_size(map) + 7U) & ~7U);
}

static void *map_whole(const struct bpf_map *map)
{
    void *at = mmap(NULL, bytes_of(map), PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(map), 0);
    return at == MAP_FAILED ? NULL : at;
}

static void unmap(const struct bpf_map *map, void *at)
{
    if (at)
        munmap(at, bytes_of(map));
}

int cs_chain_maps_size(struct cs_chain_maps *m, unsigned n_cpus, unsigned users, bool filtered, bool old)
{
    assert(n_cpus > 0 && users > 0);
    uint32_t ring = COPIES_A_CPU;
    m->n_cpus = users * n_cpus;
    while (ring < n_cpus * COPIES_A_CPU && ring < COPIES_BYTES_MAX)
        ring *= 2;
    ring = filtered || old ? COPIES_FILTERED : ring;
    return bpf_map__set_max_entries(m->copy, n_cpus) != 0 || bpf_map__set_max_entries(m->copies, ring) != 0 ||
                   bpf_map__set_max_entries(m->scratch, m->n_cpus) != 0 ||
                   bpf_map__set_max_entries(m->rules, m->n_cpus * RULES) != 0 ||
                   bpf_map__set_max_entries(m->cpus, m->n_cpus) != 0 ||
                   bpf_map__set_max_entries(m->words, CS_CHAIN_WORDS) != 0 ||
                   bpf_map__set_max_entries(m->mappings, MAPPINGS) != 0 ||
                   bpf_map__set_max_entries(m->images, IMAGES) != 0
               ? -EINVAL
               : 0;
}

/* ---- segments ---- */

static int make_segment(void *arg, uint32_t number)
{
    struct cs_chain_maps *m = arg;
    LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_MMAPABLE);
    int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "chain_segment", sizeof(uint32_t),
                            sizeof(struct cs_chain_segment), 1, &options);
    if (fd < 0)
        return fd;
    if (bpf_map_update_elem(bpf_map__fd(m->segments), &number, &fd, BPF_ANY) != 0) {
        close(fd);
        return -ENOMEM;
    }
    m->segment_fds[number] = fd;
    return 0;
}

static void drop_segment(void *arg, uint32_t number)
{
    struct cs_chain_maps *m = arg;
    (void)bpf_map_delete_elem(bpf_map__fd(m->segments), &number);
    close(m->segment_fds[number]);
    m->segment_fds[number] = -1;
}

/* Mapped only while it is written: what stays mapped would be resident twice, for those who add it up. */
static struct cs_chain_segment *open_segment(void *arg, uint32_t number)
{
    struct cs_chain_maps *m = arg;
    void *at = mmap(NULL, sizeof(struct cs_chain_segment), PROT_READ | PROT_WRITE, MAP_SHARED,
                    m->segment_fds[number], 0);
    return at == MAP_FAILED ? NULL : at;
}

static void close_segment(void *arg, struct cs_chain_segment *segment)
{
    (void)arg;
    munmap(segment, sizeof *segment);
}

/* ---- what is asked for ---- */

static int one_want(void *arg, void *want, size_t n)
{
    struct cs_chain_maps *m = arg;
    if (n >= sizeof(struct cs_chain_want) && m->each)
        m->each(m->each_arg, want);
    return 0;
}

static void wants(void *arg, void (*each)(void *arg, const struct cs_chain_want *want), void *each_arg)
{
    struct cs_chain_maps *m = arg;
    m->each = each;
    m->each_arg = each_arg;
    (void)ring_buffer__consume(m->asked);
}

/* ---- samples for later ---- */

static int one_copy(void *arg, void *at, size_t n)
{
    struct cs_chain_maps *m = arg;
    const struct cs_chain_copy *copy = at;
    if (n >= offsetof(struct cs_chain_copy, stack) &&
        n - offsetof(struct cs_chain_copy, stack) >= copy->n_stack &&
        copy->n_kernel <= CS_CHAIN_KERNEL_FRAMES && m->each_copy)
        m->each_copy(m->each_copy_arg, copy);
    return 0;
}

void cs_chain_maps_copies(struct cs_chain_maps *m, void (*each)(void *arg, const struct cs_chain_copy *copy),
                          void *arg)
{
    m->each_copy = each;
    m->each_copy_arg = arg;
    (void)ring_buffer__consume(m->copied);
    for (unsigned c = 0; c < m->n_cpus; c++)
        __atomic_store_n(&m->kernel.cpus[c].copy_room, CS_CHAIN_COPY_ROOM, __ATOMIC_RELAXED);
}

int cs_chain_maps_open(struct cs_chain_maps *m, uint32_t cells)
{
    struct cs_chain_segments segments = {m, make_segment, drop_segment, open_segment, close_segment};
    struct cs_chain_kernel *k = &m->kernel;
    k->arg = m;
    k->wants = wants;
    k->n_cpus = m->n_cpus;
    k->cpus = map_whole(m->cpus);
    k->lists.words = map_whole(m->words);
    k->lists.mappings = map_whole(m->mappings);
    k->tables.images = map_whole(m->images);
    k->interpreters = map_whole(m->interpreters);
    m->asked = ring_buffer__new(bpf_map__fd(m->wants), one_want, m, NULL);
    m->copied = ring_buffer__new(bpf_map__fd(m->copies), one_copy, m, NULL);
    m->segment_fds = malloc(SEGMENTS_MOST * sizeof *m->segment_fds);
    if (!k->cpus || !k->lists.words || !k->lists.mappings || !k->tables.images || !k->interpreters ||
        !m->asked || !m->copied || !m->segment_fds)
        return -ENOMEM;
    for (unsigned s = 0; s < SEGMENTS_MOST; s++)
        m->segment_fds[s] = -1;
    for (unsigned c = 0; c < m->n_cpus; c++)
        k->cpus[c].room[0] = k->cpus[c].room[1] = cells, k->cpus[c].copy_room = CS_CHAIN_COPY_ROOM;
    if (cs_chain_lists_init(&k->lists, k->lists.words, k->lists.mappings, MAPPINGS) < 0 ||
        cs_chain_tables_init(&k->tables, k->tables.images, IMAGES, SEGMENTS_MOST, &segments) < 0)
        return -ENOMEM;
    return 0;
}

int cs_chain_maps_fd(const struct cs_chain_maps *m)
{
    return m->asked ? bpf_map__fd(m->wants) : -1;
}

void cs_chain_maps_close(struct cs_chain_maps *m)
{
    struct cs_chain_kernel *k = &m->kernel;
    ring_buffer__free(m->asked);
    ring_buffer__free(m->copied);
    for (unsigned s = 0; m->segment_fds && s < SEGMENTS_MOST; s++)
        if (m->segment_fds[s] >= 0)
            close(m->segment_fds[s]);
    free(m->segment_fds);
    unmap(m->cpus, k->cpus);
    unmap(m->words, k->lists.words);
    unmap(m->mappings, k->lists.mappings);
    unmap(m->images, k->tables.images);
    unmap(m->interpreters, k->interpreters);
    cs_chain_lists_fini(&k->lists);
    cs_chain_tables_fini(&k->tables);
}
