/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A game looks at one corner of each of 1,024 chunks of a sparse world, 4 KB a chunk, and then gives the world's memory back.
 * Variant 1: the memory is kept. */
#include "../kernels/kernel.h"

enum { CHUNKS = 1024, CHUNK = 4096 };

struct world {
    uint8_t *voxels;
    int kept;
    uint64_t solid;
};

HOT static uint64_t look(const uint8_t *voxels)
{
    uint64_t solid = 0;
    for (size_t i = 0; i < CHUNKS; i++)
        solid += voxels[i * CHUNK + i % 64 * 64] == 0;
    return solid;
}

static uint64_t turn(void *argument)
{
    struct world *w = argument;
    w->solid += look(w->voxels);
    if (!w->kept)
        madvise(w->voxels, CHUNKS * CHUNK, MADV_DONTNEED);
    return CHUNKS;
}

int main(int argc, char **argv)
{
    static struct world w;
    w.voxels = memory(CHUNKS * CHUNK, 0);
    w.kept = variant(argc, argv);
    memset(w.voxels, 0, CHUNKS * CHUNK);
    int status = run_kernel("voxel_chunks", argc, argv, turn, &w);
    printf("result=%llu\n", (unsigned long long)w.solid);
    return status;
}
