/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A step of particles: writes into cells of 128 MB, divides, copies by words that span two stores. No cause has
 * more than half of the time. Variants 1 to 3 remove the missing stores, the divisions and the failed forwards. */
#include "../kernels/kernel.h"

enum { SCATTERED = 260, DIVIDED = 2000, COPIED = 700 * 8, CELLS = 16 << 20 };

struct particles {
    uint64_t *cells, mask, at, mass[DIVIDED], force[DIVIDED], speed[DIVIDED], distance;
    int shifts;
    char trace[COPIED + 128];
};

static HOT uint64_t advance(void *argument)
{
    struct particles *p = argument;
    uint64_t at = p->at, distance = p->distance, mask = p->mask;
    for (unsigned i = 0; i < SCATTERED; i++, at += 0x9e3779b97f4a7c15)
        p->cells[at >> 33 & mask] = at;
    p->at = at;
    if (p->shifts)
        for (unsigned i = 0; i < DIVIDED; i++)
            p->speed[i] = p->force[i] >> (p->mass[i] & 63);
    else
        for (unsigned i = 0; i < DIVIDED; i++)
            p->speed[i] = p->force[i] / p->mass[i];
    for (char *to = p->trace + 64; to < p->trace + 64 + COPIED; to += 8) {
        uint64_t eight;
        memcpy(&eight, to - distance, 8);
        memcpy(to, &eight, 8);
    }
    return SCATTERED;
}

int main(int argc, char **argv)
{
    static struct particles p;
    uint64_t seed = 88172645463325252;
    int without = variant(argc, argv);
    p.cells = memory((size_t)CELLS * 8, 1);
    p.mask = without == 1 ? 1023 : CELLS - 1;
    p.shifts = without == 2;
    p.distance = without == 3 ? 64 : 12;
    for (unsigned i = 0; i < DIVIDED; i++)
        p.force[i] = next_random(&seed), p.mass[i] = (next_random(&seed) & 0xfffff) + 3;
    return run_kernel("mixed_particles", argc, argv, advance, &p);
}
