/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sampler/driver/wait_maps.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <sys/mman.h>

#define ROWS_BYTES (CS_WAIT_THREADS * sizeof(struct cs_wait_thread))

int cs_wait_maps_size(struct cs_wait_maps *m, unsigned n_cpus)
{
    if (!m->kernel) {
        for (unsigned i = 0; i < sizeof m->programs / sizeof *m->programs; i++)
            if (bpf_program__set_autoload(m->programs[i], false) != 0)
                return -EINVAL;
        return bpf_map__set_autocreate(m->rows, false) != 0 ||
                       bpf_map__set_autocreate(m->guesses, false) != 0 ||
                       bpf_map__set_autocreate(m->threads, false) != 0 ||
                       bpf_map__set_autocreate(m->scratch, false) != 0 ||
                       bpf_map__set_autocreate(m->records, false) != 0
                   ? -EINVAL
                   : 0;
    }
    return bpf_map__set_max_entries(m->guesses, CS_WAIT_GUESSES) != 0 ||
                   bpf_map__set_max_entries(m->threads, CS_WAIT_THREADS) != 0 ||
                   bpf_map__set_max_entries(m->scratch, 2 * n_cpus) != 0 ||
                   bpf_map__set_max_entries(m->records, CS_WAIT_RING) != 0
               ? -EINVAL
               : 0;
}

static int one(void *arg, void *record, size_t n)
{
    struct cs_wait_maps *m = arg;
    m->each(m->each_arg, record, n);
    return 0;
}

static void records(void *arg, void (*each)(void *arg, const struct cs_wait_record *record, size_t n),
                    void *each_arg)
{
    struct cs_wait_maps *m = arg;
    m->each = each;
    m->each_arg = each_arg;
    (void)ring_buffer__consume(m->ring);
}

int cs_wait_maps_open(struct cs_wait_maps *m)
{
    struct cs_wait_kernel *k = m->kernel;
    void *at = mmap(NULL, ROWS_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(m->threads), 0);
    if (at == MAP_FAILED)
        return -errno;
    k->rows = at;
    k->arg = m;
    k->records = records;
    m->ring = ring_buffer__new(bpf_map__fd(m->records), one, m, NULL);
    return m->ring ? 0 : -ENOMEM;
}

void cs_wait_maps_close(struct cs_wait_maps *m)
{
    ring_buffer__free(m->ring);
    m->ring = NULL;
    if (m->kernel && m->kernel->rows) {
        munmap(m->kernel->rows, ROWS_BYTES);
        m->kernel->rows = NULL;
    }
}
