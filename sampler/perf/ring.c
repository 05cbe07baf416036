/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A perf mmap ring, read side: acquire the head, read, release the tail. */
#include "sampler/perf/ring.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define RECORD_MAX 65536 /* header.size is 16 bits */

const struct perf_event_header *cs_ring_next_odd(struct cs_ring *ring)
{
    uint64_t at = ring->tail & (ring->size - 1);
    const struct perf_event_header *header = (const void *)(ring->bytes + at);
    uint64_t size = header->size;
    if (size < sizeof *header || size > ring->head - ring->tail) {
        ring->tail = ring->head; /* can't happen; never loop on it */
        return NULL;
    }
    ring->tail += size;
    uint64_t first = ring->size - at;
    memcpy(ring->spare, header, first);
    memcpy(ring->spare + first, ring->bytes, size - first);
    return (const void *)ring->spare;
}

void cs_ring_snapshot(struct cs_ring *ring)
{
    ring->head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
}

void cs_ring_release(struct cs_ring *ring)
{
    __atomic_store_n(&ring->page->data_tail, ring->tail, __ATOMIC_RELEASE);
}

int cs_ring_open(struct cs_ring *ring, int fd, unsigned pages)
{
    assert(pages > 0 && (pages & (pages - 1)) == 0);
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    memset(ring, 0, sizeof *ring);
    ring->mapped = (pages + 1) * page;
    ring->spare = malloc(RECORD_MAX);
    if (!ring->spare)
        return -ENOMEM;
    void *map = mmap(NULL, ring->mapped, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED) {
        int code = errno;
        free(ring->spare);
        ring->spare = NULL;
        return -code;
    }
    ring->page = map;
    ring->bytes = (unsigned char *)map + page;
    ring->size = pages * page;
    return 0;
}

void cs_ring_close(struct cs_ring *ring)
{
    if (ring->page)
        munmap(ring->page, ring->mapped);
    free(ring->spare);
    memset(ring, 0, sizeof *ring);
}
