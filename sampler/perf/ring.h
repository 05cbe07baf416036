/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A perf mmap ring, read side. One reader. Low level: knows records' headers, not what is in them. */
#pragma once

#include <linux/perf_event.h>
#include <stddef.h>
#include <stdint.h>

#define CS_RING_SETTLE_NS 300000ULL /* a record gets its time before it becomes visible */

struct cs_ring {
    struct perf_event_mmap_page *page; /* NULL = not open */
    unsigned char *bytes;
    uint64_t size; /* power of two */
    uint64_t head; /* snapshot that cs_ring_next reads up to */
    uint64_t tail;
    size_t mapped;
    unsigned char *spare; /* a record that wraps around is put together here, 64 KB */
};

/* `pages` is a power of two. 0 or -errno (EPERM: over the locked-memory limit). */
int cs_ring_open(struct cs_ring *ring, int fd, unsigned pages);
void cs_ring_close(struct cs_ring *ring);

/* Takes notice of what has been written up to now. */
void cs_ring_snapshot(struct cs_ring *ring);
/* For cs_ring_next: the record at the tail, which is not whole where it lies. */
const struct perf_event_header *cs_ring_next_odd(struct cs_ring *ring);

/* Next record of the snapshot, NULL at its end; valid until the next call. Here, because samples take it by
 * the million. */
static inline const struct perf_event_header *cs_ring_next(struct cs_ring *ring)
{
    uint64_t left = ring->head - ring->tail, at = ring->tail & (ring->size - 1);
    if (ring->tail >= ring->head)
        return NULL;
    /* Records are multiples of 8, so the header itself never wraps. */
    const struct perf_event_header *header = (const void *)(ring->bytes + at);
    uint64_t size = header->size;
    if (size < sizeof *header || size > left || at + size > ring->size)
        return cs_ring_next_odd(ring);
    ring->tail += size;
    return header;
}
/* Gives the space of the records read back to the kernel. */
void cs_ring_release(struct cs_ring *ring);
